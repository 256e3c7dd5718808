"""Profiler servers (tfprof-capture --attach HOST:PORT): doubles of each kind, and real ones where there are some.

Real servers are tried with TFPROF_TENSORFLOW_PYTHON and TFPROF_JAX_PYTHON, Pythons that have TensorFlow and JAX.
"""

import contextlib
import itertools
import os
import signal
import socket
import subprocess
import sys
import time

import capturing
import profiler_doubles as doubles
import test_attach
from test_attach import CAPTURE, ask, bounded, wait_for
import xplane_files as xplane

REFUSED = "nobody listens there"


def space(name, host=None):
    """An XSpace of a host with ten ops of that name."""
    events = [xplane.event(name + ":" + name, 1000 * i, 400, id=i + 1) for i in range(10)]
    return xplane.space(xplane.plane("/host:CPU", [xplane.line(7, "main", events)]), host=host)


def attach(folder, targets, *options, status=0, environment=None):
    """What it said on stderr; the run directory is folder/run."""
    words = ",".join(getattr(target, "address", target) for target in targets)
    command = [CAPTURE, "--attach", words, "-o", os.path.join(folder, "run"), *options]
    result = bounded.run(command, capturing.SECONDS, stdin=subprocess.DEVNULL, env=environment)
    assert result.returncode == status, (command, result.returncode, result.stderr)
    return result.stderr


def files(folder):
    run = os.path.join(folder, "run")
    return sorted(os.listdir(run)) if os.path.exists(run) else None


def ops(path):
    return {row["path"].split("/")[-1]: row["n"] for row in capturing.query(
        path, "SELECT path, (SELECT count(*) FROM ops WHERE profile_id = profiles.id) AS n FROM profiles")}


# ---- Doubles.


def test_good(folder):
    """What is asked for arrives, and what is sent becomes the files of one run."""
    good = [doubles.Double(lambda call, i=i: call.good(space("Op%d" % i, "host-%d" % i))) for i in range(2)]
    good.append(doubles.Double(lambda call: call.good(space("Six")), host="::1"))
    busy = doubles.Double(doubles.after(
        2, lambda call: call.refuse(13, "Another profiling session active."), lambda call: call.good(space("Busy"))))
    quiet = doubles.Double(doubles.after(
        2, lambda call: (call.begin(), call.data(doubles.framed(doubles.message(b"", True))), call.end()),
        lambda call: call.good(space("Quiet"))))
    both = [*good, busy, quiet, "grpc://" + good[0].address.upper()]
    proxies = {name: "http://127.0.0.1:1" for name in ("http_proxy", "ALL_PROXY", "HTTP_PROXY", "all_proxy")}
    error = attach(folder, both, "--for", "1500ms", "--host-tracer-level", "3", "--python-tracer-level=1",
                   "--device-tracer-level", "0", environment={**os.environ, **proxies})
    assert "recorded the profiles of 5 servers into" in error and "tfprof-capture: " not in error, error
    asked = good[0].calls[0].fields
    assert asked[1] == 1500 and asked[9] == 1 and asked[7].decode() == good[0].name.split(".server")[0], asked
    assert dict(xplane.fields(asked[4])) == {2: 3, 3: 0, 4: 1, 5: 1, 7: 1, 9: 1500}, asked
    assert 5 not in asked  # no directory for the server to write into
    assert [len(double.calls) for double in (*good, busy, quiet)] == [1, 1, 1, 3, 3]
    names = sorted(double.name for double in (*good, busy, quiet))
    assert files(folder) == names, files(folder)
    run = os.path.join(folder, "run")
    assert ops(run) == dict.fromkeys(names, 10), ops(run)
    with open(os.path.join(run, good[0].name), "rb") as file:
        assert file.read() == space("Op0", "host-0")
    hosts = capturing.query(run, "SELECT host FROM profiles WHERE host LIKE 'host-%' ORDER BY 1")
    assert [row["host"] for row in hosts] == ["host-0", "host-1"], hosts
    hosts = capturing.query(run, "SELECT count(*) AS n FROM profiles WHERE host = '%s'" % good[2].name.split(".")[0])
    assert hosts == [{"n": 1}], hosts
    assert "holds a recording already (5 files)" in attach(folder, good[:1], status=125)
    attach(folder, good[:1], "--force", "--for=10ms")
    assert files(folder) == [good[0].name]
    attach(folder, good[:1], "--add", "--for=10ms")
    assert files(folder) == [good[0].name.replace(".server", "-2.server"), good[0].name], files(folder)
    ask("--attach", good[0].address, "--add", status=2)
    print("servers that record")


def test_bad(folder):
    """Each that fails is named with what is wrong, and leaves nothing; the others are kept."""
    with socket.create_server(("127.0.0.1", 0)) as closed:
        nobody = "127.0.0.1:%d" % closed.getsockname()[1]
    half = space("Half")
    large = space("L" * 25000)
    framed, message = doubles.framed, doubles.message

    def after_head(call, *data, end=True, **more):
        call.begin(**more)
        for part in data:
            call.data(part)
        if end:
            call.end()

    def cut(call):
        after_head(call, framed(message(half))[:40], end=False)
        time.sleep(0.2)
        call.hang_up()

    def http1(connection):
        connection.recv(100)
        connection.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")

    def drip(call):  # goes on, and would for days
        after_head(call, framed(message(half))[:30], end=False)
        for byte in itertools.cycle(half):
            call.data(bytes([byte]))
            time.sleep(0.2)

    def steady(call):  # takes longer than any pause may
        call.begin()
        answer = framed(message(large))
        for at in range(0, len(answer), len(answer) // 40 + 1):
            call.data(answer[at:at + len(answer) // 40 + 1])
            time.sleep(0.3)
        call.end()

    wrong = {
        "takes the connection and says nothing": doubles.Double(speak=lambda one: one.recv(1) and time.sleep(60)),
        "does not speak HTTP/2": doubles.Double(speak=http1),
        "no profiler server": doubles.Double(speak=lambda one: one.sendall(bytes(range(256)) * 4)),
        "with status 404 of HTTP": doubles.Double(lambda call: after_head(call, b"", status="404", kind="text/html")),
        "status 200 of HTTP": doubles.Double(lambda call: after_head(call, b"<html>", kind="text/html")),
        "no profiler server of": doubles.Double(lambda call: call.refuse(12, "unknown service")),
        "with status 7 of gRPC: no, a b": doubles.Double(lambda call: call.refuse(7, "no,%20a%0ab")),
        "is compressed": doubles.Double(lambda call: after_head(call, framed(message(half), compressed=1))),
        "is no message of gRPC": doubles.Double(lambda call: after_head(call, b"\xff" * 40)),
        "larger than --max-size": doubles.Double(lambda call: after_head(call, framed(message(half), length=1 << 30))),
        "was cut after 30 bytes": doubles.Double(lambda call: after_head(call, framed(message(half))[:38])),
        "was cut after 32 bytes of the profile: did": doubles.Double(cut),
        "longer than the message": doubles.Double(lambda call: after_head(call, framed(b"\x42\xff\x7f" + half))),
        "more comes behind": doubles.Double(lambda call: after_head(call, framed(message(half)) + b"x")),
        "sent no profile": doubles.Double(lambda call: after_head(call, framed(b""))),
        "nothing happened there while it recorded, 2 times": doubles.Double(
            lambda call: after_head(call, framed(message(b"", True)))),
        "hung up after": doubles.Double(doubles.dies),
        "without an answer": doubles.Double(doubles.dies),
        "it did not answer within 10": doubles.Double(lambda call: time.sleep(600)),
        "its answer does not go on: nothing came for 10 s, after 30 bytes": doubles.Double(
            lambda call: after_head(call, framed(message(half))[:38], end=False)),
        "its answer is too slow": doubles.Double(drip),
    }
    # No trailers behind the message.
    wrong["was cut after %d bytes" % len(half)] = doubles.Double(
        lambda call: (call.begin(), call.data(framed(message(half)), flags=doubles.END_STREAM)))
    good = doubles.Double(lambda call: call.good(space("Good")))
    slow = doubles.Double(steady)
    error = attach(folder, [nobody, good, slow, "nowhere.invalid:6009", *wrong.values()], "--for=50ms", "--retries=1",
                   "--max-size", "1M", status=1)
    said = {line.split(": ")[1]: line for line in error.splitlines() if line.startswith("tfprof-capture: ")}
    for text, double in wrong.items():
        assert text in said[double.address], (text, said.get(double.address), error)
    assert REFUSED in said[nobody] and "no host of that name" in said["nowhere.invalid:6009"], error
    assert len(said) == len(wrong) + 2 and "recorded the profiles of 2 servers" in error, error
    names, run = sorted((good.name, slow.name)), os.path.join(folder, "run")
    assert files(folder) == names and ops(run) == dict.fromkeys(names, 10), files(folder)
    print("what is no server")


def test_none(folder):
    """Where nothing comes nothing is there afterwards; words that are no addresses; options that are for others."""
    with socket.create_server(("127.0.0.1", 0)) as closed:
        nobody = "127.0.0.1:%d" % closed.getsockname()[1]
    assert REFUSED in attach(folder, [nobody], "--for=1s", status=125) and files(folder) is None
    for word, said in (("::1:6009", "stands in brackets"), ("a:b", "its port must be"), ("a:0", "its port must be"),
                       ("a:65536", "its port must be"), ("a b:1", "not HOST:PORT"), ("[]:1", "not HOST:PORT"),
                       ("user@host:1", "not HOST:PORT"), ("a/../b:1", "not HOST:PORT"), ("h" * 400 + ":1", "longer")):
        assert said in attach(folder, [word], status=125), word
    for options in (["--steps", "5"], ["--for", "0"], ["--host-tracer-level", "4"], ["--retries", "-1"]):
        attach(folder, [nobody], *options, status=2)
    for options in (["--retries", "5", "--attach", "1"], ["--retries", "5", "--", "true"], ["--for=2s", "--", "true"]):
        ask(*options, status=2)
    assert files(folder) is None
    print("no servers")


def interrupt(folder, double, signals):
    """(exit status, stderr) of one that is ended by so many signals once it records."""
    command = [CAPTURE, "--attach", double.address, "--for", "10m", "-o", os.path.join(folder, "run")]
    with bounded.started(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as asking:
        wait_for(lambda: double.calls, "a request")
        for number in range(signals):
            asking.send_signal(signal.SIGINT)
            if number + 1 < signals:
                wait_for(lambda: len(double.calls) > number + 1, "a request to end")
        error = asking.communicate(timeout=capturing.SECONDS)[1]
        return asking.returncode, error


def test_ends(folder):
    """Ctrl-C tells the server to end, and keeps what it sends then; a second one waits for nothing."""
    double = doubles.Double(doubles.until_ended(space("Ended")))
    status, error = interrupt(folder, double, 1)
    assert "waiting for what was recorded until now" in error, error
    assert status == 0 and "recorded the profile of a server" in error and files(folder) == [double.name], error
    assert [call.is_end for call in double.calls] == [False, True]
    os.remove(os.path.join(folder, "run", double.name))
    deaf = doubles.Double(lambda call: time.sleep(600))
    status, error = interrupt(folder, deaf, 2)
    assert status == 125 and "it was given up" in error and files(folder) == [], (status, error, files(folder))
    print("ends")


def test_many(folder):
    """Sixty-five at once, with too few descriptors for them to begin with."""
    many = [doubles.Double(lambda call: call.good(space("Op"))) for _ in range(65)]
    words = ",".join(double.address for double in many)
    command = 'ulimit -Sn 80 && exec "$@"'
    result = bounded.run(["sh", "-c", command, "sh", CAPTURE, "--attach", words, "--for=1s", "-o", folder + "/run"],
                         capturing.SECONDS)
    assert result.returncode == 0 and "the profiles of 65 servers" in result.stderr, result.stderr
    assert "and 57 more" in result.stderr and len(ops(os.path.join(folder, "run"))) == 65, result.stderr
    print("many servers")


def test_mixed(folder):
    """A process that can be asked and a server, in one run, which both are part of."""
    double = doubles.Double(lambda call: call.good(space("Op", "elsewhere")))
    inner = os.path.join(folder, "dormant")
    os.makedirs(inner)
    with test_attach.dormant(inner) as ((process,), its_run, program):
        rows = ask("--list", "--attach", "run:" + its_run)[0].splitlines()
        assert len(rows) == 2 and rows[1].startswith(str(process)), rows
        assert "no program of that run" in ask("--list", "--attach", "run:" + folder, status=1)[1]
        assert "no program of that run" in ask("--attach", "run:" + folder, status=125)[1]
        ask("--list", "--attach", str(process), status=2)
        assert "in 2 optimizer steps" in ask("--attach", "run:" + its_run, "--steps", "2")[1]
        error = attach(folder, [str(process), double, "127.0.0.1:1"], "--for", "300ms", status=1)
        test_attach.end(program, inner)
    assert "optimizer step" in error and "recorded the profile of a server" in error and REFUSED in error, error
    assert error.count("look at it with") == 1, error
    run = os.path.join(folder, "run")
    (dump,) = capturing.dumps(run)
    with open(os.path.join(run, "other.xplane.pb"), "wb") as file:  # of nobody that was asked
        file.write(space("Other"))
    found = ops(run)
    assert set(found) == {os.path.basename(dump), double.name} and found[double.name] == 10, found
    print("a process and a server")


# ---- Real servers.

REAL = """
import os, sys, time
os.environ['TF_CPP_MIN_LOG_LEVEL'] = '3'
kind, port, stop = sys.argv[1], int(sys.argv[2]), sys.argv[3]
if kind == 'tensorflow':
    import tensorflow as tf
    tf.profiler.experimental.server.start(port)
    total, one = tf.Variable(1.0), tf.constant(1.0)
    @tf.function
    def step(x):
        total.assign_add(x)
        return total
    call = lambda: step(one)
else:
    import jax, jax.numpy as jnp
    server = jax.profiler.start_server(port)
    multiply, x = jax.jit(lambda x: x * 1.0001), jnp.ones(8)
    call = lambda: multiply(x)
call()
print('ready', flush=True)
while not os.path.exists(stop):
    call()
    time.sleep(0.001)
    if os.path.exists(stop + '.own'):
        os.remove(stop + '.own')
        jax.profiler.start_trace(stop + '.trace')
        end = time.time() + 0.5
        while time.time() < end:
            call()
            time.sleep(0.001)
        jax.profiler.stop_trace()
"""


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as one:
        return one.getsockname()[1]


def test_real(folder):
    pythons = {"tensorflow": [os.environ.get("TFPROF_TENSORFLOW_PYTHON")],
               "jax": [os.environ.get("TFPROF_JAX_PYTHON")] * 2}
    wanted = [(kind, python) for kind, found in pythons.items() for python in found if python]
    if not wanted:
        capturing.left_out.append("real servers: TFPROF_TENSORFLOW_PYTHON and TFPROF_JAX_PYTHON name no Python")
        return
    stop = os.path.join(folder, "stop")
    with contextlib.ExitStack() as programs:
        addresses = {}
        for kind, python in wanted:
            port = free_port()
            program = programs.enter_context(bounded.started(
                [python, "-c", REAL, kind, str(port), stop], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                text=True))
            addresses["localhost:%d" % port] = kind, program
        for _, program in addresses.values():
            assert program.stdout.readline() == "ready\n"
        try:
            error = attach(folder, [*addresses, "127.0.0.1:1"], "--for", "700ms", status=1)
            print(error)
            own = [address for address, (kind, _) in addresses.items() if kind == "jax"][:1]
            if own:  # while the program's own profiler is on, it waits for its end
                open(stop + ".own", "w").close()
                wait_for(lambda: not os.path.exists(stop + ".own"), "a trace of the program's own")
                attach(os.path.join(folder, "later"), own, "--for", "300ms", "--retries", "50")
        finally:
            open(stop, "w").close()
    run = os.path.join(folder, "run")
    rows = capturing.query(run, """
        SELECT framework, host, profiles.end_ns - profiles.start_ns AS ns, count(DISTINCT steps.id) AS steps
        FROM profiles
        LEFT JOIN steps ON steps.profile_id = profiles.id GROUP BY profiles.id""")
    assert sorted(row["framework"] for row in rows) == sorted(kind for kind, _ in addresses.values()), rows
    assert all(row["ns"] >= 600e6 and row["steps"] > 20 and row["host"] == socket.gethostname() for row in rows), rows
    print("real servers: %s" % rows)


def main():
    if "libcurl" in ask("--attach", "127.0.0.1:1", status=125)[1]:
        capturing.skip("tfprof-capture was built without libcurl, or there is none")
    with capturing.Directory() as directory:
        os.environ["XDG_RUNTIME_DIR"] = os.path.abspath(directory)
        os.chmod(directory, 0o700)
        for test in (test_good, test_bad, test_none, test_ends, test_many, test_mixed, test_real):
            if sys.argv[1:] and test.__name__ not in sys.argv[1:]:
                continue
            with capturing.Directory() as folder:
                test(os.path.abspath(folder))
    if capturing.left_out:
        print("left out: " + "; ".join(capturing.left_out))


if __name__ == "__main__":
    main()
