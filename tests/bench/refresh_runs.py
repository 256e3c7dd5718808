#!/usr/bin/env python3
"""refresh_runs.py: what tfprof_refresh() and the views after it cost on runs of many files.

    refresh_runs.py [--files 1000] [--rows 3000] [--repeat 20] [--build DIRECTORY]

Makes a run of so many dumps (make_ops_dump) that are closed, and one of as many whose programs still run: what is there
is three quarters of a file, and each look finds some more in each of them, in ten or in one; then all of one comes
before each question.  One tfprof has the run open and is asked over a pipe.  Processor time of the process, mean, in
milliseconds.
"""

import argparse
import os
import subprocess
import sys
import tempfile

import figures

QUESTIONS = ("SELECT count(*) FROM profiles", "SELECT * FROM step_summary", "SELECT * FROM op_summary LIMIT 10")


class Asked:
    """A tfprof that answers one statement after the other."""

    def __init__(self, build, run):
        self.process = subprocess.Popen(
            [os.path.join(build, "tfprof"), "--format", "csv", run],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
        )

    def ask(self, sql):
        """(the answer, milliseconds of processor time)"""
        before = self.processor()
        self.process.stdin.write(sql + ";\nSELECT 'ended' AS mark;\n")
        lines = []
        while not lines or lines[-1] != "ended":
            lines.append(self.process.stdout.readline().rstrip("\n"))
        return lines[1:-2], self.processor() - before

    def processor(self):
        total = 0
        for thread in os.listdir("/proc/%d/task" % self.process.pid):
            with open("/proc/%d/task/%s/schedstat" % (self.process.pid, thread)) as file:
                total += int(file.read().split()[0])
        return total / 1e6

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def means(asked, sql, repeat, between=lambda: None):
    times, answers = [], []
    for _ in range(repeat):
        between()
        answer, taken = asked.ask(sql)
        times.append(taken)
        answers.append(answer[0] if answer else "")
    return sum(times) / len(times), answers


def grown(asked, sql, grow):
    """What the question takes after a refresh that found more, without the refresh."""
    times = []
    for _ in range(5):
        grow()
        asked.ask("SELECT tfprof_refresh()")
        times.append(asked.ask(sql)[1])
    return sum(times) / len(times)


def tell(what, milliseconds, trials):
    figures.tell("refreshing", what, milliseconds, "CPU ms", "refresh_runs.py", trials=trials)


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--rows", type=int, default=3000)
    parser.add_argument("--repeat", type=int, default=20)
    parser.add_argument("--build", default=os.path.join(here, "..", "..", "build"))
    options = parser.parse_args()
    if options.files < 15:
        parser.error("--files: there must be 15 at least, as all of one comes before each of so many questions")
    with tempfile.TemporaryDirectory(prefix="tfprof-bench-") as directory:
        closed, growing = os.path.join(directory, "closed"), os.path.join(directory, "growing")
        os.mkdir(closed)
        os.mkdir(growing)
        maker, rest = os.path.join(options.build, "tests", "make_ops_dump"), []
        for number in range(options.files):
            path = os.path.join(closed, "%d.tfprof" % number)
            subprocess.run([maker, path, str(options.rows), str(number + 1)], check=True, stdout=subprocess.DEVNULL)
            with open(path, "rb") as file:
                whole = file.read()
            with open(os.path.join(growing, "%d.tfprof" % number), "wb") as file:
                file.write(whole[: len(whole) * 3 // 4])
            rest.append(whole[len(whole) * 3 // 4 :])

        def grow(count):
            for number in range(count):
                add(number, 64)

        def end_one():
            """All that one of them lacks."""
            add(next(number for number in range(options.files) if rest[number]), 1 << 30)

        def add(number, count):
            with open(os.path.join(growing, "%d.tfprof" % number), "ab") as file:
                file.write(rest[number][:count])
            rest[number] = rest[number][count:]

        for run in (closed, growing):
            asked = Asked(options.build, run)
            print("%s, %d files:" % (os.path.basename(run), options.files))
            files = "%s %s" % (figures.count(options.files), "files that grow" if run == growing else "closed files")
            for count in (0, 1, 10, options.files) if run == growing else (0,):
                taken, answers = means(asked, "SELECT tfprof_refresh()", options.repeat, lambda: grow(count))
                print("  refresh, %4d files grew        %8.2f ms, %s rows" % (count, taken, sum(map(int, answers))))
                grew = "nothing new" if not count else "all grew" if count == options.files else "%d grew" % count
                tell("`tfprof_refresh()` of %s, %s" % (files, grew), taken, options.repeat)
            for sql in QUESTIONS:
                first = asked.ask(sql)[1]
                taken, _ = means(asked, sql, 5)
                print("  %-40s %8.2f ms, the first time %.2f ms" % (sql[:40], taken, first))
                name = "`%s` of %s of %s ops" % (sql.split(" FROM ")[1].split()[0], files, figures.count(options.rows))
                tell(name + ", again without new rows", taken, 5)
                tell(name + ", the first time", first, 1)
                if run == growing:
                    taken = grown(asked, sql, end_one)
                    print("  %-40s %8.2f ms" % ("  with more of one file", taken))
                    tell(name + ", after rows of one of them came", taken, 5)
            asked.close()


if __name__ == "__main__":
    sys.exit(main())
