"""The stacks of all threads of a Python, read on a thread of C without the GIL: right where threads stand, and without
a crash beside threads that run, begin and end. TFPROF_PYTHON may be any CPython from 3.11 on.
"""

import os
import subprocess
import sys

PROGRAM = r"""
import ctypes, os, sys, threading, time
library = sys.argv[1]
holding, releasing = ctypes.PyDLL(library), ctypes.CDLL(library)
holding.prove.restype = ctypes.c_char_p
reason = holding.prove(sys.version_info[0] * 100 + sys.version_info[1])
if reason:
    print("not proved:", reason.decode())
    sys.exit(3)

lock, over, sleeping = threading.Lock(), threading.Event(), ctypes.CDLL(None).usleep
numbers, expected = {}, {}
def begins(line, *functions):
    numbers[threading.get_native_id()] = functions[0]
    expected[functions[0]] = (functions, line)
def in_lock():
    begins(in_lock.__code__.co_firstlineno + 2, "in_lock")
    with lock: pass
def in_sleep():
    begins(in_sleep.__code__.co_firstlineno + 2, "in_sleep")
    time.sleep(3600)
def in_c():
    begins(in_c.__code__.co_firstlineno + 2, "in_c")
    sleeping(3600000000)
def generate():
    yield 1
    lock.acquire()
def in_generator():
    begins(generate.__code__.co_firstlineno + 2, "generate", "in_generator")
    for _ in generate(): pass
lock.acquire()
for function in (in_lock, in_sleep, in_c, in_generator): threading.Thread(target=function, daemon=True).start()
while len(expected) < 4: time.sleep(0.01)

def text_of_all(seen=(ctypes.c_long * 3)()):
    text = ctypes.create_string_buffer(1 << 16)
    releasing.see(1, text, ctypes.c_size_t(len(text)), seen)
    result = {}
    for line in text.value.decode().splitlines():
        number, *frames = line.split()
        result[int(number)] = [frame.rsplit(":", 1) for frame in frames]
    return result
def is_right(stacks):
    for number, name in numbers.items():
        functions, line = expected[name]
        names = tuple(function.rsplit(".", 1)[-1] for function, _ in stacks[number])
        if names[: len(functions)] != functions or int(stacks[number][0][1]) != line: return False
    return threading.main_thread().native_id in stacks
for _ in range(1000):  # they come to where they stay soon
    if is_right(text_of_all()): break
    time.sleep(0.01)
else:
    print(expected, text_of_all())
    sys.exit(1)

def deep(n): return deep(n - 1) if n else sum(i for i in range(50))
def busy():
    while not over.is_set(): deep(20)
def is_born():
    while not over.is_set():
        thread = threading.Thread(target=deep, args=(5,))
        thread.start()
        thread.join()
others = [threading.Thread(target=work) for work in (busy, busy, busy, busy, is_born, is_born)]
for other in others: other.start()
seen = (ctypes.c_long * 3)()
releasing.see(int(sys.argv[2]), None, ctypes.c_size_t(0), seen)
over.set()
for other in others: other.join()
assert is_right(text_of_all()), text_of_all()
print("whole, changing, without Python:", *seen)
sys.stdout.flush()
os._exit(0)
"""


def main():
    build = os.environ.get("TFPROF_BUILD") or os.path.join(os.path.dirname(__file__), "..", "..", "build")
    python = os.environ.get("TFPROF_PYTHON") or sys.executable
    library = os.path.join(build, "tests", "liball_stacks.so")
    result = subprocess.run([python, "-c", PROGRAM, library, os.environ.get("ROUNDS") or "3000"],
                            capture_output=True, text=True, timeout=600)
    print(result.stdout, result.stderr)
    if result.returncode == 3 and sys.version_info < (3, 11):
        sys.exit(77)
    assert result.returncode == 0, result.returncode
    whole, _, _ = map(int, result.stdout.split(":")[1].split())
    assert whole > 3000 * 5, result.stdout


main()
