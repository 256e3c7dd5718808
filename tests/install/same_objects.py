"""Copies the object files that another build would make by the same commands: same_objects.py FROM TO

Both are build directories that CMake has configured for make, FROM has been built.  A command is the same when nothing
but the directory of the build differs in it.  What is copied is newer than all that it is made of, so that make leaves
it; sources that a build writes itself are newer, and are compiled.
"""

import json
import os
import shlex
import shutil
import sys


def objects(build):
    """{command: path of the object file that it writes}"""
    build = os.path.abspath(build)
    path, found = os.path.join(build, "compile_commands.json"), {}
    if not os.path.exists(path):
        return found
    with open(path) as file:
        commands = json.load(file)
    for each in commands:
        words = shlex.split(each["command"].replace(build, "BUILD"))
        name = words[words.index("-o") + 1]
        # Other builds may name the launcher of the compiler, such as ccache.
        first = next(i for i, word in enumerate(words) if word.startswith("-"))
        command = (each["directory"].replace(build, "BUILD"), *words[first - 1:])
        found[command] = os.path.join(each["directory"], name)
    return found


def main():
    there, here = map(objects, sys.argv[1:])
    copied = 0
    for command, path in here.items():
        if os.path.exists(there.get(command, "")):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            shutil.copyfile(there[command], path)
            copied += 1
    print("%d of %d objects are taken from %s" % (copied, len(here), sys.argv[1]))


main()
