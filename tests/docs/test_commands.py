#!/usr/bin/env python3
"""test_commands.py: every command that the documents and help texts show can be typed as it stands.

Commands are lines `$ …` of documents, what is typed at a prompt `tfprof> ` behind one, lines of two spaces and a
program of ours in `--help`, and blocks of Python.  They run one after the other, each as the shell has it, in a folder
that has files of the names which they use: recordings, traces, TensorFlow's files, a program to record.  What needs a
program that is not here (nvcc, datasette), or says how this one is installed, is counted and left out.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.normpath(os.path.join(HERE, "..", ".."))
sys.path.insert(0, HERE)
import test_sql  # noqa: E402

BUILD = os.environ["TFPROF_BUILD"]
DOCUMENTS = (("README.md",), ("examples", "README.md"), ("capture", "README.md"), ("ext", "classic", "README.md"),
             ("sql", "README.md"), ("proto", "FORMAT.md"), ("CONTRIBUTING.md",),
             *(("docs", name) for name in sorted(os.listdir(os.path.join(ROOT, "docs"))) if name.endswith(".md")))
HELPS = (("tfprof", "--help"), ("tfprof-capture", "--help"), ("tfprof", "report", "--help"),
         ("tfprof", "serve", "--help"), ("tfprof", "scope", "--help"))
OURS = ("tfprof", "tfprof-capture", "build/tfprof", "build/tfprof-capture")
SECONDS = 120  # for each: a machine may be busy
ELSEWHERE = ("sudo", "nvcc", "ssh", "./overlap_copies")  # takes a minute, or another machine


def blocks(text):
    return re.findall(r"^```(\w*)\n(.*?)^```", text, re.S | re.M)


def commands_of(text, usual):
    """(command, what is typed into it) of lines `$ …` and `prompt> …`; usual: the command of a block without one."""
    found = []
    for _, block in blocks(text):
        has_command = False
        for line in block.splitlines():
            shell, prompt = re.match(r"\$ (.*)", line), re.match(r"(?:tfprof|sqlite|   \.\.\.)> ?(.*)", line)
            if shell or (prompt and not has_command):
                found.append((shell[1] if shell else usual, []))
                has_command = True
            if prompt:
                found[-1][1].append(prompt[1])
    return [(command, "\n".join(typed)) for command, typed in found]


def commands_of_help(words):
    told = subprocess.check_output([os.path.join(BUILD, words[0]), *words[1:]], encoding="utf-8")
    for line in told.splitlines():
        shown = re.match(r"  (?:\$ )?((?:tfprof|tfprof-capture) .*?)(?:  +\S.*)?$", line)
        if shown:
            # What stands behind the SQL, where that is long.
            yield re.sub(r'^(.*"SELECT [^"]*") [a-z ]+$', r"\1", shown[1]), ""


def documented():
    for name in DOCUMENTS:
        usual = "tfprof --profile_path=profile_100" if "classic" in name else "tfprof run"
        for command, typed in commands_of(test_sql.read(*name), usual):
            yield "/".join(name), command, typed
    for words in HELPS:
        for command, typed in commands_of_help(words):
            yield " ".join(words), command, typed


def is_here(command):
    """Whether what it calls is here; of a pipe each part."""
    for part in re.sub(r"'[^']*'|\"[^\"]*\"", "''", command).split("|"):
        words = [word for word in part.split() if not re.match(r"[A-Z_]+=", word)]
        after = words[words.index("--") + 1] if "--" in words[:-1] else "true"
        if words[0] in ELSEWHERE or any(not shutil.which(word) for word in (words[0], after)):
            return False
    return True


def make_program(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def make_folder(directory):
    test_sql.make_files(directory)
    for copy in ("run-0", "around"):
        shutil.copytree(os.path.join(directory, "run"), os.path.join(directory, copy))
    os.symlink(BUILD, os.path.join(directory, "build"))
    os.mkdir(os.path.join(directory, "examples"))
    for name in ("train.py", *(f"examples/train_{what}.py" for what in ("cnn", "gpu", "keras", "jax"))):
        make_program(os.path.join(directory, name), "print('trained')\n")
    make_program(os.path.join(directory, "questions.sql"), "SELECT count(*) FROM ops;\n")
    shutil.copy(os.path.join(directory, "rank0.pt.trace.json.gz"), os.path.join(directory, "run.pt.trace.json.gz"))
    # The last step of a profile_100 is 100: here 9, in the list of steps (field 3) and in what each op did (12).
    with open(os.path.join(directory, "profile_100"), "r+b") as file:
        renumbered = file.read().replace(b"\x1a\x03\1\5\x09", b"\x1a\x03\1\5\x64")
        file.seek(0)
        file.write(re.sub(rb"(\x62..?\x08)\x09(?=\x12)", lambda found: found[1] + b"\x64", renumbered, flags=re.S))
    # The names that the help has for TensorFlow's files.
    for name, copy in (("graph.pbtxt", "G"), ("run_meta", "R0"), ("run_meta", "R1"), ("op_log", "L")):
        shutil.copy(os.path.join(test_sql.TENSORFLOW, name), os.path.join(directory, copy))


def serve(command, typed, directory):
    """Of a server the address, and that it ends when it is told to."""
    process = subprocess.Popen(command.split(" #")[0].split(), cwd=directory, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, encoding="utf-8")
    address = process.stdout.readline()
    process.send_signal(signal.SIGINT)
    told = process.communicate(timeout=SECONDS)[1]
    return "" if address.startswith("http://") and process.returncode == 0 else told or address


def run(command, typed, directory):
    """What went wrong, or nothing."""
    if re.search(r"tfprof serve ", command):
        if "libmicrohttpd" in subprocess.run([os.path.join(BUILD, "tfprof"), "serve", "/nowhere"], capture_output=True,
                                             encoding="utf-8").stderr:
            return ""  # built without
        return serve(command, typed, directory)
    # Recording goes into a folder of its own, where one of the name is here already for what is asked of it.
    command = re.sub(r"^((?:build/)?tfprof-capture .*?)-o (?:run|around)( --force)?", r"\1-o recorded --force", command)
    done = subprocess.run(["bash", "-c", command], cwd=directory, input=typed + "\n", capture_output=True,
                          encoding="utf-8", timeout=SECONDS)
    wrong = re.search(r"^(?:error|Error|Parse error|Runtime error)\b.*|.*(?:no such|unknown) .*", done.stderr, re.M)
    return done.stderr or f"status {done.returncode}" if done.returncode else wrong[0] if wrong else ""


def python_blocks():
    for name in DOCUMENTS:
        for language, block in blocks(test_sql.read(*name)):
            if language == "python":
                yield "/".join(name), block


def run_python(block, directory):
    needs = [name for line in re.findall(r"^import (.*)$", block, re.M) for name in re.split(r", *", line)]
    ask = "; ".join([f"import {name}" for name in needs] or ["pass"])
    if "enable_load_extension" in block:
        ask += "; sqlite3.connect(':memory:').enable_load_extension(True)"
    if "tfprof." in block.replace("tfprof.so", "") and "import" not in block:
        return None  # a part of a program, which test_profile_context.py and others run
    if subprocess.run([sys.executable, "-c", ask], capture_output=True).returncode:
        return None
    done = subprocess.run([sys.executable, "-c", block], cwd=directory, capture_output=True, encoding="utf-8")
    return done.stderr


def main():
    left_out, wrong, count = [], [], 0
    with tempfile.TemporaryDirectory(prefix="tfprof-docs-") as directory:
        make_folder(directory)
        os.environ["PATH"] = BUILD + os.pathsep + os.environ["PATH"]
        os.environ["HOME"] = directory  # a prompt keeps what is typed
        for where, command, typed in dict.fromkeys(documented()):
            if not is_here(command) or "..." in command or "--attach host" in command:
                left_out.append(command)
                continue
            count += 1
            trouble = run(command, typed, directory)
            if trouble:
                wrong.append(f"{where}: $ {command}\n    {trouble.strip()}")
        for where, block in python_blocks():
            trouble = run_python(block, directory)
            if trouble is None:
                left_out.append(block.splitlines()[0])
            elif trouble:
                wrong.append(f"{where}: {block}\n    {trouble.strip()}")
    print(f"{count} commands were run; left out: {left_out}")
    assert not wrong, "\n".join(wrong)
    assert count > 25, count


if __name__ == "__main__":
    main()
