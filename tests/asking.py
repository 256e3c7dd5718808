"""What a run answers: SQL through the program tfprof of the build that is tested."""

import json
import os
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.environ.get("TFPROF_BUILD") or os.path.join(HERE, "..", "build")


def query(run, sql):
    """Rows as dictionaries."""
    command = [os.path.join(BUILD, "tfprof"), "--format", "json", run, sql]
    answer = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8")
    assert answer.returncode == 0, answer.stderr
    return json.loads(answer.stdout or "[]")
