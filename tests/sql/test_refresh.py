"""tfprof_refresh() of a run whose files have rested: such are only looked at, not into, where nothing has changed."""

import os
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import scratch  # noqa: E402,F401  (temporary files go where they are removed)

BUILD = os.path.abspath(os.environ.get("TFPROF_BUILD", "build"))
REST = 2.5  # seconds: longer than the steps that file systems tell times in (dump_file_is_same)
FILES = ("SELECT group_concat(file || ':' || n) FROM (SELECT replace(path, rtrim(path, replace(path, '/', '')), '') "
         "AS file, (SELECT count(*) FROM ops WHERE ops.profile_id = profiles.id) AS n FROM profiles ORDER BY 1)")
TROUBLE = "SELECT coalesce(group_concat(DISTINCT reason), '') FROM diagnostics WHERE severity IN ('error', 'warning')"


def main():
    run, made = tempfile.mkdtemp(prefix="tfprof-test-"), tempfile.mkdtemp(prefix="tfprof-test-")
    for number in range(1, 7):
        command = [os.path.join(BUILD, "tests", "make_ops_dump"), f"{made}/{number}.tfprof", str(number * 10000)]
        subprocess.run([*command, str(number)], check=True, stdout=subprocess.DEVNULL)
    for number in (1, 2, 3):
        shutil.copy(f"{made}/{number}.tfprof", run)
    with open(f"{made}/4.tfprof", "rb") as file:
        growing = file.read()
    with open(f"{run}/4.tfprof", "wb") as file:
        file.write(growing[: len(growing) // 2])
    with open(f"{run}/notes.txt", "w") as file:
        file.write("of mine")
    command = [os.path.join(BUILD, "tfprof"), "--csv", "--raw", run]
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    time.sleep(REST)
    with subprocess.Popen(command, bufsize=1, **streams) as program:

        def ask(sql):
            program.stdin.write(sql + ";\n")
            program.stdout.readline()
            return program.stdout.readline().strip().strip('"')

        def refresh():
            return int(ask("SELECT tfprof_refresh() AS n")) > 0, ask(FILES), ask(TROUBLE)

        before = ask(FILES)
        assert before.startswith("1.tfprof:10000,2.tfprof:20000,3.tfprof:30000,4.tfprof:"), before
        for _ in range(2):
            assert refresh()[:2] == (False, before)
        with open(f"{run}/4.tfprof", "ab") as file:
            file.write(growing[len(growing) // 2 :])
        grown = before.rsplit(":", 1)[0] + ":40000"
        assert refresh() == (True, grown, ""), grown
        shutil.copy(f"{made}/5.tfprof", f"{run}/5")  # a recording is known by what it is
        assert refresh() == (True, "1.tfprof:10000,2.tfprof:20000,3.tfprof:30000,4.tfprof:40000,5:50000", "")
        os.rename(f"{run}/1.tfprof", f"{made}/1.tfprof")
        assert refresh()[2] == "lost_file"
        os.rename(f"{made}/1.tfprof", f"{run}/1.tfprof")
        assert refresh()[2] == ""
        shutil.copy(f"{made}/6.tfprof", f"{run}/new")
        os.rename(f"{run}/new", f"{run}/2.tfprof")
        assert refresh() == (True, "1.tfprof:10000,2.tfprof:60000,3.tfprof:30000,4.tfprof:40000,5:50000", "")
        os.truncate(f"{run}/3.tfprof", 9000)
        assert refresh()[2] == "cut_file"
        program.stdin.close()
    print("refresh")


main()
