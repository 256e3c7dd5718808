#!/usr/bin/env python3
"""A saved copy of whatever was open says the same as what was open: every table, view, check and panel.

    test_saved_copies.py [--all] [--seed N] [--count N] [FILE...]

Of files of every kind, each alone and several runs at once; of changed copies of dumps and traces with right checksums
(tests/mutations); of files that once gained or lost rows by being saved.  The same seed and number make the same copy.
--all: of everything under TFPROF_SHARED that can be opened, too.
"""

import argparse
import collections
import functools
import glob
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..")]
from engines import (BUILD, CommandLine, Newest, asked_before, engines, in_child, in_every_python, make_dump,
                     plans_do)
from test_alignment import trace
import mutations

ROOT = os.path.join(HERE, "..", "..")
SHARED = os.environ.get("TFPROF_SHARED") or ""
# What is of the file itself, and not of what is in it.
OF_FILES = {
    "runs": ["path", "format"],
    "profiles": ["path", "format", "file_bytes"],
    "profile_summary": ["format", "file_bytes"],
    "panel processes": ["format", "file_bytes"],
}
NAME = "the_file_that_is_asked"
MOST_ROWS = 20000  # of a changed copy that is asked: others take longer than they tell


@functools.lru_cache(None)
def questions(engine):
    """{what is asked: SQL}."""
    connection = engine()
    names = [name for name, in connection.values(
        "SELECT name FROM tfprof_tables WHERE name <> 'node_type_patterns' AND is_cache >= 0")]
    names += [name for name, in connection.values("SELECT name FROM tfprof_views WHERE kind = 'view'")]
    asked = {name: f"temp.{name}" for name in names}
    for name, sql in connection.values("SELECT name, sql FROM tfprof_panels"):
        sql = re.sub(r"(?m)^--.*$|:[a-z_]+\b", lambda match: "" if match[0].startswith("--") else "NULL", sql)
        error = connection.query(f'CREATE TEMP VIEW "panel {name}" AS {sql}')[1]
        assert not error, f"{name}: {error}"
        asked["panel " + name] = f"({sql})"
    for name, table in asked.items():
        columns = [column for column, in connection.values(f"SELECT name FROM pragma_table_info('{name}')")]
        shown = ", ".join(f'"{column}"' for column in columns if column not in OF_FILES.get(name, ()))
        if name == "diagnostics":  # a copy has them all as rows of its own
            shown = "severity, reason, message, count, table_name"
        asked[name] = f"SELECT {shown} FROM {table}"
    connection.close()
    return asked


@functools.lru_cache(None)
def asker():
    """A connection to the newest SQLite that has prepared all that is asked, with nothing open."""
    return asked_before(questions(Newest).values())


def everything(engine, paths, names=frozenset(), then="SELECT 1"):
    """{what is asked: rows or the error}, the names of files in the rows, which are no difference, and (rows, error) of
    what is asked then; Nones where a file cannot be opened. names: of the files that these are copies of."""
    if engine is not Newest:
        return ask_everything(engine(), engine, paths, names, then)
    connection = asker()
    return in_child(lambda: ask_everything(connection, engine, paths, names, then))


def are_open(connection, paths):
    return not any(connection.query(f"SELECT tfprof_open('{path}')")[1] for path in paths)


def ask_everything(connection, engine, paths, names, then):
    if not are_open(connection, paths):
        return None, None, None
    if engine is Newest and not plans_do(connection):
        connection = engine()
        are_open(connection, paths)
    own = [path for path, in connection.values(
        "SELECT path FROM runs UNION SELECT path FROM profiles UNION SELECT file FROM diagnostics WHERE file <> ''")]
    names = {*names, *own, *map(os.path.basename, own)} - {""}
    said = {}
    for name, sql in questions(engine).items():
        rows, error = connection.query(sql)
        for path in sorted(names, key=len, reverse=True):
            rows = [row.replace(path, NAME) for row in rows]
        said[name] = error and re.sub(r"near line \d+", "", error) or collections.Counter(rows)
    return said, names, connection.query(then)


def differences(engine, paths, folder, is_limited=False):
    """What a saved copy says otherwise; None: a file cannot be opened, or is too large."""
    copy = os.path.join(folder, NAME + "_saved")
    if is_limited:
        connection = engine()
        is_small = not connection.query(f"SELECT tfprof_open('{paths[0]}')")[1] and connection.values(
            "SELECT max(rows) <= %d FROM tfprof_tables WHERE is_cache >= 0" % MOST_ROWS) == [(1,)]
        connection.close()
        if not is_small:
            return None
    # Before it is saved, which reads and derives everything.
    before, names, saved = everything(engine, paths, then=f"SELECT tfprof_save('{copy}')")
    if not before:
        return None
    if saved[1]:
        return [f"cannot be saved: {saved[1]}"]
    after, _, _ = everything(engine, [copy], names)
    if not after:
        return ["the copy cannot be opened"]
    (shutil.rmtree if os.path.isdir(copy) else os.unlink)(copy)
    different = []
    for name in before:
        if before[name] != after[name]:
            old, new = before[name], after[name]
            if isinstance(old, str) or isinstance(new, str):
                different.append(f"{name}: {str(old)[:200]} became {str(new)[:200]}")
            else:
                lost, gained = list((old - new).elements()), list((new - old).elements())
                different.append(f"{name}: lost {len(lost)}: {lost[:2]}, gained {len(gained)}: {gained[:2]}")
    return different


def format_askers():
    """Stored SELECTs that ask what the file is: views ask profiles.origin, which saving keeps."""
    shown = ("profile_summary.sql", "processes.sql")
    for path in sorted(glob.glob(os.path.join(ROOT, "sql", "*", "*.sql"))):
        with open(path, encoding="utf-8") as file:
            sql = re.sub(r"--.*|'[^']*'", "", file.read())
        if re.search(r"\bformat\b(?!\()", sql) and os.path.basename(path) not in shown:
            yield path


def check_list_of_runs(engine, folder):
    """A run that is gone is told of and the others open; a list leads nowhere else; runs keep their names."""
    copy, names = os.path.join(folder, "runs"), ("times.json", "links.json")
    connection = engine()
    for name in names:
        connection.values(f"SELECT tfprof_open('{os.path.join(ROOT, 'tests', 'fixtures', 'kineto', name)}')")
    expected = connection.values("SELECT * FROM op_diff('times.json', 'links.json')")
    assert connection.values(f"SELECT tfprof_save('{copy}')") == [(2,)]
    saved = engine()
    assert saved.values(f"SELECT tfprof_open('{copy}'), tfprof_open('{copy}')") == [(1, 1)]
    assert [os.path.basename(path) for path, in saved.values("SELECT path FROM runs")] == list(names)
    assert expected and saved.values("SELECT * FROM op_diff('times.json', 'links.json')") == expected
    shutil.rmtree(os.path.join(copy, "times.json"))
    part = engine()
    assert part.values(f"SELECT tfprof_open('{copy}')") == [(1,)]
    told = part.values("SELECT message FROM diagnostics WHERE reason = 'unopened_file'")
    assert len(told) == 1 and "times.json could not be opened: " in told[0][0], told
    for text, error in (("tfprof runs 1\n../kineto\n", "not the name of a directory"),
                        ("tfprof runs 1\nlinks.json\n.\n", "not the name of a directory"),
                        ("tfprof runs 1\ngone\n", "no such file"), ("tfprof runs 1\n\n", "not the name")):
        with open(os.path.join(copy, "saved-runs"), "w", encoding="utf-8") as file:
            file.write(text)
        assert error in (engine().query(f"SELECT tfprof_open('{copy}')")[1] or ""), text
    shutil.rmtree(copy)


# What earlier releases derived of a recording, or not at all: other values than are right.
OLDER = {"ops": "self_ns op_self_ns", "steps": "recording_ns training_ns", "collectives": "start_ns dur_ns"}


def recorded(is_older):
    """Rows of a recording that tells what recording took; is_older: with what an earlier release saved of it."""
    tables = {"threads kind tid pid": ["host 1 1"], "devices name kind ordinal": ["GPU gpu 0"],
              "counters name time_ns value": ["capture_op_cost 1 20000"]}
    steps, ops, calls, collectives, transfers, phases, hosts = ([] for _ in range(7))
    for step in range(6):
        at = 10_000_000 + 2_000_000 * step
        steps.append(f"{step} step optimizer 0 {at} 2000000")
        ops += [f"aten::linear op 0 {at + 100000} 300000 {step} 1", f"aten::mm op 0 {at + 150000} 90000  ",
                f"Optimizer.step#SGD.step user 0 {at + 600000} 700000  ",
                f"record_param_comms op 0 {at + 700000} 300000  "]
        calls.append(f"0 0 {at + 100000} 500000 1")
        collectives.append(f"_allgather_base {4 * step + 3}")
        transfers.append(f"memcpy PtoP 0 {at + 800000} 100000 {4 * step + 3}")
        phases.append(f"{step} other 0 {at} 2000000")
        hosts.append(f"{step} 1111 2222")
    tables["steps number name origin thread_id start_ns dur_ns"] = steps
    tables["ops name category thread_id start_ns dur_ns sequence_number recorded_module"] = ops
    tables["nodes name recorded_module"] = ["layer 1"]
    tables["module_calls node_id thread_id start_ns dur_ns recorded_module"] = calls
    tables["collectives name op_id"] = collectives
    tables["transfers kind name device_id start_ns dur_ns op_id"] = transfers
    if is_older:
        tables["step_phases step_id phase thread_id start_ns dur_ns"] = phases
        tables["host_steps step_id op_ns outside_ns"] = hosts
    lines = []
    for head, rows in tables.items():
        more = OLDER.get(head.split()[0]) if is_older else None
        lines += ["= " + " ".join([head] + ([more] if more else []))]
        lines += [row + " 777 999" if more else row for row in rows]
    return "\n".join(lines).replace(" ", "\t") + "\n"


def check_older_copies(engine, folder):
    """What earlier releases saved of a recording says what the recording says."""
    make, said = os.path.join(BUILD, "tests", "make_dump_of_rows"), []
    for name, recorder in (("recording", "tfprof-capture 0.1"), ("older", "tfprof_save 0.1")):
        path = os.path.join(folder, name + ".tfprof")
        subprocess.run([make, path, recorder], encoding="utf-8", check=True, input=recorded(name == "older"))
        answers, _, (taken, _) = everything(engine, [path], then="SELECT DISTINCT dur_ns - net_ns FROM module_calls")
        # Of a call that begins with an op, the record of the op inside it.
        assert [re.sub(r"\D", "", row) for row in taken] == ["20000"], taken
        said.append({what: rows for what, rows in answers.items() if what not in OF_FILES})
    counts = [len(said[0][table]) for table in ("host_steps", "collectives", "step_phases")]
    assert min(counts) >= 6, counts
    different = {what: (rows, said[1][what]) for what, rows in said[0].items() if rows != said[1][what]}
    assert not different, different


def ranks_of_two_clocks(folder):
    """A run of two traces, of which the second is brought onto the clock of the first."""
    run = os.path.join(folder, "ranks")
    os.mkdir(run)
    for rank, skew in ((0, 0), (1, 5_000_000_000)):
        with open(os.path.join(run, f"rank{rank}.json"), "w", encoding="utf-8") as file:
            json.dump(trace(rank, skew, f"node{rank}"), file)
    return run


def many_processes(folder):
    """So many that their numbers have two digits."""
    run = os.path.join(folder, "many")
    os.mkdir(run)
    for name in "abcdefghijk":
        times = os.path.join(ROOT, "tests", "fixtures", "kineto", "times.json")
        shutil.copyfile(times, os.path.join(run, name + ".json"))
    return run


def fixtures(folder):
    """Lists of paths that are opened together."""
    corpus = os.path.join(ROOT, "tests", "fuzz", "corpus")
    files = [make_dump(os.path.join(folder, "random.tfprof"), 90, 6),
             make_dump(os.path.join(folder, "ops.tfprof"), 3000, 6, "make_ops_dump"),
             os.path.join(ROOT, "tests", "golden", "dump-1", "ops.tfprof"),
             os.path.join(ROOT, "tests", "golden", "hlo", "programs.xplane.pb")]
    files += sorted(glob.glob(os.path.join(ROOT, "tests", "fixtures", "kineto", "*")))
    for kind in ("tensorflow", "memory_snapshot", "memory_timeline", "pprof", "xplane"):
        files += sorted(glob.glob(os.path.join(corpus, kind, "*")))
    together = [[file] for file in files]
    # Several runs stay several, in their order, whatever they are called.
    together.append([os.path.join(corpus, "xplane", "tasks.xplane.pb"), os.path.join(corpus, "pprof", "example.pprof"),
                     files[1], os.path.join(corpus, "xplane", "example.xplane.pb")])
    together += [[ranks_of_two_clocks(folder)], [many_processes(folder)]]
    for name in ("2_140_run_meta_8.tfprof", "1_96_amd_mi250.json"):
        path = os.path.join(SHARED, "traces", "hostile", name)
        together += [[path]] if os.path.isfile(path) else []
    return together


def shared():
    """Everything that anybody left there: files, and directories of them."""
    for directory, _, names in sorted(os.walk(os.path.join(SHARED, "traces"))):
        yield [directory]
        for name in sorted(names):
            yield [os.path.join(directory, name)]


def seeds(folder):
    """Files to change: dumps as they are written, as they are saved, and traces."""
    files = [make_dump(os.path.join(folder, "seed.tfprof"), 40, 2),
             make_dump(os.path.join(folder, "seed_ops.tfprof"), 300, 2, "make_ops_dump")]
    for trace in ("links", "waits", "memory", "python", "distributed"):
        path = os.path.join(ROOT, "tests", "fixtures", "kineto", f"{trace}.json")
        files += [path, os.path.join(folder, f"{trace}.tfprof")]
        connection = CommandLine()
        connection.values(f"SELECT tfprof_open('{path}')")
        connection.values(f"SELECT tfprof_save('{files[-1]}')")
        connection.close()
    return files


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--all", action="store_true", help="of everything under TFPROF_SHARED as well")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="the number of the first changed copy")
    parser.add_argument("--count", type=int, default=20, help="how many changed copies")
    parser.add_argument("files", nargs="*", metavar="FILE", help="these alone")
    arguments = parser.parse_args()
    in_every_python()
    engine = Newest if len(engines()) > 1 else CommandLine
    asked, failures = 0, 0
    for path in format_askers():
        failures += 1
        print(f"{path} asks for the format, which becomes tfprof when it is saved; profiles.origin stays")
    with tempfile.TemporaryDirectory(prefix="tfprof-saved-") as folder:
        check_list_of_runs(engine, folder)
        check_older_copies(engine, folder)
        together = [[path] for path in arguments.files] or fixtures(folder)
        for paths in together + (list(shared()) if arguments.all else []):
            different = differences(engine, paths, folder)
            asked += different is not None
            failures += bool(different)
            for what in different or ():
                print(f"{' '.join(paths)}: {what}")
        files = [] if arguments.files else seeds(folder)
        for number in range(arguments.first, arguments.first + arguments.count if files else 0):
            choice = random.Random(f"{arguments.seed} {number}")
            source = files[choice.randrange(len(files))]
            with open(source, "rb") as file:
                data = file.read()
            path = os.path.join(folder, NAME + os.path.splitext(source)[1])
            with open(path, "wb") as file:
                file.write(mutations.mutate(data, choice))
            different = differences(engine, [path], folder, is_limited=True)
            asked += different is not None
            failures += bool(different)
            for what in different or ():
                print(f"changed copy {number} of seed {arguments.seed}, of {os.path.basename(source)}: {what}")
    print(f"{asked} files were saved, {failures} say something else then")
    sys.exit(1 if failures or not asked else 0)


if __name__ == "__main__":
    main()
