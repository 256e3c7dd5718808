#!/usr/bin/env python3
"""What programs mark by NVTX version 3 is recorded: nvtx_calls.c, which has every call of NVIDIA's own header, and
Python's package nvtx; that our declarations of its ABI are the header's; which ranges are steps.

The headers are those of the package nvidia-nvtx.
"""

import glob
import json
import os
import signal
import subprocess
import sys
import tempfile

import capturing

NVTX_ABI = os.path.join(capturing.HERE, "..", "..", "capture", "library", "nvtx", "nvtx_abi.h")
FIND = "import os, sys; print('\\n'.join(os.path.join(p, 'nvidia') for p in sys.path))"
ROUNDS = 4 * 1000  # of the threads of nvtx_calls
OPEN_MAXIMUM = 256  # nvtx_ranges.h


def find_headers():
    folders = subprocess.run([capturing.PYTHON, "-c", FIND], stdout=subprocess.PIPE, check=True, text=True).stdout
    for folder in folders.split():
        for path in glob.glob(os.path.join(folder, "**", "nvtx3", "nvToolsExtPayload.h"), recursive=True):
            return os.path.dirname(os.path.dirname(path))
    return None


HEADERS = find_headers()
FOLDER = tempfile.mkdtemp()


def compiled(source, name, *options):
    path = os.path.join(FOLDER, name)
    subprocess.run([os.environ.get("CC", "cc"), "-std=gnu11", "-O1", "-w", "-I", HEADERS, "-o", path, source,
                    "-pthread", "-ldl", *options], check=True)
    return path


PROGRAM = HEADERS and compiled(os.path.join(capturing.PROGRAMS, "nvtx_calls.c"), "nvtx_calls")


# What is the same in the header and in ours: constants, sizes and offsets.
ABI = """
#include <nvtx3/nvToolsExtPayload.h>
#include <nvtx3/nvToolsExtSync.h>
#include "{abi}"
#define SAME(a, b) _Static_assert((a) == (b), #a)
#define AT(theirs, its, ours, own) SAME(offsetof(theirs, its), offsetof(struct ours, own))
{checks}
int main(void) {{ return 0; }}
"""
CONSTANTS = {
    "NVTX_ETID_CALLBACKS": "NVTX_TABLE_CALLBACKS",
    "NVTX_CB_MODULE_CORE": "NVTX_MODULE_CORE", "NVTX_CB_MODULE_CORE2": "NVTX_MODULE_CORE2",
    "NVTX_CB_MODULE_CUDA": "NVTX_MODULE_CUDA", "NVTX_CB_MODULE_CUDART": "NVTX_MODULE_CUDART",
    "NVTX_CB_MODULE_SYNC": "NVTX_MODULE_SYNC", "NVTX_CB_MODULE_OPENCL": "NVTX_MODULE_OPENCL",
    "NVTX_CBID_CORE_MarkEx": "NVTX_MARK_EX", "NVTX_CBID_CORE_RangePushEx": "NVTX_RANGE_PUSH_EX",
    "NVTX_CBID_CORE_RangePop": "NVTX_RANGE_POP", "NVTX_CBID_CORE_NameOsThreadW": "NVTX_NAME_OS_THREAD_W",
    "NVTX_CBID_CORE2_DomainMarkEx": "NVTX_DOMAIN_MARK_EX", "NVTX_CBID_CORE2_DomainRangePop": "NVTX_DOMAIN_RANGE_POP",
    "NVTX_CBID_CORE2_DomainCreateW": "NVTX_DOMAIN_CREATE_W", "NVTX_CBID_CORE2_Initialize": "NVTX_INITIALIZE",
    "NVTX_CBID_CUDA_NameCuDeviceA": "NVTX_NAME_CU_DEVICE", "NVTX_CBID_CUDA_NameCuEventA": "NVTX_NAME_CU_EVENT",
    "NVTX_CBID_CUDART_NameCudaDeviceA": "NVTX_NAME_CUDA_DEVICE",
    "NVTX_CBID_CUDART_NameCudaStreamA": "NVTX_NAME_CUDA_STREAM",
    "NVTX_CBID_CUDART_NameCudaEventA": "NVTX_NAME_CUDA_EVENT",
    "NVTX_CBID_SYNC_DomainSyncUserCreate": "NVTX_SYNC_CREATE",
    "NVTX_CBID_SYNC_DomainSyncUserReleasing": "NVTX_SYNC_RELEASING",
    "NVTX_PAYLOAD_TYPE_FLOAT": "NVTX_VALUE_FLOAT", "NVTX_PAYLOAD_TYPE_EXT": "NVTX_VALUE_EXTENDED",
    "NVTX_PAYLOAD_TYPE_UNSIGNED_INT64": "NVTX_VALUE_UINT64", "NVTX_MESSAGE_TYPE_REGISTERED": "NVTX_MESSAGE_REGISTERED",
    "NVTX_RESOURCE_TYPE_GENERIC_THREAD_NATIVE": "NVTX_RESOURCE_THREAD",
    "NVTX_NO_PUSH_POP_TRACKING": "NVTX_NOT_TRACKED",
    "NVTX_EXT_PAYLOAD_MODULEID": "NVTX_EXTENSION_PAYLOAD",
    "NVTX3EXT_CBID_nvtxPayloadSchemaRegister": "NVTX_SCHEMA_REGISTER",
    "NVTX3EXT_CBID_nvtxDomainIsEnabled": "NVTX_DOMAIN_IS_ENABLED",
    "NVTX3EXT_CBID_nvtxTimestampGet": "NVTX_TIMESTAMP_GET",
    "NVTX_PAYLOAD_ENTRY_FLAG_EVENT_MESSAGE": "NVTX_ENTRY_MESSAGE",
    "NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_LENGTH_INDEX": "NVTX_ENTRY_ARRAY_LENGTH",
    "NVTX_PAYLOAD_ENTRY_FLAG_DEEP_COPY": "NVTX_ENTRY_DEEP_COPY",
    "NVTX_PAYLOAD_ENTRY_TYPE_CHAR32": "NVTX_TYPE_CHAR32", "NVTX_PAYLOAD_ENTRY_TYPE_BF16": "NVTX_TYPE_BF16",
    "NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE": "NVTX_TYPE_REGISTERED",
    "NVTX_PAYLOAD_ENTRY_TYPE_CSTRING_UTF32": "NVTX_TYPE_UTF32",
    "NVTX_PAYLOAD_ENTRY_TYPE_CATEGORY": "NVTX_TYPE_CATEGORY",
    "NVTX_TYPE_PAYLOAD_SCHEMA_REFERENCED": "NVTX_TYPE_REFERENCED",
    "NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID": "NVTX_SCHEMA_HAS_ID",
    "NVTX_PAYLOAD_ENUM_ATTR_FIELD_SCHEMA_ID": "NVTX_ENUM_HAS_ID",
    "NVTX_PAYLOAD_SCHEMA_ID_DYNAMIC_START": "NVTX_ID_GIVEN", "NVTX_PAYLOAD_SCHEMA_ID_STATIC_START": "NVTX_ID_STATIC",
}
STRUCTS = {
    "nvtxEventAttributes_t": ("nvtx_attributes", {
        "category": "category", "colorType": "color_type", "color": "color", "payloadType": "value_type",
        "reserved0": "extended_count", "payload": "value", "messageType": "message_type", "message": "message"}),
    "nvtxResourceAttributes_t": ("nvtx_resource", {
        "identifierType": "type", "identifier": "identifier", "messageType": "message_type", "message": "message"}),
    "nvtxSyncUserAttributes_t": ("nvtx_sync_attributes", {"messageType": "message_type", "message": "message"}),
    "nvtxExtModuleInfo_t": ("nvtx_extension", {
        "structSize": "size", "moduleId": "module", "segments": "segments", "extInfo": "information"}),
    "nvtxExtModuleSegment_t": ("nvtx_segment", {"slotCount": "count", "functionSlots": "functions"}),
    "nvtxPayloadData_t": ("nvtx_payload_data", {"size": "size", "payload": "bytes"}),
    "nvtxPayloadSchemaEntry_t": ("nvtx_schema_entry", {
        "type": "type", "name": "name", "arrayOrUnionDetail": "detail", "offset": "offset"}),
    "nvtxPayloadSchemaAttr_t": ("nvtx_schema", {
        "type": "type", "entries": "entries", "numEntries": "entry_count", "payloadStaticSize": "static_size",
        "packAlign": "alignment", "schemaId": "id"}),
    "nvtxPayloadEnum_t": ("nvtx_enum_value", {"value": "value", "isFlag": "is_flag"}),
    "nvtxPayloadEnumAttr_t": ("nvtx_enum", {
        "entries": "values", "numEntries": "value_count", "sizeOfEnum": "size", "schemaId": "id"}),
    "NvtxExportTableCallbacks": ("nvtx_callback_table", {"GetModuleFunctionTable": "get_module"}),
}


def test_abi():
    """The compiler compares. Names that both have are ours by another one."""
    checks = ["SAME(%s, OUR_%s);" % pair for pair in CONSTANTS.items()]
    for theirs, (ours, members) in STRUCTS.items():
        checks.append("SAME(sizeof(%s), sizeof(struct %s));" % (theirs, ours))
        checks += ["AT(%s, %s, %s, %s);" % (theirs, its, ours, own) for its, own in members.items()]
    with open(NVTX_ABI, encoding="utf-8") as file:
        own = file.read().replace("NVTX_", "OUR_NVTX_")
    abi, source = os.path.join(FOLDER, "own_abi.h"), os.path.join(FOLDER, "abi.c")
    with open(abi, "w", encoding="utf-8") as file:
        file.write(own)
    with open(source, "w", encoding="utf-8") as file:
        file.write(ABI.format(abi=abi, checks="\n".join(checks)))
    compiled(source, "abi")


def recorded(directory, end, status=0):
    run = os.path.join(directory, "run")
    _, error = capturing.launch(run, [PROGRAM, end], status=status)
    return run, error


def counts(run, table):
    rows = capturing.query(run, "SELECT name, domain, count(*) AS n FROM %s GROUP BY 1, 2" % table)
    return {(row["name"][:40], row["domain"]): int(row["n"]) for row in rows}


# Of a whole run of nvtx_calls, those that are open at the end left out.
RANGES = {
    ("outer", None): ROUNDS, ("inner", None): ROUNDS, ("registered", "a library"): ROUNDS, ("handed over", None): 4,
    ("everything", None): 2, ("everything", "a library"): 1, ("wide \u20ac \U0001f600", "a library"): 1,
    ("wide push", None): 1, ("wide start", None): 1, ("ended twice", None): 1, ("(unnamed)", None): 2,
    ("of a domain that is gone", "gone"): 1, ("of the future", None): 1, ("deep", None): OPEN_MAXIMUM,
    ("with a schema", "a library"): 1, ("named by its payload", "a library"): 2, ("queue lock", "sync"): 1,
}
LEFT_OPEN = {("left open", None): 1, ("started and left open", None): 1}
INSTANTS = {
    ("everything", None): 1, ("everything", "a library"): 1, ("mark", None): 1, ("wide mark", None): 1,
    ("x" * 40, None): 1, ("of a domain that is gone", None): 1, ("(unnamed)", None): 2, ("(unnamed)", "a library"): 2,
    ("named by its payload", "a library"): 1,
}


def test_rows():
    """Every range and mark, exactly once, with all that was said of it; what was wrong is counted."""
    with capturing.Directory() as directory:
        run, error = recorded(directory, "return")
        assert counts(run, "ranges") == {**RANGES, **LEFT_OPEN}, counts(run, "ranges")
        assert counts(run, "instants") == INSTANTS, counts(run, "instants")
        rows = capturing.query(run, """SELECT name, domain, category, color, payload, depth, is_process_wide AS wide
            FROM ranges WHERE name IN ('everything', 'with a schema', 'named by its payload') OR name LIKE 'wide _ _'
            ORDER BY name, domain, end_ns""")
        said = {(row["name"][:5], row["domain"], row["payload"]): row for row in rows}
        color = 0xff8040c0
        for key, category, wide in ((("every", None, "-5"), "seven", 0), (("every", None, "1.5"), "acht \u00fc", 1),
                                    (("every", "a library", "4000000000"), "its seven", 1),
                                    (("wide ", "a library", "-7"), "its seven", 0)):
            row = said[key]
            assert (row["category"], row["color"], row["wide"]) == (category, color, wide), row
        sample = {"batch": 3, "loss": 0.25, "phase": 'train"', "state": "busy", "rates": [1, 2.5, -3]}
        payloads = [(row["name"], json.loads(row["payload"])) for row in rows if row["payload"][:1] == "{"]
        own = {"what": "named by its payload", "n": 42}
        assert sorted(map(str, payloads)) == sorted(map(str, [
            ("with a schema", sample), ("named by its payload", own), ("named by its payload", sample)])), payloads
        marks = capturing.query(run, "SELECT payload FROM instants WHERE payload IS NOT NULL ORDER BY 1")
        assert [row["payload"] for row in marks] == ["0.5", "18446744073709551615", "[-1,2]", "null",
                                                     json.dumps(own, separators=(",", ":"))], marks
        nested = capturing.query(run, """SELECT r.name, p.name AS parent, r.depth, t.name AS thread, count(*) AS n
            FROM ranges AS r LEFT JOIN ranges AS p ON p.id = r.parent_id JOIN threads AS t ON t.id = r.thread_id
            WHERE r.name IN ('outer', 'inner', 'registered') GROUP BY 1, 2, 3, 4""")
        shape = {(row["name"], row["parent"], row["depth"], row["n"]) for row in nested}
        assert shape == {("outer", None, 0, 1000), ("registered", "outer", 1, 1000),
                         ("inner", "registered", 2, 1000)}, shape
        assert {row["thread"] for row in nested} == {"worker %d" % i for i in range(4)}, nested
        handed = capturing.query(run, """SELECT t.name FROM ranges AS r JOIN threads AS t ON t.id = r.thread_id
            WHERE r.name = 'handed over'""")
        assert {row["name"] for row in handed} == {"worker %d" % i for i in range(4)}, handed
        told = capturing.query(run, "SELECT message, count FROM diagnostics WHERE reason = 'capture_dropped'")
        wrong = {row["message"]: int(row["count"]) for row in told}
        for words, count in (("too many others were open", 300 - OPEN_MAXIMUM), ("still open", 2), ("popped", 2),
                             ("ended before", 2), ("a domain that was destroyed", 4), ("were cut", 1),
                             ("are null", 1), ("of no size", 1)):
            assert [n for message, n in wrong.items() if words in message] == [count], (words, wrong)
        assert "NVTX ranges were lost because too many others" in error and "12,277 ranges into" in error, error


def test_ends():
    """Whatever ends the program: what was over a second before is there."""
    for end, status in (("exit", 0), ("_exit", 0), ("kill", -signal.SIGKILL)):
        with capturing.Directory() as directory:
            run, _ = recorded(directory, end, status)
            wanted = {**RANGES, **LEFT_OPEN} if end == "exit" else RANGES
            assert counts(run, "ranges") == wanted, (end, counts(run, "ranges"))
            assert counts(run, "instants") == INSTANTS, end
            (recording,) = [capturing.summary(path) for path in capturing.dumps(run)]
            assert recording["closed"] == (end == "exit"), (end, recording)


def test_processes():
    """exec begins a second recording of the same process; a forked process one of its own, where it marks anything."""
    with capturing.Directory() as directory:
        run, _ = recorded(directory, "exec")
        assert len(capturing.dumps(run)) == 2, capturing.dumps(run)
        found = counts(run, "ranges")
        assert all(found[name] >= count for name, count in RANGES.items()), found
    with capturing.Directory() as directory:
        run, _ = recorded(directory, "fork")
        assert len(capturing.dumps(run)) == 2, capturing.dumps(run)
        rows = capturing.query(run, """SELECT r.profile_id AS p, count(*) AS n, sum(r.name = 'in the child') AS child,
            sum(r.name = 'left open') AS left_open FROM ranges AS r GROUP BY 1 ORDER BY n""")
        whole = sum(RANGES.values()) + 2
        # The child ends what its parent had pushed, and leaves open what that had started.
        assert [(row["n"], row["child"], row["left_open"]) for row in rows] == [
            (3, 1, 1), (whole, 0, 1)], rows


PYTHON_PROGRAM = """
import sys, threading, nvtx
def work(number):
    for i in range(50):
        with nvtx.annotate("task", domain="pool", color=0x8080ff, category="odd" if i % 2 else "even", payload=i):
            with nvtx.annotate("part of it"): pass
threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
for thread in threads: thread.start()
for thread in threads: thread.join()
for i in range(20):
    nvtx.push_range("[loop]Iteration %d" % (i + 100))
    with nvtx.annotate("step"): sum(range(1000))
    nvtx.pop_range()
handle = nvtx.start_range("whole", domain="pool")
nvtx.end_range(handle)
nvtx.mark("done", payload=1.25)
if "torch" in sys.argv:
    import torch
    with nvtx.annotate("around an op"): torch.ones(2).sum()
    model = torch.nn.Linear(2, 2)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for _ in range(5):
        with nvtx.annotate("step"):
            model(torch.ones(2)).sum().backward()
            optimizer.step()
    try: torch.cuda.nvtx.range_push("x")
    except RuntimeError as error: assert not torch.version.cuda, error  # a build for CPUs has none
"""


def python_run(directory, *arguments):
    run = os.path.join(directory, "run")
    capturing.launch(run, [capturing.PYTHON, "-c", PYTHON_PROGRAM, *arguments], options=["--ops=all"])
    return run


def test_python():
    """The package nvtx, without any framework: ranges, and the outermost of those that are called as steps are."""
    with capturing.Directory() as directory:
        run = python_run(directory)
        found = counts(run, "ranges")
        tasks = {name: n for name, n in found.items() if "Iteration" not in name[0]}
        assert tasks == {("task", "pool"): 150, ("part of it", None): 150, ("step", None): 20,
                         ("whole", "pool"): 1}, tasks
        rows = capturing.query(run, """SELECT category, count(*) AS n, min(CAST(payload AS INTEGER)) AS least
            FROM ranges WHERE name = 'task' GROUP BY 1 ORDER BY 1""")
        assert [(row["category"], row["n"], row["least"]) for row in rows] == [("even", 75, 0), ("odd", 75, 1)]
        steps = capturing.query(run, "SELECT number, name, origin FROM steps ORDER BY start_ns")
        assert [(row["number"], row["name"], row["origin"]) for row in steps] == [
            (i + 100, "[loop]Iteration %d" % (i + 100), "nvtx") for i in range(20)], steps
        inside = capturing.query(run, "SELECT count(DISTINCT step_id) AS n FROM ranges WHERE name = 'step'")
        assert inside[0]["n"] == 20, inside
        (mark,) = capturing.query(run, "SELECT name, payload FROM instants")
        assert (mark["name"], mark["payload"]) == ("done", "1.25"), mark


def test_with_pytorch():
    """NVTX comes first, PyTorch later: ranges of both nest with ops, and the optimizer's steps are the steps."""
    with capturing.Directory() as directory:
        run = python_run(directory, "torch")
        rows = capturing.query(run, """SELECT o.name FROM ops AS o JOIN ops AS r ON r.id = o.parent_id
            WHERE r.name = 'around an op' ORDER BY o.start_ns""")
        assert [row["name"] for row in rows] == ["aten::ones", "aten::sum"], rows
        domains = capturing.query(run, "SELECT domain, category FROM ranges WHERE name LIKE 'Optimizer.step#%'")
        assert {(row["domain"], row["category"]) for row in domains} == {("torch", "user")}, domains
        steps = capturing.query(run, "SELECT origin, count(*) AS n FROM steps GROUP BY 1")
        assert [(row["origin"], row["n"]) for row in steps] == [("optimizer", 5)], steps
        threads = capturing.query(run, "SELECT tid, count(*) AS n FROM threads GROUP BY 1 HAVING n > 1")
        assert not threads, threads  # one row for the thread that recorded before PyTorch came


if not HEADERS or subprocess.run([capturing.PYTHON, "-c", "import nvtx"], stderr=subprocess.DEVNULL).returncode:
    if os.environ.get("CI"):
        sys.exit("the packages nvtx and nvidia-nvtx are not installed, and nothing may be left out")
    capturing.skip("the packages nvtx and nvidia-nvtx are not installed in %s" % capturing.PYTHON)
capturing.main(globals())
