"""visit.py: the checks of a visit to a GPU, in the order in which they are run; run.sh is the manual."""

import sys

import visit_runner
import visit_first  # noqa: F401
import visit_costs  # noqa: F401
import visit_likeness  # noqa: F401
import visit_others  # noqa: F401

sys.exit(visit_runner.main())
