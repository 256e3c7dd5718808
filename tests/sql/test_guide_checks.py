#!/usr/bin/env python3
"""test_guide_checks.py: the checks for what the guides of TensorFlow and PyTorch recommend speak of a file that has the
fault, with the numbers that were put into it, and say nothing of one that has not.

Files are XPlane (TensorFlow) or traces of torch.profiler (PyTorch) of ten steps; of the real recordings among the
shared traces it is said which of these checks speak.
"""

import glob
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from engines import run_tests
from made_traces import SHARED, copy, kernel, launch, opened, span
from xplane_files import Ref, Unsigned, event, line, plane, space

CHECKS = ("input_loading", "input_sequential", "input_unprefetched", "input_sharded_late", "input_python",
          "input_decoding", "input_cast_early", "input_outside_steps", "input_thread_pools", "launch_contention",
          "sixteen_bit_share", "memory_fragmentation", "small_batches", "bias_before_normalization",
          "unfused_elementwise", "eager_ops", "retracing", "long_compilation", "between_steps", "serial_device_copies",
          "exposed_copies")
STEPS, STEP_US = 10, 1000
A100 = {"gpu_device_name": "NVIDIA A100", "core_count": 108, "clock_rate": 1410000, "compute_cap_major": 8,
        "memory_size": 40 << 30, "memory_bandwidth": Unsigned(1555 * 10**9), "device_vendor": "Nvidia"}
DEVICE = {"deviceProperties": [{"id": i, "name": "NVIDIA A100", "totalGlobalMem": 40 << 30, "computeMajor": 8,
                                "computeMinor": 0, "numSms": 108} for i in range(2)]}


def answered(connection):
    """{check: (value, saves_ns, message)}; every evidence is there."""
    rows = connection.values("SELECT check_name, value, saves_ns, message, evidence, suggestion, threshold FROM advise "
                             f"WHERE check_name IN {CHECKS} OR message GLOB '*could not be answered*'")
    for name, value, saves, message, evidence, suggestion, threshold in rows:
        assert 0 < len(connection.values(evidence)) <= 50, (name, evidence)
        assert suggestion and value is not None and threshold is not None and message, name
        assert saves is None or saves >= 0, (name, saves)
    return {row[0]: row[1:4] for row in rows}


def said_of(engine, data):
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "made.xplane.pb")
        with open(path, "wb") as file:
            file.write(data)
        connection = engine()
        connection.values(f"SELECT tfprof_open('{path}')")
        return answered(connection)


def us(name, start, duration, **stats):
    return event(name, round(start * 1_000_000), round(duration * 1_000_000), **stats)


def run(of_step=lambda _number, _begin: [], other=(), device=(), devices=1, gap=0, length=STEP_US):
    """A file: of_step(number, begin in µs) are events of the main thread; other: further lines; device: of stream 1."""
    main = []
    for number in range(STEPS):
        begin = number * (STEP_US + gap)
        main += [us("train", begin, length, step_num=number, _r=1), us("FunctionRun", begin + 1, length - 2)]
        main += of_step(number, begin)
    planes = [plane("/host:CPU", [line(1, "main", main, 0), *other])]
    if device:
        planes += [plane(f"/device:GPU:{i}", [line(1, "Stream #1(Compute)", list(device), 0)], A100)
                   for i in range(devices)]
    return space(*planes)


def waiting(names, wait=300, parallelism=None, **stats):
    """Steps that wait for so many µs; iterators one inside the other, the innermost first 10 µs shorter than around it.
    names: (long name, own time in µs)."""
    def of_step(_number, begin):
        events = [us("IteratorGetNext:IteratorGetNext", begin + 10, wait)]
        for depth, name in enumerate(names):
            own = {"parallelism": parallelism} if parallelism and depth == len(names) - 1 else {}
            events.append(us(name, begin + 11 + depth, wait - 2 - 2 * depth, id=depth + 5, parent_id=depth + 4, **own,
                             **stats))
        return events + [us("work:MatMul", begin + 400, 500)]
    return of_step


ROOT = "Iterator::Root"


def near(found, wanted):
    return abs(found - wanted) <= 1e-6 * abs(wanted)


# ---- input ----


def test_input_of_a_good_pipeline(engine):
    found = said_of(engine, run(waiting([ROOT, ROOT + "::Prefetch"], wait=40)))
    assert found == {}, found


def test_input_sequential(engine):
    prefetched = [ROOT, ROOT + "::Prefetch", ROOT + "::Prefetch::Map"]
    found = said_of(engine, run(waiting(prefetched)))
    assert set(found) == {"input_loading", "input_sequential"}, found
    assert near(found["input_loading"][0], 0.3) and found["input_loading"][1] == STEPS * 300_000, found
    value, saves, message = found["input_sequential"]
    assert near(value, 0.294) and saves == 0.75 * STEPS * 294_000, found  # Map's own time
    assert message.startswith("Map prepares one element after the other: 294 µs a step, 99 %"), message
    parallel = [ROOT, ROOT + "::Prefetch", ROOT + "::Prefetch::ParallelMapV2"]
    assert set(said_of(engine, run(waiting(parallel, parallelism=8)))) == {"input_loading"}
    assert "input_sequential" in said_of(engine, run(waiting(parallel, parallelism=1)))


def test_input_unprefetched(engine):
    found = said_of(engine, run(waiting([ROOT, "Iterator::Root::MaxIntraOpParallelism::BatchV2"])))
    value, saves, message = found["input_unprefetched"]
    assert near(value, 0.3) and saves == STEPS * 300_000 and "ends in BatchV2" in message, found
    found = said_of(engine, run(waiting([ROOT, "Iterator::Root::MaxIntraOpParallelism::BatchV2"], wait=800)))
    assert found["input_unprefetched"][1] == STEPS * 200_000, found  # what is left to hide behind
    for name in ("Prefetch", "MapAndBatch", "ParallelMapV2"):
        assert "input_unprefetched" not in said_of(engine, run(waiting([ROOT, f"{ROOT}::{name}"]))), name


def test_input_sharded_late(engine):
    def of_step(asked, order="Shard::ParallelMapV2"):
        def events(_number, begin):
            long = ROOT + "::Prefetch::" + order
            return waiting([ROOT, ROOT + "::Prefetch"])(0, begin) + \
                [us(long.rsplit("::", 1)[0], begin + 20, 260, id=20, parent_id=6)] + \
                [us(long, begin + 21 + 60 * i, 50, id=21, parent_id=20) for i in range(asked)]
        return events

    value, saves, message = said_of(engine, run(of_step(4)))["input_sharded_late"]
    assert near(value, 0.15) and saves == STEPS * 150_000, (value, saves)
    assert "prepares 40 elements and keeps 10 of them" in message, message
    assert "input_sharded_late" not in said_of(engine, run(of_step(1)))
    assert "input_sharded_late" not in said_of(engine, run(of_step(4, "ParallelMapV2::Shard")))


def test_input_python(engine):
    def pool(kind, count):
        return [line(7, "tf_data_private_threadpool/7",
                     [us(f"map/{kind}:{kind}", step * STEP_US + 30 + 100 * i, 80)
                      for step in range(STEPS) for i in range(count)], 0)]

    pipeline = waiting([ROOT, ROOT + "::Prefetch", ROOT + "::Prefetch::Map"])
    found = said_of(engine, run(pipeline, pool("EagerPyFunc", 2)))
    assert set(found) == {"input_loading", "input_python"}, found  # more calls at once would not help
    assert near(found["input_python"][0], 0.16) and found["input_python"][1] == STEPS * 160_000, found
    assert "2 calls" in found["input_python"][2], found
    assert "input_python" not in said_of(engine, run(pipeline, pool("ParseExample", 2)))
    assert said_of(engine, run(waiting([ROOT, ROOT + "::Prefetch"], wait=40), pool("PyFunc", 2))) == {}


def test_input_decoding(engine):
    def pool(name):
        return [line(7, "tf_data_private_threadpool/7",
                     [us(name, step * STEP_US + 30, 250) for step in range(STEPS)], 0)]

    pipeline = waiting([ROOT, ROOT + "::Prefetch", ROOT + "::Prefetch::ParallelMapV2"], parallelism=8)
    value, saves, message = said_of(engine, run(pipeline, pool("DecodeJpeg:DecodeJpeg")))["input_decoding"]
    assert near(value, 0.25) and saves == STEPS * 250_000 and "DecodeJpeg" in message, (value, saves, message)
    assert "input_decoding" not in said_of(engine, run(pipeline, pool("DecodeRaw:DecodeRaw")))

    def torch(name, wait=400_000):
        events = []
        for step in range(STEPS):
            begin = step * 1_000_000
            events += [span("user_annotation", f"ProfilerStep#{step}", begin, 1_000_000),
                       span("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
                            begin + 1000, wait),
                       span("cpu_op", name, begin + 2000, 300_000),
                       span("cpu_op", "aten::mm", begin + 500_000, 400_000)]
        return answered(opened(engine, events))

    value, saves, message = torch("image::decode_jpeg")["input_decoding"]
    assert near(value, 0.3) and saves == STEPS * 300_000, (value, saves, message)
    assert "input_decoding" not in torch("aten::copy_")
    assert torch("image::decode_jpeg", wait=20_000) == {}


def test_input_cast_early(engine):
    def pool(first, second):
        return [line(7, "tf_data_private_threadpool/7",
                     [each for step in range(STEPS) for each in (
                         us("ExecutorState::Process", step * STEP_US + 20, 270),
                         us(first, step * STEP_US + 30, 20), us(second, step * STEP_US + 60, 100))], 0)]

    pipeline = waiting([ROOT, ROOT + "::Prefetch", ROOT + "::Prefetch::ParallelMapV2"], parallelism=8)
    value, saves, message = said_of(engine, run(pipeline, pool("Cast:Cast", "flip/ReverseV2:ReverseV2"))) \
        ["input_cast_early"]
    assert near(value, 0.1) and saves == STEPS * 75_000 and "ReverseV2" in message, (value, saves, message)
    assert "input_cast_early" not in said_of(engine, run(pipeline, pool("flip/ReverseV2:ReverseV2", "Cast:Cast")))

    def torch(dtype):
        events = []
        for step in range(STEPS):
            begin = step * 1_000_000
            events += [span("user_annotation", f"ProfilerStep#{step}", begin, 1_000_000),
                       span("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
                            begin + 1000, 400_000),
                       span("cpu_op", "aten::_to_copy", begin + 2000, 10_000, **{"Input type": ["unsigned char", ""]}),
                       span("cpu_op", "aten::flip", begin + 50_000, 80_000, **{"Input type": [dtype, "ScalarList"]}),
                       span("cpu_op", "aten::mm", begin + 500_000, 400_000)]
        return answered(opened(engine, events))

    value, saves, message = torch("float")["input_cast_early"]
    assert near(value, 0.08) and saves == STEPS * 60_000 and "aten::flip" in message, (value, saves, message)
    assert "input_cast_early" not in torch("unsigned char")


def test_input_outside_steps(engine):
    def trace(place):
        events = []
        for step in range(STEPS):
            begin = step * 1_000_000
            events += [span("user_annotation", f"ProfilerStep#{step}", begin, 800_000),
                       span("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
                            begin + place, 30_000), span("cpu_op", "aten::mm", begin + 1000, 700_000)]
        return answered(opened(engine, events))

    value, saves, message = trace(810_000).get("input_outside_steps", (0, 0, ""))
    assert (value, saves) == (0, 0), (value, saves)  # 3 %
    found = trace(710_000)
    assert "input_outside_steps" not in found, found

    def late(_number, begin):
        return [us(ROOT, begin + 1010, 200, id=5)]

    found = said_of(engine, run(lambda number, begin: [us("work:MatMul", begin + 10, 900), *late(number, begin)],
                                gap=250))
    value, saves, message = found["input_outside_steps"]
    assert near(value, 9 * 200 / (9 * 200 + STEPS * STEP_US)) and saves == 9 * 200_000, (value, saves)
    assert "9 times" in message, message


def test_input_thread_pools(engine):
    def pool(name):
        return [line(7, name, [us("Iterator::Root::Prefetch::ParallelMapV2", step * STEP_US + 20, 200, id=9,
                                  parent_id=8)
                               for step in range(STEPS)] +
                     [us("Iterator::Root::Prefetch::ParallelMapV2::TFRecord", step * STEP_US + 30, 150, id=10,
                         parent_id=9) for step in range(STEPS)], 0)]

    pipeline = waiting([ROOT, ROOT + "::Prefetch"])
    value, saves, message = said_of(engine, run(pipeline, pool("tf_Compute/7")))["input_thread_pools"]
    assert near(value, 0.15) and saves == STEPS * 75_000 and "on 1 threads" in message, (value, saves, message)
    assert "input_thread_pools" not in said_of(engine, run(pipeline, pool("tf_data_private_threadpool/7")))


# ---- the step on the host ----


def test_eager_ops(engine):
    def of_step(name):
        def events(_number, begin):
            return [us("EagerExecute", begin + 100, 300), us(f"EagerLocalExecute: {name}", begin + 110, 280),
                    us("EagerKernelExecute", begin + 120, 100), us("x:MatMul", begin + 500, 400)]
        return events

    value, saves, message = said_of(engine, run(of_step("MatMul")))["eager_ops"]
    assert near(value, 0.28) and saves == STEPS * 180_000 and "most in MatMul" in message, (value, saves, message)
    for name in ("__inference_step_67", "IteratorGetNext"):
        assert "eager_ops" not in said_of(engine, run(of_step(name))), name

    # What Keras calls around its own function is not the program's; what a callback calls is.
    def fit(*own):
        def events(_number, begin):
            names = ["__inference_multi_step_on_iterator_82", "OptionalHasValue", "_EagerConst", *own]
            return [us("EagerExecute", begin + 5, 900)] + [
                us(f"EagerLocalExecute: {name}", begin + 10 + 200 * i, 190) for i, name in enumerate(names)]
        return events

    assert "eager_ops" not in said_of(engine, run(fit()))
    value, _, message = said_of(engine, run(fit("MatMul")))["eager_ops"]
    assert near(value, 0.19) and "most in MatMul" in message and "Optional" not in message, (value, message)


def test_retracing(engine):
    def of_step(*steps):
        def events(number, begin):
            return [us("step", begin + 90, 320), us("EagerExecute", begin + 95, 310),
                    us("tf.function-graph_building", begin + 100, 300)] * (number in steps) + \
                [us("x:MatMul", begin + 500, 400)]
        return events

    value, saves, message = said_of(engine, run(of_step(0, 3, 4)))["retracing"]
    assert near(value, 0.09) and saves == 2 * 300_000, (value, saves)
    assert "in 3 of 10 steps" in message, message
    assert "retracing" not in said_of(engine, run(of_step(0)))

    def torch(*steps):
        events = []
        for step in range(STEPS):
            begin = step * 1_000_000
            events += [span("user_annotation", f"ProfilerStep#{step}", begin, 1_000_000),
                       span("cpu_op", "aten::mm", begin + 500_000, 400_000)]
            if step in steps:
                events.append(span("cpu_op", "CompiledFxGraph.compile (dynamo_timed)", begin + 1000, 200_000))
        return answered(opened(engine, events))

    found = torch(2, 5)
    assert near(found["retracing"][0], 0.04) and found["retracing"][1] == 200_000, found
    assert torch(2) == {} and torch() == {}


def test_long_compilation(engine):
    """One that takes most of the run, in whichever step; of a second and more, and once it is little no more."""
    def torch(dur, steps=STEPS):
        length = 100_000_000
        events = [span("user_annotation", f"ProfilerStep#{step}", step * length, length) for step in range(steps)]
        events += [span("cpu_op", "aten::mm", step * length, 400_000) for step in range(1, steps)]
        events.append(span("cpu_op", "CompiledFxGraph.compile (dynamo_timed)", 1000, dur * 1000))
        return answered(opened(engine, events))

    found = torch(1_200_000, 20)["long_compilation"]
    assert near(found[0], 0.6) and found[1] == 1_200_000_000 and "60 % of the run" in found[2], found
    assert "long_compilation" not in torch(900_000, 10) and "long_compilation" not in torch(1_200_000, 30)


def test_between_steps(engine):
    def work(_number, begin):
        return [us("x:MatMul", begin + 10, 900)]

    value, saves, message = said_of(engine, run(work, gap=250))["between_steps"]
    assert near(value, 9 * 250 / (9 * 250 + 10 * 1000)) and saves == 9 * 250_000, (value, saves)
    assert "18 % of the time passes between the steps" in message and "at most 250 µs" in message, message
    assert said_of(engine, run(work, gap=40)) == {}
    # Input there has a check of its own.
    found = said_of(engine, run(lambda number, begin: work(number, begin) + [us(ROOT, begin + 1005, 240, id=5)],
                                gap=250))
    assert set(found) == {"input_outside_steps"}, found

    def marks(mark, launched=4, op="aten::mm"):
        """An iteration of 2000 µs, of which so many are marked as the step; kernels of 90 µs run for half of it."""
        events = []
        for step in range(STEPS):
            begin = step * 2_000_000
            events.append(span("user_annotation", f"ProfilerStep#{step}", begin, mark * 1000))
            for i in range(10):
                number = 1 + 10 * step + i
                at = begin + (20 + i * mark / 10 if i < launched else 400 + i * 100) * 1000
                events += [span("cpu_op", op, at, 10_000), launch(at + 1000, 5000, number),
                           kernel(begin + 500_000 + i * 90_000, 90_000, correlation=number)]
        return opened(engine, events)

    def rate(connection):
        return connection.values("SELECT round(steps_per_second, 3), between_ns FROM step_summary") + connection.values(
            "SELECT text FROM run_summary WHERE title = 'steps'")

    # Devices are busy for 45 % of what passes, and for four times the marks.
    value, saves, message = answered(marks(200))["between_steps"]
    assert near(value, 9 * 1.8 / (9 * 1.8 + 10 * 0.2)), value
    assert "1.80 ms for each step of 200 µs" in message and saves < 9 * 2_000_000 - 9 * 900_000 + 200_000, saves
    text = "10, median 200 µs, 95 % within 200 µs, 500 a second, 1.80 ms between them"
    assert rate(marks(200)) == [(500, 1_800_000), (text,)], rate(marks(200))
    assert "between_steps" not in answered(marks(1990)) and rate(marks(1990))[0][0] == 500
    # What runs there is told: two marks that leave out nearly all ops.
    connection = opened(engine, [event for step in range(STEPS) for event in (
        span("user_annotation", f"ProfilerStep#{step}", step * 2_000_000, 200_000),
        span("cpu_op", "aten::mm", step * 2_000_000 + 1000, 100_000),
        span("cpu_op", "aten::add", step * 2_000_000 + 300_000, 1_500_000))])
    message, suggestion, saves = connection.values(
        "SELECT message, suggestion, saves_ns FROM advise WHERE check_name = 'between_steps'")[0]
    assert "1.50 ms of it in aten::add" in message and suggestion.startswith("Mark the whole iteration"), message
    assert saves == 9 * 300_000, saves


def test_bias_before_normalization(engine):
    def of_step(*types):
        return lambda _number, begin: [us("ExecutorState::Process", begin + 90, 800)] + [
            us(f"layer/{kind}:{kind}", begin + 100 + 50 * i, 40) for i, kind in enumerate(types)]

    found = said_of(engine, run(of_step("Conv2D", "BiasAdd", "FusedBatchNormV3", "BiasAdd", "Relu", "MatMul")))
    value, saves, message = found["bias_before_normalization"]
    assert value == 1 and saves == STEPS * 40_000 and "layer/BiasAdd" in message, found
    for types in (("Conv2D", "FusedBatchNormV3"), ("BiasAdd", "Relu", "FusedBatchNormV3")):
        assert said_of(engine, run(of_step(*types))) == {}, types

    def torch(bias, between=(), is_added_apart=True):
        events = []
        for step in range(STEPS):
            begin = step * 1_000_000
            events += [span("user_annotation", f"ProfilerStep#{step}", begin, 1_000_000),
                       span("cpu_op", "aten::conv2d", begin + 100_000, 200_000,
                            **{"Input Dims": [[8, 3, 32, 32], [6, 3, 3, 3], bias, [], [], [], []]}),
                       span("cpu_op", "aten::_convolution", begin + 110_000, 180_000)]
            events += [span("cpu_op", "aten::add_", begin + 250_000, 30_000)] * is_added_apart
            events += [span("cpu_op", name, begin + 350_000, 20_000) for name in between]
            events += [span("cpu_op", "aten::batch_norm", begin + 400_000, 400_000)]
        return answered(opened(engine, events)).get("bias_before_normalization")

    value, saves, message = torch([6])
    assert value == 1 and saves == STEPS * 30_000, (value, saves)
    assert message.endswith("1 layer adds a bias that the batch normalisation behind it cancels: aten::conv2d"), message
    value, saves, message = torch([6], is_added_apart=False)
    assert value == 1 and saves is None, (saves, message)
    assert torch([]) is None and torch([6], ["aten::relu"]) is None


# ---- devices ----


def gpu_steps(name, of_step, **stats):
    """Kernels of a GPU: (start, duration) in µs of each step, launched by calls of the main thread."""
    calls, kernels = [], []
    for step in range(STEPS):
        for start, duration in of_step:
            number = len(calls) + 1
            calls.append(us("cuLaunchKernel", step * STEP_US + 2 + len(calls) % 50 / 50, 0.01, correlation_id=number))
            kernels.append(us(name, step * STEP_US + start, duration, correlation_id=number, **stats))
    return calls, kernels


def details(blocks):
    return {"kernel_details": Ref(f"regs:32 static_shared:0 dynamic_shared:0 grid:{blocks},1,1 block:256,1,1 "
                                  "occ_pct:50")}


def test_small_batches(engine):
    def file(blocks):
        calls, kernels = gpu_steps("volta_fp16_gemm_h884", [(10, 900)], **details(blocks))
        return run(lambda _number, begin: [each for each in calls if begin <= each[1] / 1e6 < begin + STEP_US],
                   device=kernels)

    value, saves, message = said_of(engine, file(27))["small_batches"]
    assert value == 1 and near(saves, STEPS * 900_000 * 0.75), (value, saves)
    assert "fewer blocks than its 108 multiprocessors: 75 % of it" in message, message
    assert said_of(engine, file(216)) == {}


def test_unfused_elementwise(engine):
    def trace(*names):
        events = []
        for step in range(STEPS):
            begin = step * 1_000_000
            events.append(span("user_annotation", f"ProfilerStep#{step}", begin, 1_000_000))
            for i, name in enumerate(names):
                at = step * 10 + i + 1
                events += [launch(begin + 1000 + 10 * i, 5, at),
                           kernel(begin + 10_000 + 240_000 * i, 240_000, correlation=at, name=name, grid=[1000, 1, 1],
                                  block=[256, 1, 1])]
        return answered(opened(engine, events, **DEVICE)).get("unfused_elementwise")

    wise = "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<c10::Half>>"
    value, saves, message = trace("hgemm", wise, wise, "hgemm")
    assert near(value, 0.24) and saves == STEPS * 120_000, (value, saves)
    assert "24 % of the step time, 240 µs a step" in message, message
    assert trace(wise, "hgemm", wise, "hgemm") is None and trace("hgemm", "hgemm") is None


def test_sixteen_bit_share(engine):
    def connected(name, **device):
        events = []
        for step in range(STEPS):
            begin, at = step * 1_000_000, step + 1
            events += [span("user_annotation", f"ProfilerStep#{step}", begin, 1_000_000), launch(begin + 1000, 5, at),
                       kernel(begin + 10_000, 800_000, correlation=at, name=name, grid=[1000, 1, 1],
                              block=[256, 1, 1])]
        return opened(engine, events, deviceProperties=[{**DEVICE["deviceProperties"][0], **device}])

    def trace(name):
        return answered(connected(name)).get("sixteen_bit_share")

    value, saves, message = trace("void layer_norm<float>")
    assert value == 0 and saves == STEPS * 400_000, (value, saves)
    assert "Nothing of the kernel time of GPU 0 is computed in 16 bits, 100 % in 32" in message, message
    assert trace("void layer_norm<c10::Half>") is None and trace("void unknown") is None
    # What a device can do is not asked of an older one.
    for capability, wanted, other in (((8, 0), "dtype=torch.bfloat16", "no bfloat16"),
                                      ((7, 0), "dtype=torch.float16", "dtype=torch.bfloat16")):
        old = connected("void layer_norm<float>", computeMajor=capability[0], computeMinor=capability[1])
        ((suggestion,),) = old.values("SELECT suggestion FROM temp.sixteen_bit_share")
        assert wanted in suggestion and other not in suggestion, (capability, suggestion)


def test_copies_of_devices(engine):
    """The devices get their input one after the other, and nothing is computed meanwhile."""
    def trace(second, kernel_at=500_000):
        events = []
        for step in range(STEPS):
            begin = step * 1_000_000
            events.append(span("user_annotation", f"ProfilerStep#{step}", begin, 1_000_000))
            for device, start in ((0, 100_000), (1, second)):
                at = 10 * step + device + 1
                call = copy(begin + start, 100_000, 7, at, "Memcpy HtoD (Pinned -> Device)", bytes=1 << 20)
                call["pid"] = call["args"]["device"] = device
                events += [launch(begin + 1000 + 50 * device, 5, at, "cudaMemcpyAsync"), call]
            events += [launch(begin + 2000, 5, 10 * step + 5),
                       kernel(begin + kernel_at, 400_000, correlation=10 * step + 5, name="hgemm")]
        return answered(opened(engine, events, **DEVICE))

    found = trace(200_000)
    value, saves, message = found["serial_device_copies"]
    assert near(value, 0.1) and saves == STEPS * 100_000, found
    assert message == "2 devices are fed one after the other: copies to them take 200 µs a step, side by side 100 µs"
    assert near(found["exposed_copies"][0], 0.2) and found["exposed_copies"][1] == STEPS * 200_000, found
    found = trace(100_000)
    assert "serial_device_copies" not in found and near(found["exposed_copies"][0], 0.1), found
    found = trace(100_000, 50_000)
    assert "exposed_copies" not in found, found


def test_launch_contention(engine):
    def file(thread="tf_Compute/7", launching=100):
        calls, kernels = gpu_steps("hgemm", [(500, 400)], **details(216))

        def of_step(number, begin):
            return waiting([ROOT, ROOT + "::Prefetch"], wait=40)(number, begin) + \
                [each for each in calls if begin <= each[1] / 1e6 < begin + STEP_US]
        executor = [us("ExecutorState::Process", step * STEP_US + 100, launching, _ct=2, _c=step + 1)
                    for step in range(STEPS)]
        executor += [us("cuLaunchKernel", step * STEP_US + 101, launching - 2, correlation_id=1000 + step)
                     for step in range(STEPS)]
        starting = [us("start", step * STEP_US + 3, 1, _pt=2, _p=step + 1) for step in range(STEPS)]
        return run(lambda number, begin: of_step(number, begin) + [starting[number]],
                   [line(7, thread, executor, 0)], kernels)

    value, saves, message = said_of(engine, file())["launch_contention"]
    assert abs(value - 0.1) < 1e-3 and abs(saves - STEPS * 70_000) < 1000, (value, saves)
    assert "10.0 % of the step time" in message, message
    assert "launch_contention" not in said_of(engine, file("tf_gpu_private_0/7"))
    assert "launch_contention" not in said_of(engine, file(launching=20))


def test_memory_fragmentation(engine):
    def file(fragmentation, free=8 << 30):
        def of_step(number, begin):
            return [us("MemoryAllocation", begin + 10, 0, allocator_name=Ref("GPU_0_bfc"), bytes_allocated=24 << 30,
                       bytes_available=free, bytes_reserved=0, peak_bytes_in_use=24 << 30, requested_bytes=4000,
                       allocation_bytes=4096, addr=Unsigned(64 * (number + 1)), fragmentation=fragmentation),
                    us("x:MatMul", begin + 20, 900)]
        calls, kernels = gpu_steps("hgemm", [(500, 400)], **details(216))
        return run(lambda number, begin: of_step(number, begin) +
                   [each for each in calls if begin <= each[1] / 1e6 < begin + STEP_US], device=kernels)

    value, saves, message = said_of(engine, file(0.75))["memory_fragmentation"]
    assert near(value, 6 / 32) and saves is None and "6.00 GiB of" in message, (value, message)
    for fragmentation, free in ((0.1, 8 << 30), (0.75, 1 << 30)):
        assert "memory_fragmentation" not in said_of(engine, file(fragmentation, free)), (fragmentation, free)


# ---- real recordings ----


def test_real_recordings_once(engine):
    """What the tools' own pages say of them, and nothing else."""
    wanted = {
        "gpu_train_a": {"input_loading", "input_sequential"},
        "tf_loop_slow_input_a": {"input_loading", "input_python"},
        "tf_keras_slow_input_a": {"input_loading", "input_python"},
        "tf_custom_loop_a": {"retracing"},
        "jax_a": set(),
    }
    seen = 0
    for name, checks in wanted.items():
        for path in glob.glob(os.path.join(SHARED, "traces", "xplane", name + ".xplane.pb")):
            connection = engine()
            connection.values(f"SELECT tfprof_open('{path}')")
            found = answered(connection)
            assert set(found) == checks, (name, found)
            seen += 1
    print(f"{seen} recordings")


if __name__ == "__main__":
    run_tests(sys.modules[__name__])
