"""compare_nsys.py RUN EXPORT: whether nsys counted the same kernels, copies and fills, with the same bytes, in the same
workload; EXPORT is what nsys export --type sqlite wrote. Of the whole run, for nsys knows no steps.
"""

import collections
import sqlite3
import sys

import compare


# CUpti_ActivityMemcpyKind, arrays as what they lie on; what CUPTI cannot tell has no direction.
DIRECTIONS = {1: "HtoD", 2: "DtoH", 3: "HtoD", 4: "DtoH", 5: "DtoD", 6: "DtoD", 7: "DtoD", 8: "DtoD", 9: "HtoH",
              10: "PtoP"}


def opened(path):
    return sqlite3.connect(f"file:{path}?mode=ro", uri=True)


def has_table(connection, name):
    """nsys exports only the tables that have rows."""
    return connection.execute("SELECT count(*) FROM sqlite_master WHERE name = ?", [name]).fetchone()[0]


def kernels_of(path):
    """{name: number}"""
    connection = opened(path)
    if not has_table(connection, "CUPTI_ACTIVITY_KIND_KERNEL"):
        return collections.Counter()
    return collections.Counter(dict(connection.execute(
        "SELECT value, count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN StringIds ON StringIds.id = demangledName "
        "GROUP BY 1")))


def copies_of(path):
    """{(kind, direction, bytes): number}, as compare.Work has them"""
    connection, copies = opened(path), collections.Counter()
    if has_table(connection, "CUPTI_ACTIVITY_KIND_MEMCPY"):
        for kind, size, count in connection.execute(
                "SELECT copyKind, bytes, count(*) FROM CUPTI_ACTIVITY_KIND_MEMCPY GROUP BY 1, 2"):
            copies["memcpy", DIRECTIONS.get(kind), size] += count
    if has_table(connection, "CUPTI_ACTIVITY_KIND_MEMSET"):
        for size, count in connection.execute("SELECT bytes, count(*) FROM CUPTI_ACTIVITY_KIND_MEMSET GROUP BY 1"):
            copies["memset", None, size] += count
    return copies


def differences(here, path):
    return (compare.unlike("kernel (nsys)", here.kernels, kernels_of(path)) +
            compare.unlike("copy or fill (nsys)", here.copies, copies_of(path)))


def main():
    told = differences(compare.Work(sys.argv[1]), sys.argv[2])
    print("\n".join(told))
    sys.exit(bool(told))


if __name__ == "__main__":
    main()
