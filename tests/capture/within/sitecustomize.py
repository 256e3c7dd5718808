"""Python's own start of the tests' programs (site.py imports it): they begin and end sooner.

When a program with PyTorch ends, Python looks through all its objects several times for those that refer to themselves,
which takes a third of the time of importing PyTorch.  Frozen objects are not looked through, and all else of the end is
as it is.  What is registered first with atexit runs last: the recording has ended by then.  PLAIN_END=1, which tests of
how programs end set, leaves it out.

What quick_torch.py does about the beginning is left out with WHOLE_TORCH=1, which tests of what is compiled set.
"""

import atexit
import gc
import os
import sys

if hasattr(gc, "freeze") and not os.environ.get("PLAIN_END"):
    atexit.register(gc.freeze)

if sys.version_info >= (3, 7) and not os.environ.get("WHOLE_TORCH"):
    import quick_torch

    quick_torch.begin()
