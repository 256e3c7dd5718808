"""Runs at the start of every Python process of a recorded program: tfprof-capture puts this directory first on
PYTHONPATH.

It prepares the recording (_tfprof_hooks), takes its directory off sys.path so that no import of the program sees it,
and hands over to the sitecustomize that Python would have run without us: the same import again finds it, or fails as
it would have failed. PYTHONPATH in the environment stays as it is, so that child processes are recorded too.

Any Python may come here, Python 2 too, which is let through without a word.

Where nothing is recorded, the directory is on the path because a user put it there for `import tfprof`, and stays.
"""

import os
import sys

_here = __file__.rpartition("/")[0]
try:
    if sys.version_info >= (3,):
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
    sys.modules.pop("_tfprof_hooks", None)
    if sys.stderr and os.environ.get("TFPROF_QUIET") != "1":
        try:
            text = "tfprof: this Python process is not recorded: %s: %s\n"
            sys.stderr.write(text % (type(problem).__name__, problem))
        except Exception:
            pass

_places = [(number, entry) for number, entry in enumerate(sys.path) if getattr(entry, "rstrip", str)("/") == _here]
for _, _entry in _places:
    sys.path.remove(_entry)
sys.path_importer_cache.pop(_here, None)
_this = sys.modules.pop("sitecustomize")  # Python 2 empties a module that nobody refers to
try:
    import sitecustomize  # noqa: F401  (the next one on sys.path)
finally:
    if not os.environ.get("TFPROF_RUN_DIRECTORY"):
        for _number, _entry in _places:
            sys.path.insert(_number, _entry)
    del _this
