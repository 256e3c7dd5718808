#!/usr/bin/env python3
"""Records lie where NVIDIA's own headers say: sizes and offsets of cupti_layout.h against the headers of several
versions of CUPTI, which come from the wheels of PyPI (and are kept in the tests' environment), or with a toolkit that
is installed here.
"""

import glob
import os
import re
import subprocess
import tempfile
import zipfile

import playing
from playing import capturing

# cuda.h is not in the wheels: what CUPTI's headers want of it is below.
WHEELS = (("nvidia-cuda-cupti-cu11", "11.8.87"), ("nvidia-cuda-cupti-cu12", "12.4.127"),
          ("nvidia-cuda-cupti-cu12", "12.8.90"),
          ("nvidia-cuda-cupti", "13.5.25"))
ENVIRONMENT = os.path.dirname(os.path.dirname(os.path.abspath(capturing.PYTHON)))
CACHE = os.path.join(ENVIRONMENT if "venv" in ENVIRONMENT else tempfile.gettempdir(), "cupti-headers")
CUDA_H = """#pragma once
#include <stddef.h>
#include <stdint.h>
#define CUDAAPI
typedef struct CUctx_st *CUcontext; typedef struct CUstream_st *CUstream; typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphNode_st *CUgraphNode; typedef struct CUgraphExec_st *CUgraphExec;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction; typedef struct CUevent_st *CUevent; typedef struct CUlinkState_st *CUlinkState;
typedef struct { char bytes[16]; } CUuuid; typedef struct CUaccessPolicyWindow_st CUaccessPolicyWindow;
typedef int CUresult, CUdevice, CUgraphNodeType, CUdevice_attribute, CUstreamAttrID, CUstreamAttrValue;
typedef unsigned long long CUdeviceptr; typedef struct { int x; } CUlaunchConfig;
"""
# Our structure and kind; NVIDIA's, without the number of the version; our fields and theirs, in order.
RECORDS = (
    ("cupti_kernel", 10, "Kernel", "cache_config registers start end device context stream grid block static_shared "
     "dynamic_shared local_per_thread correlation name queued submitted shared_executed graph_node graph cluster "
     "priority", "cacheConfig registersPerThread start end deviceId contextId streamId gridX blockX "
     "staticSharedMemory dynamicSharedMemory localMemoryPerThread correlationId name queued submitted "
     "sharedMemoryExecuted graphNodeId graphId clusterX priority"),
    ("cupti_memcpy", 1, "Memcpy", "direction source target flags bytes start end device context stream correlation "
     "graph_node graph", "copyKind srcKind dstKind flags bytes start end deviceId contextId streamId correlationId "
     "graphNodeId graphId"),
    ("cupti_memcpy_peers", 22, "MemcpyPtoP", "direction source target flags bytes start end device context stream "
     "source_device target_device correlation graph_node", "copyKind srcKind dstKind flags bytes start end deviceId "
     "contextId streamId srcDeviceId dstDeviceId correlationId graphNodeId"),
    ("cupti_memset", 2, "Memset", "value bytes start end device context stream correlation flags memory graph_node",
     "value bytes start end deviceId contextId streamId correlationId flags memoryKind graphNodeId"),
    ("cupti_call", 5, "API", "function start end process thread correlation result",
     "cbid start end processId threadId correlationId returnValue"),
    ("cupti_synchronization", 38, "Synchronization", "type start end correlation context stream event event_sync",
     "type start end correlationId contextId streamId cudaEventId cudaEventSyncId"),
    ("cupti_event", 36, "CudaEvent", "correlation context stream event event_sync",
     "correlationId contextId streamId eventId cudaEventSyncId"),
    ("cupti_overhead", 17, "Overhead", "overhead object object_id start end",
     "overheadKind objectKind objectId start end"),
    ("cupti_graph_trace", 51, "GraphTrace", "correlation start end device graph context stream",
     "correlationId start end deviceId graphId contextId streamId"),
    ("cupti_unified_memory", 25, "UnifiedMemoryCounter", "counter value start end address source target flags",
     "counterKind value start end address srcId dstId flags"),
    ("cupti_memory", 49, "Memory", "operation memory correlation address bytes time device context stream",
     "memoryOperationType memoryKind correlationId address bytes timestamp deviceId contextId streamId"),
    ("cupti_memory_pool", 50, "MemoryPool", "operation type device address bytes time",
     "memoryPoolOperationType memoryPoolType deviceId address size timestamp"),
    ("cupti_context", 9, "Context", "context device", "contextId deviceId"),
    ("cupti_stream", 37, "Stream", "context stream priority", "contextId streamId priority"),
    ("cupti_environment", 20, "Environment", "device time environment values",
     "deviceId timestamp environmentKind data"),
    ("cupti_jit", 52, "Jit", "entry operation start end correlation thread",
     "jitEntryType jitOperationType start end correlationId threadId"),
    ("cupti_pcie", 46, "Pcie", "type id generation rate width", "type id pcieGeneration linkRate linkWidth"),
    ("cupti_nvlink", 40, "NvLink", "types uuids count", "typeDev0 idDev0 physicalNvLinkCount"),
)


def fetched(name, version):
    """The folder of a wheel's headers; None: it cannot be had."""
    folder = os.path.join(CACHE, version)
    if not glob.glob(os.path.join(folder, "*.h")):
        with tempfile.TemporaryDirectory() as scratch:
            command = [capturing.PYTHON, "-m", "pip", "download", "-q", "--no-deps",
                       "--disable-pip-version-check", "-d", scratch, "%s==%s" % (name, version)]
            done = subprocess.run(command, capture_output=True, timeout=300)
            wheels = glob.glob(os.path.join(scratch, "*.whl"))
            if done.returncode or not wheels:
                return None
            os.makedirs(folder, exist_ok=True)
            with zipfile.ZipFile(wheels[0]) as wheel:
                for entry in wheel.namelist():
                    if re.search(r"/include/\w+\.h$", entry):
                        with open(os.path.join(folder, os.path.basename(entry)), "wb") as file:
                            file.write(wheel.read(entry))
    return folder


def installed():
    """The headers of toolkits that are here."""
    return [os.path.dirname(path) for path in glob.glob("/usr/local/cuda*/extras/CUPTI/include/cupti_activity.h")]


def newest(text, name):
    """NVIDIA's structure of the highest number, and its text."""
    found = re.findall(r"\}\s*CUpti_Activity(%s(\d*));" % name, text)
    full = max(found, key=lambda one: int(one[1] or 1))[0] if found else None
    braces = r"\{((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}"
    body = full and re.search(r"typedef struct[^{;]*%s\s*CUpti_Activity%s;" % (braces, full), text)
    return full, body.group(1) if body else ""


def program(folder, is_of_toolkit):
    """C that asserts; the name of the version is its output."""
    text = ""
    for name in ("cupti_activity.h", "cupti_activity_deprecated.h"):
        path = os.path.join(folder, name)
        if os.path.exists(path):
            with open(path, encoding="utf-8", errors="replace") as file:
                text += re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
    lines = ["#include <stdio.h>", "#include <cuda.h>", "#include <cupti_version.h>" if os.path.exists(
        os.path.join(folder, "cupti_version.h")) else "", "#include <cupti_activity.h>",
        "#include \"cuda/cupti_layout.h\"", "static int wrong;",
        "static void is(const char *what, size_t theirs, size_t ours) {",
        "  if (theirs == ours) return;",
        "  wrong++; printf(\"%s: %zu, and not %zu\\n\", what, theirs, ours); }",
        "int main(void) {",
        "  const struct cupti_layout *layout = cupti_layout_of(CUPTI_API_VERSION);"]
    compared = 0
    for ours, kind, theirs, our_fields, their_fields in RECORDS:
        full, body = newest(text, theirs)
        assert full, (folder, theirs)
        lines.append("  is(\"size of %s\", sizeof(CUpti_Activity%s), layout->sizes[%d] ? layout->sizes[%d] : "
                     "sizeof(CUpti_Activity%s));" % (full, full, kind, kind, full))
        for field, original in zip(our_fields.split(), their_fields.split(), strict=True):
            if re.search(r"\b%s\s*[;\[]" % original, body):
                compared += 1
                lines.append("  is(\"%s.%s\", offsetof(CUpti_Activity%s, %s), offsetof(struct %s, %s));" % (
                    full, original, full, original, ours, field))
    full, _ = newest(text, "NvLink")
    lines += ["  CUpti_Activity%s link = {0};" % full, "  link.bandwidth = 12345;",
              "  uint64_t rate = cupti_nvlink_rate((const void *)&link, CUPTI_API_VERSION, sizeof link);",
              "  is(\"rate of NVLink\", rate, 12345);" if not is_of_toolkit else "",
              "  printf(\"%d\\n\", CUPTI_API_VERSION);", "  return wrong != 0;", "}"]
    assert compared > 120, compared
    return "\n".join(lines)


def compare(folder, is_of_toolkit=False):
    library = os.path.join(playing.HERE, "..", "..", "capture", "library")
    with tempfile.TemporaryDirectory() as scratch:
        with open(os.path.join(scratch, "cuda.h"), "w", encoding="utf-8") as file:
            file.write(CUDA_H)
        for name in ("cuda_runtime_api.h", "builtin_types.h", "driver_types.h"):
            with open(os.path.join(scratch, name), "w", encoding="utf-8") as file:
                file.write("#include <cuda.h>\n")
        source, binary = os.path.join(scratch, "compare.c"), os.path.join(scratch, "compare")
        with open(source, "w", encoding="utf-8") as file:
            file.write(program(folder, is_of_toolkit))
        subprocess.run([os.environ.get("CC", "cc"), "-w", "-std=gnu11", "-I", scratch, "-I", folder, "-I", library,
                        "-o", binary, source, os.path.join(library, "cuda", "cupti_layout.c")], check=True)
        done = subprocess.run([binary], capture_output=True, text=True)
        assert done.returncode == 0, (folder, done.stdout)


def test_layouts():
    """Of every version that can be had."""
    missing = []
    for name, version in WHEELS:
        folder = fetched(name, version)
        if folder:
            compare(folder)
        else:
            missing.append(version)
    for folder in installed():
        compare(folder, True)
    if len(missing) == len(WHEELS) and not installed():
        capturing.skip("NVIDIA's headers of CUPTI cannot be had here: no wheel of %s" % ", ".join(missing))


playing.main(globals())
