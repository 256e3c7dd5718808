"""compare_nsys.py RUN EXPORT: whether nsys counted the same kernels in the same workload; EXPORT is what nsys export
--type sqlite wrote. Of the whole run, for nsys knows no steps.
"""

import collections
import sqlite3
import sys

import compare


def kernels_of(path):
    """{name: number}"""
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    return collections.Counter(dict(connection.execute(
        "SELECT value, count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN StringIds ON StringIds.id = demangledName "
        "GROUP BY 1")))


def main():
    told = compare.unlike("kernel (nsys)", compare.Work(sys.argv[1]).kernels, kernels_of(sys.argv[2]))
    print("\n".join(told))
    sys.exit(bool(told))


if __name__ == "__main__":
    main()
