"""Calls that pass through the library reach whoever defines them, though PyTorch lie in one library of another name."""

import os
import subprocess

import capturing
from capturing import bounded

# A PyTorch in one library: its allocator gives from memory of its own, which free() would not take.
TORCH = """
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
struct list { void *begin, *end, *limit; };
struct device { int8_t type, index; };
void *allocate(size_t) __asm__("_ZN3c109alloc_cpuEm");
void release(void *) __asm__("_ZN3c108free_cpuEPv");
void report(void *, int64_t, size_t, size_t, struct device)
    __asm__("_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE");
struct list execute(void *, const void *, const void *, bool, bool, bool, const void *)
    __asm__("_ZN5torch8autograd6Engine7executeERKSt6vectorINS0_4EdgeESaIS3_EERKS2_IN2at6TensorESaIS9_EEbbbS7_");
static char memory[4096], *last;
static int64_t told;
void *allocate(size_t bytes) { return bytes > sizeof memory ? NULL : (last = memory + 24); }
void release(void *address) { if (address == last) last = NULL; }
void report(void *address, int64_t bytes, size_t in_use, size_t reserved, struct device device) { told += bytes; }
struct list execute(void *engine, const void *roots, const void *inputs, bool keep, bool create, bool add,
                    const void *outputs) {
  return (struct list){engine, (void *)roots, memory};
}
/* 0: everything came back to this library. */
int use(void) {
  void *address = allocate(100);
  if (address != memory + 24 || allocate(10000)) return 1;
  release(address);
  if (last) return 2;
  report(address, 7, 0, 0, (struct device){1, 0});
  if (told != 7) return 3;
  struct list list = execute(&told, &last, NULL, false, false, true, NULL);
  return list.begin == &told && list.end == &last && list.limit == memory ? 0 : 4;
}
"""
PROGRAM = """
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
int main(int count, char **words) {
  void *library = dlopen(words[1], RTLD_NOW | (count > 2 ? RTLD_GLOBAL : RTLD_LOCAL));
  int (*use)(void);
  void *address = library ? dlsym(library, "use") : NULL;
  if (!address) return fprintf(stderr, "%s\\n", dlerror()), 9;
  memcpy(&use, &address, sizeof use);
  return use();
}
"""


def compile_c(directory, name, text, *options):
    path = os.path.join(directory, name)
    with open(path + ".c", "w") as file:
        file.write(text)
    subprocess.run([os.environ.get("CC", "cc"), "-std=gnu11", "-O1", "-w", "-o", path, path + ".c", *options, "-ldl"],
                   check=True)
    return path


def test_another_name():
    with capturing.Directory() as directory:
        torch = compile_c(directory, "libmonolith.so", TORCH, "-shared", "-fPIC", "-fno-builtin")
        program = compile_c(directory, "program", PROGRAM)
        for scope in ([], ["global"]):
            for preload in ({}, {"LD_PRELOAD": os.path.abspath(capturing.LIBRARY)}):
                result = bounded.run([program, torch] + scope, 60, env=dict(os.environ, **preload))
                assert result.returncode == 0, (scope, preload, result.returncode, result.stderr)


capturing.main(globals())
