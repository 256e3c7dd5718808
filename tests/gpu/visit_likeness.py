"""visit_likeness.py: whether what is recorded of the same steps is what torch.profiler tells of them."""

import os

import compare
import visit_verdicts as verdicts
from visit_first import order, value
from visit_runner import check

FIRST, COUNT = 21, 19  # of the steps that are compared


def reference(visit, mode):
    """torch.profiler's trace of those steps."""
    path = visit.path(mode + ".json")
    if not os.path.exists(path):
        visit.run(visit.program(mode, f"steps={FIRST - 1}", f"profile={COUNT}:{path}"), 90)
    return compare.Work(path, 1, COUNT)


def compare_mode(visit, mode):
    run = visit.path(mode + ".run")
    visit.run(visit.program(mode, f"steps={FIRST + COUNT}"), 90, recorded=run, options=["--ops=all"])
    visit.note(**compare.figures(compare.Work(run, FIRST, FIRST + COUNT - 1), reference(visit, mode)),
               **order(run))


LIKE = "the same kernels by name and number, copies, bytes, and ops of kernels as torch.profiler tells: "


@check("compare_small", 25, 150, LIKE + "a model that is bound by launches", verdicts.compared, is_quick=True)
def compare_small(visit):
    compare_mode(visit, "small")


@check("compare_eager", 25, 150, LIKE + "a transformer that keeps the GPU busy", verdicts.compared)
def compare_eager(visit):
    compare_mode(visit, "eager")


@check("compare_graph", 25, 150, LIKE + "the small model as a CUDA graph", verdicts.compared)
def compare_graph(visit):
    compare_mode(visit, "graph")


@check("compare_graph_again", 15, 150, LIKE + "the graph once more, when torch.profiler was there in between; of CUPTI "
       "below 13.1 U1, which may give such kernels to other calls, some may have no op", verdicts.compared)
def compare_graph_again(visit):
    run = visit.path("graph_again.run")
    visit.run(visit.program("graph", "steps=5", "profile=5:" + visit.path("between.json"), f"steps={COUNT + 10}"), 90,
              recorded=run, options=["--ops=all"])
    is_faulty = bool(value(
        run, "SELECT count(*) FROM diagnostics WHERE reason = 'cupti_fault' AND message LIKE '%graphs%'"))
    work = compare.Work(run, FIRST, FIRST + COUNT - 1, is_faulty)
    visit.note(**compare.figures(work, reference(visit, "graph"), is_faulty), **order(run))


@check("compare_compile", 50, 200, LIKE + "torch.compile", verdicts.compared)
def compare_compile(visit):
    compare_mode(visit, "compile")
