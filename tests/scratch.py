"""Where the tests' temporary files go: imported, it gives tempfile a folder of this
process, which is removed at its end.

With TFPROF_KEEP_TEST_FILES in the environment it stays, and its name is printed.
"""

import atexit
import os
import shutil
import tempfile

DIRECTORY = tempfile.mkdtemp(prefix="tfprof-test-")
tempfile.tempdir = DIRECTORY


def clean_up(process=os.getpid()):
    if os.getpid() != process:  # a fork
        return
    if os.environ.get("TFPROF_KEEP_TEST_FILES"):
        print("kept:", DIRECTORY)
    else:
        shutil.rmtree(DIRECTORY, ignore_errors=True)


atexit.register(clean_up)
