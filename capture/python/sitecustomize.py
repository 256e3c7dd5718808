"""Runs at the start of every Python process of a recorded program: tfprof-capture puts this directory first on
PYTHONPATH.

It prepares the recording (_tfprof_hooks), takes its directory off sys.path so that no import of the program sees it,
and hands over to the sitecustomize that Python would have run without us: the same import again finds it, or fails as
it would have failed. PYTHONPATH in the environment stays as it is, so that child processes are recorded too.

Where nothing is recorded, the directory is on the path because a user put it there for `import tfprof`, and stays.
"""

import os
import sys

_here = __file__.rpartition("/")[0]
try:
    # As `import _tfprof_hooks` would, but that its code says to come from no file (see load_beside there).
    from _imp import _fix_co_filename

    _path = _here + "/_tfprof_hooks.py"
    _code = type(__loader__)("_tfprof_hooks", _path).get_code("_tfprof_hooks")
    _fix_co_filename(_code, "<_tfprof_hooks>")
    _hooks = type(sys)("_tfprof_hooks")
    _hooks.__file__ = _path
    sys.modules["_tfprof_hooks"] = _hooks
    exec(_code, _hooks.__dict__)
    _hooks.start()
except Exception as problem:  # the program must not notice
    if sys.stderr:
        sys.stderr.write("tfprof: this Python process is not recorded: %s: %s\n" % (type(problem).__name__, problem))

_places = [(number, entry) for number, entry in enumerate(sys.path) if entry.rstrip("/") == _here]
sys.path[:] = [entry for entry in sys.path if entry.rstrip("/") != _here]
sys.path_importer_cache.pop(_here, None)
del sys.modules["sitecustomize"]
try:
    import sitecustomize  # noqa: F401  (the next one on sys.path)
finally:
    if not os.environ.get("TFPROF_RUN_DIRECTORY"):
        for _number, _entry in _places:
            sys.path.insert(_number, _entry)
