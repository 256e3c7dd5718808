#!/usr/bin/env python3
"""test_accelerators.py: devices as traces have them: what is their work, and what exchanges data between them."""

import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from engines import run_tests
from made_traces import copy, kernel, launch, opened, span

NCCL = {"backend": "nccl", "rank": 0, "world_size": 8}


def asking(start, dur, number, **args):
    return span("cpu_op", "record_param_comms", start, dur, **{
        "External id": number, "Collective name": "_allgather_base", "In msg nelems": 1_000_000,
        "Out msg nelems": 8_000_000, "Group size": 8, "dtype": "BFloat16", "Process Group Name": "0", **args})


def steps(count, length, of_step):
    events = []
    for number in range(count):
        begin = number * length
        events += [span("user_annotation", f"ProfilerStep#{number}", begin, length - 10_000), *of_step(number, begin)]
    return events


# ---- collectives ----

def test_collectives_by_copies(engine):
    """A collective without a kernel of its own is the copies under the op that asked for it, whichever op of it called
    them; copies of others stay copies."""
    def of_step(number, begin):
        first = number * 20
        events = [span("user_annotation", "FSDP::all_gather", begin + 10_000, 40_000, **{"External id": first + 1}),
                  asking(begin + 20_000, 20_000, first + 1),
                  span("cpu_op", "aten::copy_", begin + 30_000, 8000, **{"External id": first + 2}),
                  span("cpu_op", "aten::to", begin + 60_000, 8000, **{"External id": first + 9}),
                  launch(begin + 61_000, 2000, first + 9, "cudaMemcpyAsync"),
                  copy(begin + 900_000, 50_000, 20, first + 9, bytes=1000)]
        for peer in range(7):
            at = begin + (21_000 if peer < 4 else 31_000) + 1000 * (peer % 4)
            events += [launch(at, 900, first + peer + 1, "cudaMemcpyAsync"),
                       copy(begin + 100_000 + 100_000 * peer, 100_000, 20, first + peer + 1,
                            "Memcpy PtoP (Device -> Device)", bytes=2_000_000)]
        return [*events, launch(begin + 70_000, 1000, first + 10), kernel(begin + 1_000_000, 300_000, 7, first + 10)]

    connection = opened(engine, steps(3, 2_000_000, of_step), distributedInfo=NCCL)
    rows = connection.values("SELECT name, carried_by, kernel_id, bytes, dur_ns, bus_bytes_per_second FROM collectives")
    assert rows == [("_allgather_base", "copies", None, 16_000_000, 700_000, 20e9)] * 3, rows
    rows = connection.values("SELECT count(*), count(collective_id), count(DISTINCT collective_id) FROM transfers")
    assert rows == [(24, 21, 3)], rows
    rows = connection.values("SELECT kernel_ns, copy_ns, communication_ns FROM step_breakdown")
    assert rows == [(300_000, 50_000, 700_000)] * 3, rows
    ((computing, alone, count, size),) = connection.values(
        "SELECT computation_ns, communication_ns, collective_count, bytes FROM tb_distributed_summary")
    assert (computing, alone, count, size) == (300_000, 700_000, 3, 48_000_000), (computing, alone, count, size)
    rows = connection.values("SELECT mean_ns, round(bus_bytes_per_second) FROM collective_summary")
    assert rows == [(700_000, 20e9)], rows
    rows = connection.values("SELECT kind, count(*) FROM device_activities GROUP BY 1 ORDER BY 1")
    assert rows == [("communication", 21), ("compute", 3), ("memcpy", 3)], rows


def test_collectives_whose_kernels_are_lost(engine):
    """The op that asks a device says nothing of how long the exchange takes, which is told; one of the host is the
    exchange."""
    lost = "SELECT severity, substr(message, 1, 21) FROM diagnostics WHERE reason = 'lost_collectives'"
    summary = "SELECT text FROM run_summary WHERE title = 'communication'"
    def of_step(number, begin):
        return [asking(begin + 20_000, 20_000, number + 1), launch(begin + 21_000, 1000, number + 1),
                span("cpu_op", "aten::mm", begin + 50_000, 5000), launch(begin + 51_000, 1000, number + 50),
                kernel(begin + 60_000, 90_000, 7, number + 50)]

    connection = opened(engine, steps(3, 1_000_000, of_step), distributedInfo=NCCL)
    rows = connection.values("SELECT carried_by, dur_ns, bus_bytes_per_second FROM collectives")
    assert rows == [(None, 20_000, None)] * 3, rows
    rows = connection.values("SELECT count, total_bytes, sum_ns, mean_ns, bytes_per_second, bus_bytes_per_second "
                             "FROM collective_summary")
    assert rows == [(3, 48_000_000, None, None, None, None)], rows
    assert connection.values(lost) == [("warning", "3 of 3 collectives ha")], connection.values(lost)
    rows = connection.values(summary)
    assert rows == [("not known of 3 of 3 collectives: what carried them out was not recorded",)], rows
    assert connection.values("SELECT wait_ns FROM host_steps") == [(0,)] * 3

    def in_part(number, begin):
        own = kernel(begin + 400_000, 90_000, 20, number + 1, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)",
                     **{"External id": number + 1})
        return of_step(number, begin) + [own] * (number < 2)

    connection = opened(engine, steps(3, 1_000_000, in_part), distributedInfo=NCCL)  # with a launch, it went with none
    rows = connection.values("SELECT carried_by, count(*) FROM collectives GROUP BY 1 ORDER BY 1")
    assert rows == [(None, 1), ("kernel", 2)], rows
    assert connection.values(lost) == [("warning", "1 of 3 collectives ha")], connection.values(lost)

    def by_another_call(call):  # of a graph, whose capture launched nothing, or of the last member of a group
        def of_one(number, begin):
            carried = [launch(begin + 300_000, 2000, 70 + number, call), kernel(
                begin + 400_000, 90_000, 20, 70 + number, "ncclDevKernel_AllGather_RING_LL(x)")]
            return of_step(number, begin) if number == 0 else carried
        return opened(engine, steps(3, 1_000_000, of_one), distributedInfo=NCCL)

    for call in ("cudaGraphLaunch", "cudaLaunchKernelExC"):
        connection = by_another_call(call)
        rows = connection.values("SELECT carried_by, count(*) FROM collectives GROUP BY 1 ORDER BY 1")
        assert rows == [("group", 1), ("kernel", 2)] and not connection.values(lost), (call, rows)
        connection.close()
    connection = opened(engine, steps(3, 1_000_000, of_step), distributedInfo={**NCCL, "backend": "gloo"})
    rows = connection.values("SELECT carried_by, dur_ns, bus_bytes_per_second FROM collectives")
    assert rows == [("host", 20_000, 700e9)] * 3, rows
    assert connection.values(lost) == connection.values(summary) == []
    assert connection.values("SELECT wait_ns FROM host_steps") == [(0,)] * 3, "ops count before waits"
    marks = [span("user_annotation", "nccl:all_gather", 0, 9000), launch(1000, 500, 1, "cudaMemcpyAsync"),
             copy(20_000, 8000, 20, 1, "Memcpy PtoP (Device -> Device)", bytes=4000),
             span("user_annotation", "nccl:broadcast", 50_000, 9000)]
    connection = opened(engine, marks)
    rows = connection.values("SELECT name, carried_by, dur_ns FROM collectives ORDER BY id")
    assert rows == [("all_gather", "copies", 8000), ("broadcast", None, 9000)], rows
    assert connection.values(lost) == [("warning", "1 of 2 collectives ha")], connection.values(lost)
    alone = opened(engine, marks[3:])  # of a host alone
    assert alone.values(lost) == [("warning", "1 of 1 collectives ha")], alone.values(lost)


def test_grouped_collectives(engine):
    """What goes with others in one kernel, or is of a group of one rank, has no time of its own and is not lost. Where
    a group begins and ends is no collective. How many are lost is the count of what tells it."""
    told = ("SELECT (SELECT group_concat(count) FROM diagnostics WHERE reason = 'lost_collectives'), "
            "(SELECT count(*) FROM run_summary WHERE title = 'communication' AND text GLOB 'not known*'), "
            "(SELECT count(*) FROM advise WHERE check_name = 'missing_data' AND message GLOB 'lost_collectives*')")
    rows = "SELECT name, carried_by, count(*), count(dur_ns), count(kernel_id) FROM collectives GROUP BY 1, 2"
    sends, sums = "ncclDevKernel_SendRecv(x)", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)"
    for names, kernel_name, size, wanted, lost in (
            (("send", "recv"), sends, 2, [("recv", "kernel", 3, 3, 3), ("send", "group", 3, 0, 0)], None),
            (("send", "recv", "coalesced"), sends, 2, [("coalesced", "kernel", 3, 3, 3), ("recv", "group", 3, 0, 0),
                                                       ("send", "group", 3, 0, 0)], None),
            (("startCoalescing", "allreduce", "allreduce", "endCoalescing"), sums, 2,
             [("all_reduce", "kernel", 3, 3, 3), ("allreduce", "group", 6, 0, 0)], None),
            (("allreduce",), None, 1, [("allreduce", "none", 3, 0, 0)], None),
            (("broadcast", "allreduce"), sums, 2,
             [("allreduce", "kernel", 3, 3, 3), ("broadcast", None, 3, 3, 0)], "3"),
            (("allreduce",), None, 2, [("allreduce", None, 3, 3, 0)], "3")):
        def of_step(number, begin):
            first = 10 * number + 1
            events = [asking(begin + 20_000 + 30_000 * i, 20_000, first + i,
                             **{"Collective name": name, "Group size": size}) for i, name in enumerate(names)]
            last = first + len(names) - 1
            if kernel_name:
                at = begin + 20_000 + 30_000 * (len(names) - 1)
                events += [launch(at + 5000, 8000, last), kernel(begin + 500_000, 90_000, 20, last, kernel_name,
                           **{"External id": last, "Collective name": names[-1], "Group size": size})]
            return events

        connection = opened(engine, steps(3, 1_000_000, of_step), distributedInfo=NCCL)
        assert connection.values(rows) == wanted, (names, connection.values(rows))
        assert connection.values(told) == [(lost, lost is not None, lost is not None)], (names, connection.values(told))
        connection.close()


EXCHANGES = {
    "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(vllm::RankData*)": "all_reduce",
    "void sglang::cross_device_reduce_2stage<half, 4>(x)": "all_reduce",
    "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)": "all_reduce",
    "ncclSymkDevKernel_AllGather_LL(ncclSymkDevWorkArgs4K)": "all_gather",
    "ncclSymDevKernel_ReduceScatter_LL_sum_f32(ncclSymDevArgs)": "reduce_scatter",
    "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)": "send_recv",
    "rccl_main_kernel": "rccl_main_kernel",
    "void c10d::symmetric_memory::multimem_all_reduce_kernel<c10::BFloat16, 16, true>(c10::BFloat16*)": "all_reduce",
    "void (anonymous namespace)::two_shot_all_reduce_kernel_inplace<float, 16, 8>(float**)": "all_reduce",
    "void c10d::symmetric_memory::(anonymous namespace)::barrier_kernel(unsigned int**)": "barrier",
    "c10d::all_to_all_vdev_kernel": "all_to_all",
    "void c10d::intra_node_comm::oneShotAllReduceKernel<8u, true>(x)": "all_reduce",
    "void deep_ep::internode::dispatch<false, 8, true, 16>(int4*)": "all_to_all",
    "void deep_ep::internode_ll::combine<true, 7168>(void*)": "all_to_all",
    "void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<x>(y)": "all_reduce",
    "void tensorrt_llm::kernels::ar_fusion::allreduce_fusion_kernel_twoshot_sync<x>(y)": "all_reduce",
    "void tensorrt_llm::kernels::moeAllToAllKernel<8>(y)": "all_to_all",
    "void userbuffers_fp16_sum_inplace_gpu_rw_ag<8>(int)": "all_gather",
    "userbuffers_fp16_sum_inplace_gpu_mc_rs_oop": "reduce_scatter",
    "userbuffers_fp16_sum_inplace_gpu_rr": "all_reduce",
    "userbuffers_pushsend": "send",
    "kuserbuffers_pushrecv": "recv",
    "void userbuffers_pushsendrecv_atomic(int*)": "send_recv",
    "void deep_ep::intranode::notify_dispatch<8>(x)": "notify_dispatch",
    "void pplx::internode::dispatchKernel<x>(y)": "all_to_all",
    "mori::moe::EpCombineIntraNodeKernel<x>(y)": "all_to_all",
    "void tensorrt_llm::kernels::moe_comm::moeA2ADispatchKernel<x>(y)": "all_to_all",
    "ncclReduceRingLLKernel_sum_f32(ncclColl)": "reduce",
    "ncclAllReduceTreeLLKernel_sum_f16(ncclColl)": "all_reduce",
    "ncclDevKernel_Reduce_Sum_f32_RING_LL(x)": "reduce",
    "void c10d::symmetric_memory::multimem_one_shot_reduce_kernel<float>(x)": "reduce",
    "void c10d::intra_node_comm::hybridCubeMesh<x>(y)": "all_reduce",
    "void nvshmemi_fcollect_kernel<x>(y)": "all_gather",
    "void nvshmemi_reduce_kernel<x>(y)": "all_reduce",
    "mscclKernel_Sum_half_Simple": "mscclKernel_Sum_half_Simple",
    "void mscclpp::collective::allgatherFullmesh2<float>(x)": "all_gather",
    "nvshmemi_proxy_kernel": "nvshmemi_proxy_kernel",
    "void nvshmemi_transfer_on_stream<1>(x)": "nvshmemi_transfer_on_stream",
    "oneccl_allreduce_large": "all_reduce",
    "void sgl::allreduce::one_shot<half>(x)": "all_reduce",
    "void quickreduce::allreduce_prototype_twoshot<x>(y)": "all_reduce",
    "aiter::allreduce_fusion_kernel_1stage": "all_reduce",
    "hcom_allReduce__123_0_1": "all_reduce",
    "hcom_receive__123_0_1": "recv",
}
def test_kernels_of_any_exchange(engine):
    """NCCL's kernel for what has none of its own, and RCCL's for all, are what was asked for, whatever tells that."""
    asked = {"Collective name": "alltoall_base", "In msg nelems": 1000, "Out msg nelems": 1000, "dtype": "Float"}
    def of(kernel_args, op_args, around, with_number=True):
        def of_step(number, begin):
            name = ("ncclDevKernel_Generic_4(ncclDevKernelArgsStorage<4096ul>)", "rccl_main_kernel(x)")[number % 2]
            call, work = launch(begin + 5000, 3000, number + 1), kernel(begin + 100_000, 300_000, 7, number + 1, name)
            work["args"].update(kernel_args)
            if with_number:
                work["args"]["External id"] = number + 1
            return [*(span(category, text, begin + 900, 60_000) for category, text in around), call, work,
                    span("cpu_op", "record_param_comms", begin + 2000, 40_000, **op_args,
                         **{"External id": number + 1})]
        connection = opened(engine, steps(2, 1_000_000, of_step), distributedInfo=NCCL)
        rows = connection.values("SELECT name, kernel_id IS NOT NULL FROM collectives ORDER BY start_ns")
        connection.close()
        assert [has_kernel for _, has_kernel in rows] == [1, 1], rows
        return [name for name, _ in rows]

    for with_number in (True, False):
        assert of(asked, {}, [], with_number) == of({}, asked, [], with_number) == ["alltoall_base"] * 2, "arguments"
        assert of({}, {}, [("user_annotation", "nccl:all_to_all")], with_number) == ["all_to_all"] * 2, "a mark"
        for op in ("c10d::alltoall_base_", "_c10d_functional::all_to_all_single"):
            assert of({}, {}, [("cpu_op", op)], with_number) == ["all_to_all"] * 2, op
    assert of({}, {}, []) == ["generic", "rccl_main_kernel"], "nothing tells"


NO_EXCHANGES = [
    "void at::native::allreduce_like_kernel", "triton_poi_fused_all_gather_into_tensor_view_0",
    "void deep_ep::layout::get_dispatch_layout<256, 32, 8>(x)", "deep_ep::internode::get_dispatch_layout(x)",
    "void at::native::vectorized_elementwise_kernel<4>(x)",
    "void cub::DeviceReduceKernel<x>(y)", "ampere_sgemm_32x128_tn", "void scatter_reduce_kernel<float>(x)",
    "void moe_dispatch_softmax<4>(x)",
]


def test_collectives_by_names(engine):
    """What exchanges data, of whichever library, communicates and is a collective, with NCCL's arguments in the trace
    and without."""
    events = []
    for number, name in enumerate([*EXCHANGES, *NO_EXCHANGES], 1):
        at = 1000 * number
        events += [span("cpu_op", "my::op", at, 500, **{"External id": number}), launch(at + 100, 100, number),
                   kernel(at + 600, 300, 7, number, name)]
    told = [asking(900_000, 1000, 900), launch(900_100, 100, 900),
            kernel(901_000, 1000, 7, 900, "ncclDevKernel_AllGather_RING_LL(x)",
                   **{"External id": 900, "Collective name": "_allgather_base"})]
    gather = ("ncclDevKernel_AllGather_RING_LL(x)", "communication", "_allgather_base")
    for more, beside in (([], []), (told, [gather])):
        connection = opened(engine, events + more, distributedInfo=NCCL)
        rows = connection.values("SELECT kernels.name, kind, collectives.name FROM kernels LEFT JOIN collectives "
                                 "ON kernel_id = kernels.id ORDER BY kernels.id")
        wanted = [(name, "communication", operation) for name, operation in EXCHANGES.items()]
        wanted += [(name, "compute", None) for name in NO_EXCHANGES]
        wrong = [(row, other) for row, other in zip(rows, wanted + beside) if row != other]
        assert not wrong and len(rows) == len(wanted + beside), wrong
        assert connection.values("SELECT DISTINCT carried_by FROM collectives") == [("kernel",)]


def test_collectives_count_once(engine):
    """A collective has one row, whatever tells of it: its kernel, the op that asks for it, marks on the host and on the
    device; with the arguments that any of them has, and with or without numbers that link them."""
    told = {"Collective name": "allreduce", "In msg nelems": 1000, "Out msg nelems": 1000, "Group size": 2,
            "dtype": "Float"}
    for kernel_tells in (False, True):
        for op_tells in (False, True):
            for is_numbered in (False, True):
                events = []
                for i in range(3):
                    at, number = 10_000 * i, 100 * i
                    op = told if op_tells else {}
                    kernel = dict(told if kernel_tells else {}, **({"External id": number + 3} if is_numbered else {}))
                    events += [
                        span("cpu_op", "c10d::allreduce_", at + 100, 300, **{"External id": number + 2}),
                        span("user_annotation", "nccl:all_reduce", at + 150, 200, **{"External id": number + 5}),
                        span("cpu_op", "record_param_comms", at + 160, 180, **{"External id": number + 3}, **op),
                        launch(at + 200, 50, 10 + i), span("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL()",
                                                           at + 1000, 500, 0, 20, device=0, stream=20,
                                                           correlation=10 + i, **kernel),
                        span("gpu_user_annotation", "nccl:all_reduce", at + 1000, 500, 0, 20,
                             **{"External id": number + 5})]
                connection = opened(engine, events)
                case = (kernel_tells, op_tells, is_numbered)
                rows = connection.values("SELECT count(*), count(kernel_id), sum(dur_ns), sum(bytes) FROM collectives")
                size = 12_000 if kernel_tells or op_tells else None
                assert rows == [(3, 3, 1500, size)], (case, rows)
                rows = connection.values("SELECT sum(count), sum(sum_ns) FROM collective_summary")
                assert rows == [(3, 1500)], (case, rows)


# ---- devices of other makers ----

def ascend(pid, tid, name, start, dur, category=None, **args):
    event = {"ph": "X", "name": name, "pid": pid, "tid": tid, "ts": f"{1_778_655_624_000_000 + start / 1000:.3f}",
             "dur": dur / 1000, "args": args}
    return {**event, "cat": category} if category else event


def ascend_trace(with_queue, with_others):
    """As torch_npu writes it: the layers of the software are processes, and so is the device."""
    def process(pid, name, label):
        return [{"ph": "M", "name": key, "pid": pid, "tid": 0, "args": {word: value}} for key, word, value in (
            ("process_name", "name", name), ("process_labels", "labels", label))]

    events = process(4_000_000, "Python", "CPU") + process(4_000_001, "CANN", "CPU")
    events += process(4_000_002, "Ascend Hardware", "NPU") + process(4_000_003, "Communication", "NPU")
    events += process(4_000_004, "Overlap Analysis", "NPU")
    events.append({"ph": "M", "name": "thread_name", "pid": 4_000_002, "tid": 2, "args": {"name": "Stream 2"}})
    for step in range(3):
        begin = 2_000_000 * step
        events.append(ascend(4_000_000, 9001, f"ProfilerStep#{step}", begin, 1_990_000, "cpu_op"))
        for i in range(4):
            at, connection = begin + 20_000 + 60_000 * i, 100 + 10 * step + 2 * i
            events.append(ascend(4_000_000, 9001, "aten::matmul", at, 30_500, "cpu_op"))
            runs_on = 9002 if with_queue else 9001
            if with_queue: # by a number of its own, one op of several launches
                events += [ascend(4_000_000, 9001, "Enqueue@aclnn", at + 10_000, 5000, "enqueue", correlation_id=7 + i),
                           ascend(4_000_000, 9002, "Dequeue@aclnn", at + 20_000, 9000, "dequeue", correlation_id=7 + i)]
                if step:
                    for event in events[-2:]:
                        event["args"]["correlation_id"] += 100 * step
            for k in range(2):
                events.append(ascend(4_000_001, runs_on, "Node@launch", at + 21_000 + 3000 * k, 2000, level="node",
                                     **{"Thread Id": runs_on, "connection_id": connection + k}))
                events.append(ascend(4_000_002, 2, "MatMulV2", begin + 100_000 * (i + 1) + 50_000 * k, 40_000,
                                     **{"Task Type": ("AI_CORE", "MIX_AIC")[k], "Physic Stream Id": 2,
                                        "connection_id": connection + k}))
        if with_others:
            events += [ascend(4_000_003, 4, "Notify_Wait", begin + 700_000, 100_000, notify_id=1),
                       ascend(4_000_004, 1, "Computing", begin, 500_000)]
    return events


def test_collectives_of_ascend(engine):
    """HCCL's rows stand in a process of their own: they are communication of the device before it, in the step that
    they begin in, with what they tell of themselves; a number that another launch has too links nothing."""
    events = ascend_trace(True, False)
    for step in range(3):
        for name, dtype, count in (("hcom_allReduce__868_0_1", "FP16", 1000), ("hcom_allGather__868_1_1", None, None)):
            told = {"data_type": dtype, "count": count, "alg_type": "RING"} if dtype else {}
            begin = 2_000_000 * step + (700_000 if dtype else 950_000)
            of_next_step = 110 + 10 * step
            events.append(ascend(4_000_003, 3, name, begin, 200_000, connection_id=of_next_step, **told))
    connection = opened(engine, events, baseTimeNanoseconds=0)
    rows = connection.values("SELECT name, dtype, in_elements, bytes, process_group, bus_bytes_per_second, op_id, "
                             "steps.number FROM collectives JOIN (SELECT id AS step, number FROM steps) AS steps "
                             "ON step = step_id ORDER BY collectives.start_ns")
    sent = {"all_reduce": ("FP16", 1000, 2000), "all_gather": (None, None, None)}
    assert rows == [(name, *sent[name], None, None, None, step) for step in range(3) for name in sent], rows
    rows = connection.values("SELECT devices.name, work.kind, count(*), total(work.dur_ns) "
                             "FROM device_activities AS work JOIN devices ON devices.id = device_id "
                             "GROUP BY work.kind ORDER BY work.kind")
    assert rows == [("NPU 0", "communication", 6, 1_200_000), ("NPU 0", "compute", 24, 960_000)], rows
    rows = connection.values("SELECT kernel_count, busy_ns, "
                             "(SELECT group_concat(DISTINCT carried_by) FROM collectives), (SELECT count(*) "
                             "FROM transfers WHERE kind = 'exchange' AND collective_id IS NOT NULL) "
                             "FROM device_utilization")
    assert rows == [(24, 960_000, "copies", 6)], rows  # engines beside the cores: the device does not compute
    assert connection.values("SELECT name FROM devices ORDER BY id") == [("CPU 0",), ("NPU 0",)]
    assert connection.values("SELECT name FROM _process_names") == [("Python",)]  # 4000000 is the number of a layer
    rows = connection.values("SELECT communication_ns FROM step_breakdown ORDER BY number")
    assert rows == [(400_000,)] * 3, rows
    assert connection.values("SELECT count(*) FROM diagnostics WHERE reason = 'unknown_device_rows'") == [(0,)]


def test_ascend(engine):
    """Tasks of a device are kernels of the op that put them into the queue, or that launched them itself; other rows of
    devices are told, and then nothing is said of a host that holds devices up."""
    for with_queue in (True, False):
        for with_others in (True, False):
            connection = opened(engine, ascend_trace(with_queue, with_others), baseTimeNanoseconds=0)
            rows = connection.values(
                "SELECT devices.name, devices.kind, threads.name, count(*), sum(kernels.dur_ns), min(ops.name), "
                "count(ops.id), count(kernels.step_id), max(kernels.start_ns < ops.start_ns) FROM kernels "
                "JOIN devices ON devices.id = kernels.device_id JOIN threads ON threads.id = kernels.thread_id "
                "LEFT JOIN ops ON ops.id = kernels.op_id")
            assert rows == [("NPU 0", "npu", "Stream 2", 24, 960_000, "aten::matmul", 24, 24, 0)], rows
            # Each op has its own two.
            rows = connection.values("SELECT DISTINCT n FROM (SELECT count(*) AS n FROM kernels GROUP BY op_id)")
            assert rows == [(2,)], rows
            told = connection.values("SELECT count FROM diagnostics WHERE reason = 'unknown_device_rows'")
            assert told == ([(3,)] if with_others else []), told
            found = {name for name, in connection.values("SELECT check_name FROM advise")}
            assert ("host_bound" in found) != with_others and "tensor_cores" not in found, found


def test_waits_of_ascend(engine):
    """A stream that waits for another, and what it waits for, is work of no device, and nothing unknown; an NPU has no
    tensor cores; kernels that name no launch are told."""
    events = ascend_trace(True, False)
    for step in range(3):
        for kind, at, dur in (("EVENT_WAIT", 500_000, 900_000), ("EVENT_RECORD", 1_400_000, 20),
                              ("NOTIFY_WAIT_SQE", 1_500_000, 300_000), ("PLACE_HOLDER_SQE", 1_900_000, 20)):
            events.append(ascend(4_000_002, 2, kind, 2_000_000 * step + at, dur, **{
                "Task Type": kind, "Physic Stream Id": 2, "connection_id": 99_999}))
    connection = opened(engine, events, baseTimeNanoseconds=0)
    rows = connection.values("SELECT syncs.kind, count(*), sum(syncs.dur_ns) FROM syncs JOIN threads "
                             "ON threads.id = syncs.thread_id WHERE threads.name = 'Stream 2' GROUP BY 1")
    assert rows == [(None, 6, 120), ("stream_wait", 6, 3_600_000)], rows
    rows = connection.values("SELECT reason, message FROM diagnostics WHERE severity <> 'info' "
                             "AND reason <> 'lost_file'")
    assert rows == [], rows
    assert connection.values("SELECT busy_ns, tensor_core_ratio, tensor_core_eligible_ratio FROM device_utilization"
                             ) == [(960_000, None, None)]
    ((text,),) = connection.values("SELECT text FROM run_summary WHERE title = 'devices'")
    assert "tensor" not in text, text
    assert connection.values("SELECT count(*) FROM advise WHERE check_name = 'host_bound'") == [(1,)]
    for event in events:
        event["args"].pop("connection_id", None)
    connection = opened(engine, events, baseTimeNanoseconds=0)
    rows = connection.values("SELECT message FROM diagnostics WHERE reason = 'unlinked_kernels'")
    assert len(rows) == 1 and rows[0][0].startswith("24 of 24 kernels name no launch"), rows


def test_other_devices(engine):
    """Kernels by whatever a backend calls their category; what is none is told."""
    def work(category, name, start, **args):
        return span(category, name, start, 500, 0, 7, device=0, stream=7, **args)

    events = [span("cpu_op", "aten::mm", 0, 900, **{"External id": 1}), launch(100, 100, 1, "myLaunchKernel"),
              work("privateuse1_kernel", "mm", 1000, correlation=1), work("privateuse1_task", "mul", 2000),
              work("mtia_ccp_events", "fc", 3000), work("hpu_op", "gemm", 4000), work("xpu_kernels", "gen", 5000),
              work("privateuse1_memcpy", "Memcpy HtoD (Pageable -> Device)", 6000, bytes=64)]
    connection = opened(engine, events)
    rows = connection.values("SELECT kernels.name, devices.name, devices.kind, ops.name FROM kernels "
                             "JOIN devices ON devices.id = kernels.device_id LEFT JOIN ops ON ops.id = op_id "
                             "ORDER BY kernels.start_ns")
    assert rows == [("mm", "PrivateUse1 0", "privateuse1", "aten::mm"), ("mul", "PrivateUse1 0", "privateuse1", None),
                    ("fc", "MTIA 0", "mtia", None), ("gemm", "HPU 0", "hpu", None), ("gen", "GPU 0", "gpu", None)], rows
    assert connection.values("SELECT direction, bytes FROM transfers") == [("HtoD", 64)]
    told = "SELECT count FROM diagnostics WHERE reason = 'unknown_device_rows'"
    assert connection.values(told) == []
    known = [work("gpu_user_annotation", "forward", 7000), work("cuda_event", "record", 8000)]
    assert opened(engine, events + known).values(told) == []
    assert opened(engine, events + [work("wonder_unit", "what", 9000)]).values(told) == [(1,)]


def test_nothing_recorded(engine):
    """A profiler that was on and saw nothing, at all or of devices, says so."""
    spans = [{"ph": "X", "cat": "Trace", "name": name, "pid": "Traces", "tid": name, "ts": 0, "dur": 100}
             for name in ("PyTorch Profiler (0)", "__xpu_profiler__")]
    told = "SELECT reason FROM diagnostics WHERE severity = 'warning'"
    ops = [span("cpu_op", "aten::mm", 0, 900)]
    assert opened(engine, spans).values(told) == [("nothing_recorded",)]
    assert opened(engine, spans[:1] + ops).values(told) == []
    assert opened(engine, spans + ops).values(told) == [("no_device_work",)]
    assert opened(engine, spans + ops + [kernel(1000, 100)]).values(told) == []


def test_launches_without_kernels(engine):
    """Launches whose kernel is not there are told, but for those into a graph that is captured."""
    events = []
    for i in range(20):
        events.append(launch(1000 * i, 500, i + 1, ("cudaLaunchKernel", "cuLaunchKernelEx")[i % 2]))
        if i >= 6:
            events.append(kernel(1000 * i + 600, 300, 7, i + 1))
    events += [launch(30_000, 100, 90, "cudaStreamBeginCapture"), launch(31_000, 100, 91),
               launch(31_000, 100, 92, tid=2), kernel(31_200, 100, 7, 92),
               launch(32_000, 100, 93, "cudaStreamEndCapture"), launch(33_000, 100, 94, "cudaGraphLaunch"),
               launch(34_000, 100, 95, "cudaMemcpyAsync")]
    connection = opened(engine, events)
    rows = connection.values("SELECT severity, message FROM diagnostics WHERE reason = 'lost_kernels'")
    ((severity, message),) = rows
    assert severity == "warning" and message.startswith("6 of 21 launches have no kernel"), rows
    rows = connection.values("SELECT lacks_kernel, count(*) FROM api_calls GROUP BY 1 ORDER BY 1")
    assert rows == [(None, 5), (0, 15), (1, 6)], rows
    whole = [event for event in events if event["args"]["correlation"] > 6]
    assert opened(engine, whole).values("SELECT * FROM diagnostics WHERE reason = 'lost_kernels'") == []


# ---- steps of a host that runs ahead ----

def paced(step, per_step=5, stream=7):
    """Three steps, each of ops that launch 390 us of work every 400 us."""
    events = []
    for number in range(3):
        begin = number * step
        events.append(span("user_annotation", f"ProfilerStep#{number}", begin, step - 10_000))
        for i in range(per_step):
            of_all = number * per_step + i
            at = begin + 20_000 + 60_000 * i
            events += [span("cpu_op", "aten::mm", at, 30_000, **{"External id": of_all + 1}),
                       launch(at + 5000, 10_000, of_all + 1),
                       kernel(max(at + 20_000, 100_000 + 400_000 * of_all), 390_000, stream, of_all + 1)]
    return events


def test_pace(engine):
    """Steps of 490 us on the host, whose work takes 2 ms each, take 2 ms wherever a step's time is told; one whose host
    waits takes what it takes."""
    connection = opened(engine, paced(500_000))
    ((median, rate, mean, evaluation),) = connection.values(
        "SELECT median_ns, steps_per_second, mean_ns, evaluation_ratio FROM step_summary")
    assert (median, evaluation) == (2_000_000, 0), (median, evaluation)
    assert abs(rate - 500) < 2 and abs(mean - 2e6) < 1e4, (rate, mean)
    assert connection.values("SELECT dur_ns, pace_ns FROM steps") == [
        (490_000, 1_990_000), (490_000, 2_000_000), (490_000, 2_000_000)]
    # What is a share of the host's time is told beside that time.
    ((host, in_ops, ops),) = connection.values("SELECT net_ns, in_ops_ratio, (SELECT sum(dur_ns) FROM ops WHERE "
                                               "category = 'op') FROM step_summary")
    assert host == 490_000 and abs(3 * host * in_ops - ops) <= 3, (host, in_ops, ops)
    ((mean,),) = connection.values("SELECT mean_step_ns FROM overview WHERE profile_id IS NOT NULL")
    assert abs(mean - 2e6) < 5e4, mean
    ((text,),) = connection.values("SELECT text FROM run_summary WHERE title = 'steps'")
    assert text.startswith("3, median 2.00 ms") and "501 a second" in text, text
    assert connection.values("SELECT max(dur_ns) FROM _measured_steps") == [(2_000_000,)]
    paces = [1_990_000, 2_000_000, 2_000_000]
    for panel, column in (("step_list", "dur_ns"), ("compare_steps", "training_ns"), ("step_durations", "training_ns")):
        ((sql,),) = connection.values(f"SELECT sql FROM tfprof_panels WHERE name = '{panel}'")
        sql = re.sub(r":(profile_id|first_step|last_step)", "NULL", sql)
        assert connection.values(f"SELECT {column} FROM ({sql})") == [(pace,) for pace in paces], panel
    assert connection.values("SELECT dur_ns FROM step_op_time") == [(490_000,)] * 3, "what its thread did adds up to"
    # What a step computes is divided by that time, too.
    shaped = [dict(event, args={**event["args"], "Input Dims": [[4096, 4096], [4096, 2048]],
                                "Input type": ["float", "float"]})
              if event["name"] == "aten::mm" else event for event in paced(500_000)]
    connection = opened(engine, shaped)
    ((whole, least, most),) = connection.values(
        "SELECT sum(flops), min(1e9 * flops / flops_per_second), max(1e9 * flops / flops_per_second) FROM mfu")
    assert whole > 0 and (round(least), round(most)) == (1_990_000, 2_000_000), (whole, least, most)
    connection = opened(engine, paced(2_000_000))
    assert connection.values("SELECT pace_ns, training_ns FROM steps") == [(None, 1_990_000)] * 3


def beside(at, number, start, length, stream, device=0):
    """A call at `at`, and a copy of a stream of its own."""
    return [launch(at, 5000, number, "cudaMemcpyAsync"),
            span("gpu_memcpy", "Memcpy DtoH (Device -> Pinned)", start, length, pid=device, tid=stream, device=device,
                 stream=stream, correlation=number, bytes=1 << 20)]


def lost(events, numbers):
    return [event for event in events
            if event["cat"] != "kernel" or event["args"]["correlation"] not in numbers]


def paces(engine, events):
    """The paces of the steps, which the views of the step time tell, too."""
    connection = opened(engine, events)
    found = [pace for (pace,) in connection.values("SELECT pace_ns FROM steps")]
    ((mean,),) = connection.values("SELECT mean_ns FROM step_summary")
    ((overview,),) = connection.values("SELECT mean_step_ns FROM overview WHERE profile_id IS NOT NULL")
    assert abs(mean - sum(found) / 3) < 2 and abs(overview - mean) < 0.02 * mean, (found, mean, overview)
    assert connection.values("SELECT 1 FROM run_summary WHERE title = 'steps'") == [(1,)]
    return found


def test_pace_by_main_streams(engine):
    """What goes on beside the main stream ends no step, however long it takes; of several devices and streams a step
    ends with the last work that the next one waits for."""
    whole = [1_990_000, 2_000_000, 2_000_000]
    ahead = paced(500_000)
    for number in range(3):
        at = 500_000 * number + 400_000
        assert paces(engine, ahead + beside(at, 900, 100_000, 20_000_000, 20)) == whole
    for copies in ([20_000_000], [1_900_000] * 3):  # beside a host that waits
        events = paced(2_000_000)
        for number, length in enumerate(copies):
            events += beside(2_000_000 * number + 400_000, 900 + number, 2_000_000 * number + 410_000, length, 20)
        connection = opened(engine, events)
        assert connection.values("SELECT pace_ns, training_ns FROM steps") == [(None, 1_990_000)] * 3
        assert connection.values("SELECT * FROM advise WHERE check_name = 'exposed_copies'") == []
        ((longest,),) = connection.values("SELECT max(dur_ns) FROM step_breakdown")
        assert longest < 2_300_000, longest
    # a kernel of another stream that outlasts them all, such as what a data loader computes for later
    assert paces(engine, ahead + [launch(10_000, 5000, 900), kernel(50_000, 30_000_000, 20, 900)]) == whole
    # short ones in every step, and exchanges that outlast the step which the next one does not wait for
    tiny = [event for n in range(3) for event in
            (launch(500_000 * n + 400_000, 5000, 910 + n), kernel(500_000 * n + 410_000, 5000, 13, 910 + n))]
    sums = [event for n in range(3) for event in
            (launch(500_000 * n + 410_000, 5000, 920 + n),
             kernel(2_100_000 * (n + 1), 1_500_000, 14, 920 + n, name="ncclDevKernel_AllReduce_Sum_f32_RING_LL()"))]
    assert paces(engine, ahead + tiny + sums) == whole
    # a second GPU with half of the work, and one with a kernel of its own
    second = [dict(event, pid=1, args=dict(event["args"], device=1, correlation=event["args"]["correlation"] + 100))
              for event in ahead if event["cat"] == "kernel"]
    calls = [dict(event, ts=event["ts"] + 11, dur=1,
                  args=dict(event["args"], correlation=event["args"]["correlation"] + 100))
             for event in ahead if event["cat"] == "cuda_runtime"]
    assert paces(engine, ahead + calls + second) == whole
    assert paces(engine, ahead + calls + [dict(second[0], dur=30_000)]) == whole


def test_pace_of_lost_kernels(engine):
    """The kernels that are left tell how long steps take; paces add up to what they cover."""
    ahead = paced(500_000)
    assert paces(engine, lost(ahead, range(6, 11))) == [1_990_000, 2_000_000, 2_000_000]
    assert paces(engine, lost(ahead, range(4, 9))) == [1_995_000 + 50_000, 1_995_000 + 50_000, 2_000_000]
    assert paces(engine, lost(ahead, range(1, 6))) == [2_045_000, 2_045_000, 2_000_000]
    assert paces(engine, lost(ahead, range(11, 16))) == [1_990_000, 2_000_000, 1_995_000]
    assert paces(engine, lost(ahead, range(13, 16))) == [1_990_000, 2_000_000, 1_995_000]
    assert paces(engine, lost(ahead, range(2, 16, 3)))[2] == 2_000_000
    # of device graphs, whose launches tell of no kernel that is lost
    graphs = [span("user_annotation", f"ProfilerStep#{n}", 500_000 * n, 490_000) for n in range(3)]
    graphs += [launch(500_000 * n + 20_000, 10_000, n + 1, "cudaGraphLaunch") for n in range(3)]
    graphs += [kernel(100_000 + 400_000 * i, 390_000, 7, i // 5 + 1, **{"graph id": 3, "graph node id": i % 5 + 1})
               for i in range(12)]
    assert paces(engine, graphs) == [1_990_000, 2_000_000, 1_995_000]
    # all of each step but its first kernel: 2.0 ms from one to the next
    found = paces(engine, lost(ahead, [n for n in range(1, 16) if n % 5 != 1]))
    assert found == [490_000, 1_990_000, 2_000_000], found


# ---- what is no op ----

def test_marks_are_no_ops(engine):
    """Ranges of the program and frames of Python are counted as ops nowhere, and the time in them alone is outside."""
    def trace(around):
        return steps(4, 1_000_000, lambda number, begin: around(begin) + [
            span("cpu_op", "aten::mm", begin + 100_000, 200_000, **{"External id": number + 1})])

    marked = opened(engine, trace(lambda begin: [
        span("user_annotation", "load_data", begin + 400_000, 500_000),
        span("python_function", "train.py(7): load", begin + 300_000, 650_000)]))
    bare = opened(engine, trace(lambda begin: []))
    for sql in ("SELECT op_count FROM profile_summary", "SELECT title, text FROM run_summary WHERE title <> 'run'",
                "SELECT host_ratio, other_ratio FROM overview", "SELECT outside_ratio FROM step_summary"):
        assert marked.values(sql) == bare.values(sql), (sql, marked.values(sql), bare.values(sql))
    rows = marked.values("SELECT cpu_ns, marks_ns, rest_ns FROM _step_parts LIMIT 1")
    assert rows == [(850_000, 650_000, 140_000)], rows
    # what goes on from the first step to the last is part of each
    one = opened(engine, steps(40, 20_000, lambda number, begin: []) + [
        span("python_function", "train.py(1): <module>", 0, 800_000), span("cpu_op", "aten::mm", 0, 1000)])
    assert one.values("SELECT count(*) FROM step_breakdown") == [(40,)]


# ---- recomputation ----

def test_recomputation(engine):
    """What a checkpoint computes again in the backward pass counts for the hardware, and not for the model."""
    a100 = [{"id": 0, "name": "NVIDIA A100-SXM4-80GB", "computeMajor": 8, "computeMinor": 0, "numSms": 108}]

    def product(start, sequence, number):
        shapes = {"Input Dims": [[100, 200], [200, 300]], "Input type": ["float", "float"]}
        told = {"Sequence number": sequence} if sequence is not None else {}
        return [span("cpu_op", "aten::mm", start, 1000, **{"External id": number, **shapes, **told}),
                launch(start + 100, 100, number), kernel(start + 1200, 500, 7, number)]

    def of_step(number, begin):
        first = number * 10 + 1
        events = [span("cpu_op", "aten::linear", begin + 1000, 5000, **{"Sequence number": 1}),
                  *product(begin + 2000, 1, first),
                  span("cpu_op", "autograd::engine::evaluate_function: MmBackward0", begin + 20_000, 50_000),
                  span("cpu_op", "aten::linear", begin + 21_000, 5000, **{"Sequence number": 2}),
                  *product(begin + 22_000, 2, first + 1)]
        for i in range(2):
            events += product(begin + 30_000 + 5000 * i, None, first + 2 + i)
        return events

    connection = opened(engine, steps(3, 200_000, of_step), deviceProperties=a100)
    rows = connection.values("SELECT flops, recomputed_flops, round(hfu / mfu, 6) FROM mfu")
    assert rows == [(36_000_000, 12_000_000, 1.333333)] * 3, rows


# ---- tensor cores ----

CORES = {
    1: ["nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_NTT",
        "void cutlass::device_kernel<at::cuda::detail::enable_3x_kernel_for_sm90<cutlass::gemm::kernel::GemmUniversal<"
        "cute::tuple<int, int>, cutlass::gemm::collective::CollectiveMma<cutlass::gemm::MainloopSm90TmaGmmaWarpSpe",
        "void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<x, cutlass::gemm::collective::CollectiveMma<"
        "cutlass::gemm::MainloopSm100TmaUmmaWarpSpecialized<3>",
        "void my::gemm<cute::TiledMMA<cute::MMA_Atom<cute::SM80_16x8x16_F32BF16BF16F32_TN>>>(x)",
        "void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<x>>>(y)",
        "void cutlass::device_kernel<flash::enable_sm90<flash::FlashAttnBwdSm90<x>>>(y)",
        "void flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4, false, false, cutlass::bfloat16_t>>(x)",
        "cudnn_generated_fort_native_sdpa_sm80_flash_fprop_f16_knob_31", "fmha_cutlassF_bf16_aligned_64x64_rf_sm80",
        "void deep_gemm::sm90_fp8_gemm_1d2d_impl<0u, 7168u, 2304u>(x)", "void deep_gemm::sm100_bf16_gemm_impl<1u>(x)",
        "void marlin::Marlin<__nv_bfloat16, 4>(x)", "sm80_xmma_gemm_s8s8_s8s32_f32_tn_n_tilesize64x64x64",
        "ampere_d884gemm_64x64_nn", "turing_int8_i8816cudnn_int8_256x128_ldg16_relu",
        "void ck::kernel_gemm_xdl_cshuffle_v3<ck::GridwiseGemm_xdl_cshuffle_v3<x>>(y)",
        "void ck::kernel_grouped_conv_fwd_multiple_abd_xdl_cshuffle<x>(y)", "void ck::kernel_gemm_wmma<x>(y)",
        "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x256x64_MI16x16x1_SN_LDSB1_AFC1",
        "Cijk_Ailk_Bljk_HHS_BH_MT128x128x32_MI32x32x8x1_SE_1LDSA0",
        "void ck_tile::kentry<256, 2, ck_tile::FmhaFwdKernel<ck_tile::BlockFmhaPipelineQRKSVSAsync<x>>>(y)"],
    0: ["volta_sgemm_128x64_nn", "ampere_sgemm_32x128_tn", "ampere_dgemm_128x64_nt",
        "void cutlass::Kernel2<cutlass_80_simt_sgemm_128x128_8x4_nn>(x)", "void gemv2T_kernel_val<int, float>(x)",
        "void my::gemm<cute::TiledMMA<cute::MMA_Atom<cute::UniversalFMA<float>>, cute::SM80_16x8x8>>(x)",
        "Cijk_Ailk_Bljk_SB_MT64x64x16_SN_K1", "void at::native::vectorized_elementwise_kernel<4>(int)",
        "void cublasLt::splitKreduce_kernel<32, 16, int, float>(x)", "void ck::kernel_gemm_dl_v1r3<x>(y)"],
    None: ["triton_tem_fused_mm_3", "triton_mm", "_attn_fwd", "fused_moe_kernel", "matmul_kernel",
           "gemm_fusion_dot_1_0"],
}


def test_tensor_cores(engine):
    """By product and template; names of Triton's kernels do not tell, and none of theirs is without them, either."""
    named = [(name, uses) for uses, names in CORES.items() for name in names]
    events = []
    for number, (name, _) in enumerate(named, 1):
        events += [span("cpu_op", "aten::mm", 1000 * number, 500, **{"External id": number}),
                   launch(1000 * number + 100, 100, number), kernel(1000 * number + 600, 100, 7, number, name)]
    connection = opened(engine, events)
    rows = connection.values("SELECT name, uses_tensor_core FROM kernels ORDER BY id")
    assert rows == named, [(row, wanted) for row, wanted in zip(rows, named) if row != wanted]
    rows = connection.values("SELECT sum(tensor_core_ns), sum(without_tensor_core_ns), sum(eligible_ns) "
                             "FROM step_kernel_totals")
    assert rows == [tuple(100 * len(names) for names in (CORES[1], CORES[0], named))], rows


def test_precision_by_names(engine):
    """What libraries call their number types, 8-bit ones too."""
    names = {
        "8 bit": ["sm80_xmma_gemm_s8s8_s8s32_f32_tn_n", "void deep_gemm::sm90_fp8_gemm_1d2d_impl<0u>(x)",
                  "nvjet_qqtst_128x256_128x4_2x1_v_bz_TNT", "turing_int8_i8816cudnn_int8_256x128_ldg16_relu",
                  "sm80_xmma_fprop_implicit_gemm_interleaved_i8i8_i8i32_f32", "Cijk_Alik_Bljk_I8BH_MT64x64x32",
                  "Cijk_Alik_Bljk_F8BS_BH_Bias_MT256x128x64_MI16x16x1", "sm89_xmma_gemm_e4m3bf16_e4m3f32_f32_tn_n"],
        "16 bit": ["nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_NTT", "nvjet_sm100_tst_mma_256x256x64_4_2x1_2cta_v_bz_TNT",
                   "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x256x64_MI16x16x1", "volta_h884gemm_128x64",
                   "turing_fp16_s1688gemm_fp16_128x128_ldg8_f2f_tn"],
        "32 bit": ["volta_sgemm_128x64_nn", "Cijk_Ailk_Bljk_SB_MT64x64x16_SN_K1"],
        "unknown": ["triton_tem_fused_mm_3", "void ck::kernel_gemm_xdl_cshuffle_v3<x>(y)"]}
    events = [kernel(1000 * i, 100, 7, 0, name) for i, name in enumerate(sum(names.values(), []))]
    rows = opened(engine, events).values("SELECT precision, count FROM precision_breakdown")
    assert dict(rows) == {precision: len(some) for precision, some in names.items()}, rows


if __name__ == "__main__":
    run_tests(sys.modules[__name__])
