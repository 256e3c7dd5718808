"""parts.py: which tests of a module a build without the part `classic` (ext/parts.def) is without.

A module of tests lists them in NEEDS_CLASSIC. Modules that need it all along are listed in tests/CMakeLists.txt.
"""

import os

BUILD = os.environ.get("TFPROF_BUILD") or os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "build")


def is_of_build(name, names):
    """Whether a test of a module, a dictionary, can run with this build."""
    is_there = os.path.exists(os.path.join(BUILD, "python", "_tfprof_classic.py"))
    return is_there or name not in names.get("NEEDS_CLASSIC", ())
