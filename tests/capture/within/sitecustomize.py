"""Python's own start of the tests' programs (site.py imports it): they end sooner.

When a program with PyTorch ends, Python looks through all its objects several times for those that refer to themselves,
which takes a third of the time of importing PyTorch.  Frozen objects are not looked through, and all else of the end is
as it is.  What is registered first with atexit runs last: the recording has ended by then.  PLAIN_END=1, which tests of
how programs end set, leaves it out.
"""

import atexit
import gc
import os

if hasattr(gc, "freeze") and not os.environ.get("PLAIN_END"):
    atexit.register(gc.freeze)
