"""Windows with the frameworks themselves: the ops of steps are those that the framework's own profile has of the same
steps, losses are what they are without the recorder, and profilers of the program's own are whole.  Needs a Python with
TensorFlow (TFPROF_TENSORFLOW_PYTHON) or JAX (TFPROF_JAX_PYTHON).
"""

import os
import subprocess

import capturing
from capturing import query

JAX = """
import sys, jax, jax.numpy as jnp
def loss(ws, x):
    for w in ws: x = jnp.tanh(x @ w)
    return (x ** 2).mean()
@jax.jit
def step(ws, x): return jax.tree.map(lambda w, g: w - 1e-2 * g, ws, jax.grad(loss)(ws, x))
ws, x = [jax.random.normal(jax.random.PRNGKey(i), (32, 32)) * 0.1 for i in range(3)], jnp.ones((32, 32))
def train(steps):
    global ws
    for _ in range(steps):
        ws = step(ws, x)
        jax.block_until_ready(ws)
train(60)
with jax.profiler.trace(sys.argv[1]): train(10)
train(60)
print(float(ws[0].sum()).hex())
"""
AHEAD = """
import sys, jax, jax.numpy as jnp
@jax.jit
def step(w, x): return w - 1e-3 * jax.grad(lambda w: (jnp.tanh(jnp.tanh(x @ w) @ w) ** 2).mean())(w)
w, x = jnp.ones((64, 64)) * 0.1, jnp.ones((256, 64))
for number in range(40):  # nobody waits: calls return long before the work is done
    if len(sys.argv) > 1 and number == 10: w.block_until_ready(); jax.profiler.start_trace(sys.argv[1])
    if len(sys.argv) > 1 and number == 20: w.block_until_ready(); jax.profiler.stop_trace()
    w = step(w, x)
print(float(w.sum()).hex())
"""
INTERRUPTED = """
import signal, time, jax, jax.numpy as jnp
class Asked(BaseException): pass
def ask(*_): raise Asked
@jax.jit
def step(w, x): return w - 1e-3 * jax.grad(lambda w: (jnp.tanh(jnp.tanh(x @ w) @ w) ** 2).mean())(w)
w, x = jnp.ones((64, 64)) * 0.1, jnp.ones((256, 64))
step(w, x)
signal.signal(signal.SIGALRM, ask)
done = asked = 0
while done < 400:  # nobody waits but the recorder
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.03)
        for _ in range(100):
            w = step(w, x)
            done += 1
        signal.setitimer(signal.ITIMER_REAL, 0)
    except Asked:
        asked += 1
time.sleep(1)  # what could not be opened is tried again after some time
for _ in range(60):
    w = step(w, x)
    w.block_until_ready()
print(done >= 400, asked)
"""
TENSORFLOW = """
import os, sys; os.environ['TF_CPP_MIN_LOG_LEVEL'] = '3'
import tensorflow as tf
tf.random.set_seed(5)
w = [tf.Variable(tf.random.stateless_normal((32, 32), (i, 1)) * 0.1) for i in range(3)]
@tf.function
def step(x):
    with tf.GradientTape() as tape:
        y = x
        for one in w: y = tf.tanh(tf.matmul(y, one))
        loss = tf.reduce_mean(y ** 2)
    for one, gradient in zip(w, tape.gradient(loss, w)): one.assign_sub(1e-2 * gradient)
    return loss
def train(steps):
    for _ in range(steps): loss = step(tf.ones((32, 32)))
    return float(loss)
train(60)
with tf.profiler.experimental.Profile(sys.argv[1]): train(10)
print(train(60).hex())
"""


def counts(run, where):
    rows = query(run, "SELECT name, sum(sample_weight) AS n FROM ops WHERE category = 'op' AND %s GROUP BY 1" % where)
    return {row["name"]: row["n"] for row in rows}


def check(python, program, name):
    with capturing.Directory() as folder:
        own, run, other = (os.path.join(folder, one) for one in ("own", "run", "other"))
        plain = subprocess.run([python, "-c", program, other], stdout=subprocess.PIPE, check=True, text=True).stdout
        out, error = capturing.launch(run, [python, "-c", program, own], ["--overhead", "60"])
        assert out == plain, (out, plain)
        theirs = query(own, "SELECT name, count(*) AS n FROM ops WHERE category = 'op' GROUP BY 1")
        theirs = {row["name"]: row["n"] / 10 for row in theirs if row["n"] >= 10}  # of ten steps
        assert theirs, "the program's own profile is empty"
        steps = query(run, "SELECT sum(ops_recorded) AS held, count(*) AS n, sum(sample_weight) AS w FROM steps")[0]
        assert steps["n"] >= 130 and steps["held"] >= 6, steps
        held = "step_id IN (SELECT id FROM steps WHERE ops_recorded = 1 AND is_warmup = 0)"
        ours = {op: n / steps["w"] for op, n in counts(run, held).items()}
        wrong = {op: (n, ours.get(op)) for op, n in theirs.items() if abs(ours.get(op, 0) - n) > 0.15 * n}
        assert not wrong, wrong
        assert not query(run, "SELECT 1 FROM profiler_windows WHERE is_read = 0 OR error IS NOT NULL")
    print(name)


def check_ahead(python):
    """Of asked steps the work is there, whenever it was done."""
    with capturing.Directory() as folder:
        own, run = os.path.join(folder, "own"), os.path.join(folder, "run")
        plain = subprocess.run([python, "-c", AHEAD, own], stdout=subprocess.PIPE, check=True, text=True).stdout
        out, _ = capturing.launch(run, [python, "-c", AHEAD], ["--steps", "10-19"])
        assert out == plain, (out, plain)
        theirs, ours = ({row["name"]: row["n"] for row in query(one, """
            SELECT name, count(*) AS n FROM ops WHERE category = 'op' GROUP BY 1""")} for one in (own, run))
        assert ours == theirs and sum(ours.values()) >= 50, (theirs, ours)
        steps = query(run, """SELECT s.number, count(*) AS n FROM ops AS o JOIN steps AS s ON s.id = o.step_id
            WHERE o.hlo_module = 'jit_step' GROUP BY 1""")
        assert [row["number"] for row in steps] == list(range(10, 20)) and len({row["n"] for row in steps}) == 1, steps
    print("JAX that runs ahead")


def check_interrupted(python):
    """A handler of a signal raises at any moment, also while the recorder waits for JAX's work: windows go on."""
    with capturing.Directory() as folder:
        run = os.path.join(folder, "run")
        out, error = capturing.launch(run, [python, "-c", INTERRUPTED], ["--ops=all"])
        is_done, asked = out.split()
        assert is_done == "True" and int(asked) >= 2, (out, error)
        steps = query(run, """SELECT count(*) AS n, sum(ops_recorded) AS held, max(number) AS last,
            max(number) FILTER (WHERE ops_recorded = 1) AS last_held FROM steps""")[0]
        assert steps["n"] >= 460 and steps["held"] >= 50 and steps["last"] - steps["last_held"] <= 20, steps
        assert not query(run, "SELECT * FROM diagnostics WHERE reason = 'capture_hook_failed'")
        print("JAX, interrupted %s times: %d of %d steps have ops" % (asked, steps["held"], steps["n"]))


def main():
    found = False
    for variable, program, name in (("TFPROF_TENSORFLOW_PYTHON", TENSORFLOW, "TensorFlow"),
                                    ("TFPROF_JAX_PYTHON", JAX, "JAX")):
        python = os.environ.get(variable)
        if python:
            check(python, program, name)
            found = True
            if program is JAX:
                check_ahead(python)
                check_interrupted(python)
    if not found:
        capturing.skip("neither TFPROF_TENSORFLOW_PYTHON nor TFPROF_JAX_PYTHON is set")


main()
