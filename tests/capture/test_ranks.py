"""torchrun: each rank is a profile of its own with its number, the size of the job and its parent, its ops are those
that torch.profiler sees in it, and they are recorded in the same steps.
"""

import os
import signal

import capturing
import test_torch_profiler as profiler

TORCHRUN = ["-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port", "0", "--rdzv-backend", "c10d"]
TORCHRUN += ["--rdzv-endpoint", "localhost:0"]


def profiles(directory):
    columns = "path, pid, parent_pid, rank, world_size, complete, command"
    return capturing.query(directory, "SELECT %s FROM profiles ORDER BY rank" % columns)


def check_commands(directory, agent, ranks, out):
    """Each process has its own command line, the run that of the launcher; a saved copy tells the same."""
    started = " ".join([capturing.PYTHON, *TORCHRUN])
    assert agent["command"].startswith(started) and agent["command"].endswith(out), agent
    for row in ranks:
        assert row["command"].endswith("drive.py ranks both " + out) and "torch.distributed" not in row["command"], row
    commands = "SELECT (SELECT command FROM runs) AS run, command FROM profiles ORDER BY rank"
    told = capturing.query(directory, commands)
    assert told[0]["run"] == agent["command"] and told[0]["run"] != told[1]["command"], told
    with capturing.Directory() as copy:
        saved = os.path.join(copy, "saved")
        capturing.query(directory, "SELECT tfprof_save('%s')" % saved)
        assert capturing.query(saved, commands) == told, told


def test_ops_of_two_ranks():
    with capturing.Directory() as directory:
        out = os.path.join(directory, "profile")
        drive = os.path.join(capturing.PROGRAMS, "drive.py")
        capturing.launch(directory, [capturing.PYTHON, *TORCHRUN, drive, "ranks", "both", out], ["--quiet"])
        rows = profiles(directory)
        ranks = [row for row in rows if row["rank"] is not None]
        (agent,) = [row for row in rows if row["rank"] is None]
        assert [(row["rank"], row["world_size"], row["complete"]) for row in ranks] == [(0, 2, 1), (1, 2, 1)], rows
        assert {row["parent_pid"] for row in ranks} == {agent["pid"]}, rows
        check_commands(directory, agent, ranks, out)
        for row in ranks:
            mine = profiler.captured(capturing.ops(row["path"]), "ranks")
            its = profiler.profiled(out, "ranks", row["rank"])
            profiler.compare("rank %d" % row["rank"], "same execution", mine, its)
            steps = capturing.query(row["path"], "SELECT count(*) AS n FROM steps")
            assert steps == [{"n": 6}], steps


def test_a_rank_that_dies():
    """The other ranks are ended by torchrun; what each recorded before is there."""
    program = """
import os, signal, sys, time, torch
import torch.distributed as dist, recorder, without_dynamo
dist.init_process_group("gloo")
x = torch.ones(3, requires_grad=True)
optimizer = torch.optim.SGD([x], 0.1)
for _ in range(5):
    x.sum().backward()
    optimizer.step()
recorder.wait(0.5)  # so long it may take until a step is in the file
dist.barrier()
if os.environ["RANK"] == "1":
    os.kill(os.getpid(), signal.SIGKILL)
time.sleep(60)
"""
    with capturing.Directory() as directory:
        path = os.path.join(directory, "program.py")
        with open(path, "w") as file:
            file.write(program)
        _, error = capturing.launch(directory, [capturing.PYTHON, *TORCHRUN, path], status=1)
        ranks = [row for row in profiles(directory) if row["rank"] is not None]
        assert [(row["rank"], row["complete"]) for row in ranks] == [(0, 0), (1, 0)], ranks
        for row in ranks:
            steps = capturing.query(row["path"], "SELECT count(*) AS n FROM steps")
            assert steps == [{"n": 5}], (row, steps)
        assert "of 3 processes" in error and "rank 1: " in error and str(signal.SIGKILL.value) in error, error
    print("a rank that was killed, and one that torchrun ended: all their steps are there")


def test_ranks_that_only_the_program_knows():
    """torch.multiprocessing.spawn: no launcher says in the environment who is who. Rank 1 is killed."""
    program = """
import os, signal, sys, time, torch
import torch.distributed as dist, torch.multiprocessing, recorder, without_dynamo
def work(rank, path):
    dist.init_process_group("gloo", init_method="file://" + path, rank=rank, world_size=2)
    x = torch.ones(3, requires_grad=True)
    optimizer = torch.optim.SGD([x], 0.1)
    for _ in range(3 + rank):
        x.sum().backward()
        optimizer.step()
    pids = [None, None]
    dist.all_gather_object(pids, os.getpid())
    dist.destroy_process_group()
    if rank:
        recorder.wait(1.1)  # which rank it is is told each second
        while os.path.exists("/proc/%d/exe" % pids[0]): time.sleep(0.01)  # it would be ended
        os.kill(os.getpid(), signal.SIGKILL)
    else:
        os._exit(0)
if __name__ == "__main__":
    torch.multiprocessing.spawn(work, (sys.argv[1],), nprocs=2)
"""
    with capturing.Directory() as directory:
        path = os.path.join(directory, "program.py")
        with open(path, "w") as file:
            file.write(program)
        capturing.launch(directory, [capturing.PYTHON, path, os.path.join(directory, "meeting")], ["-q"], status=1)
        ranks = [row for row in profiles(directory) if row["rank"] is not None]
        assert [(row["rank"], row["world_size"], row["complete"]) for row in ranks] == [(0, 2, 1), (1, 2, 0)], ranks
        counts = [capturing.query(row["path"], "SELECT count(*) AS n FROM steps")[0]["n"] for row in ranks]
        assert counts == [3, 4], counts
    print("ranks of torch.multiprocessing.spawn")


# Rank 1 does more that is cheap in each step, so that it can afford fewer recorded ones; rank 0 loads data in workers.
# PyTorch 2.13 may wait for itself, recorded or not: when the model goes it waits, holding Python's lock, for Gloo's
# threads, which need that lock to let go of the last reduction (of its backward's context). So they get time before.
TRAINING = """
import os, sys, time, torch
import torch.distributed as dist, torch.multiprocessing, without_dynamo
class Rows(torch.utils.data.Dataset):
    def __len__(self): return 480
    def __getitem__(self, number): return torch.full((8,), number / 480).add(0)
def work(rank, meeting):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    if meeting: dist.init_process_group("gloo", init_method="file://" + meeting, rank=rank, world_size=2)
    else: dist.init_process_group("gloo")
    model = torch.nn.Sequential(*[torch.nn.Linear(8, 8) for _ in range(12)])
    model = torch.nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    for rows in torch.utils.data.DataLoader(Rows(), batch_size=2, num_workers=1 - rank):
        optimizer.zero_grad()
        model(rows).square().mean().backward()
        for _ in range(rank * 400): rows.add(1)
        optimizer.step()
    time.sleep(0.2)
    dist.destroy_process_group()
if __name__ == "__main__":
    if len(sys.argv) > 1: torch.multiprocessing.spawn(work, (sys.argv[1],), nprocs=2)
    else: work(int(os.environ["RANK"]), None)
"""


def test_same_steps_on_all_ranks():
    """Also while the ranks find out what they can afford, which is not the same, and when they do not run in step."""
    with capturing.Directory() as directory:
        path = os.path.join(directory, "program.py")
        with open(path, "w") as file:
            file.write(TRAINING)
        for way, command in (
            ("torchrun", [capturing.PYTHON, *TORCHRUN, path]),
            ("torch.multiprocessing.spawn", [capturing.PYTHON, path, os.path.join(directory, "meeting")]),
        ):
            run = os.path.join(directory, way)
            capturing.launch(run, command, ["-q", "--overhead=1"])
            sql = """SELECT rank, group_concat(number) FILTER (WHERE ops_recorded) AS recorded, count(*) AS steps,
                max(sample_weight) AS weight FROM (SELECT * FROM steps ORDER BY id) AS steps
                JOIN profiles ON profiles.id = steps.profile_id WHERE rank IS NOT NULL
                GROUP BY steps.profile_id ORDER BY 1"""
            ranks = capturing.query(run, sql)
            assert [(row["rank"], row["steps"]) for row in ranks] == [(0, 240), (1, 240)], (way, ranks)
            assert ranks[0]["recorded"] == ranks[1]["recorded"], (way, ranks)
            count = len(ranks[0]["recorded"].split(","))
            assert 8 <= count < 240 and ranks[0]["weight"] > 1, (way, ranks)
            print("%s: the same %d of 240 steps on both ranks" % (way, count))


capturing.main(globals())
