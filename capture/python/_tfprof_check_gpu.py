"""What tfprof-capture --check says of GPUs: what CUPTI needs, where it was found, and what stands in its way.

Everything is looked at under a root, so that machines of all kinds can be tried in tests; only driver() and nvml()
call what is loaded, once another process has seen that it answers (asked()), and cupti_version() in such a process
alone.  Each function answers with lines of (name, text).
"""

import ctypes
import glob
import os
import re
import subprocess
import sys

CAP_SYS_ADMIN = 21
# The toolkits whose CUPTI counts its versions by one, <cupti_version.h>.
CUPTI_TOOLKITS = {15: "11.4", 16: "11.5", 17: "11.6", 18: "11.8 to 12.1", 19: "12.0", 20: "12.2", 21: "12.3",
                  22: "12.4", 23: "12.5", 24: "12.6", 26: "12.8", 27: "12.9", 28: "12.9"}
IN_CONTAINER = "start it with  docker run --gpus all -e NVIDIA_DRIVER_CAPABILITIES=compute,utility"
# cuInit's answers, <cuda.h>: what they mean here.
INIT_ERRORS = {
    100: "no device is left to this process; see CUDA_VISIBLE_DEVICES",
    802: "the system is not ready; on machines with NVSwitch the service nvidia-fabricmanager must run",
    803: "the library and the kernel module are of different versions of the driver; restart the machine, or use the "
         "driver's libraries that the machine has",
    804: "this GPU does not work with the compatibility libraries of a newer CUDA; leave them out of LD_LIBRARY_PATH",
}


def read(root, path):
    try:
        with open(root + path, errors="replace") as file:
            return file.read().strip()
    except OSError:
        return None


def is_container(root):
    return (os.path.exists(root + "/.dockerenv") or os.path.exists(root + "/run/.containerenv")
            or "KUBERNETES_SERVICE_HOST" in os.environ
            or bool(re.search(r"docker|kubepods|containerd|lxc", read(root, "/proc/1/cgroup") or "")))


def devices(root="", environment=os.environ):
    """Devices, the kernel module, and whether they are this process' to use; whether there is a GPU."""
    lines, found = [], sorted(glob.glob(root + "/dev/nvidia[0-9]*"))
    is_wsl = os.path.exists(root + "/dev/dxg")
    module = re.search(r"Kernel Module\D*([\d.]+)", read(root, "/proc/driver/nvidia/version") or "")
    if found:
        blocked = [path for path in [*found, root + "/dev/nvidiactl"] if not os.access(path, os.R_OK | os.W_OK)]
        text = "%d GPU%s" % (len(found), "" if len(found) == 1 else "s")
        if blocked:
            text += "; %s cannot be opened by this user: ask for the group that it belongs to" % blocked[0][len(root):]
        lines.append(("device", text))
    elif is_wsl:
        lines.append(("device", "WSL: /dev/dxg; CUPTI traces there from CUDA 11.7 and Windows 11 on, as an "
                                "administrator or with access to counters allowed in NVIDIA's control panel"))
    elif module and is_container(root):
        lines.append(("device", "none is seen in this container, though the machine has the driver; " + IN_CONTAINER))
    elif is_container(root):
        lines.append(("device", "none is seen (/dev/nvidia*); if the machine has one: " + IN_CONTAINER))
    else:
        lines.append(("device", "none is seen (/dev/nvidia*): kernels are not recorded here, all else is"))
    if module:
        lines.append(("module", "nvidia " + module.group(1)))
    elif found and not is_wsl:
        lines.append(("module", "not loaded: modprobe nvidia, as an administrator"))
    if glob.glob(root + "/proc/driver/nvidia/capabilities/gpu*/mig/gi*"):
        lines.append(("MIG", "instances are configured; CUDA_VISIBLE_DEVICES names one (MIG-...), of which kernels are "
                             "recorded as of a whole GPU"))
    visible = environment.get("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        lines.append(("visible", "CUDA_VISIBLE_DEVICES=%s%s" % (visible, "" if visible.strip() not in ("", "-1")
                                                              else ": no GPU is left to the program; unset it")))
    return lines, bool(found) or is_wsl


def permission(root=""):
    """Who may read counters of the GPU. Kernels, copies and calls need no permission but with some virtual GPUs."""
    restricted = re.search(r"RmProfilingAdminOnly:\s*(\d)", read(root, "/proc/driver/nvidia/params") or "")
    if not restricted:
        return []
    capable = re.search(r"CapEff:\s*([0-9a-f]+)", read(root, "/proc/self/status") or "")
    if restricted.group(1) == "0" or capable and int(capable.group(1), 16) >> CAP_SYS_ADMIN & 1:
        return [("permission", "given")]
    return [("permission", "counters of the GPU are for administrators only; kernels can be recorded all the same. "
                           "Where CUPTI refuses: options nvidia NVreg_RestrictProfilingToAdminUsers=0 in "
                           "/etc/modprobe.d and a restart, or a container with --cap-add SYS_ADMIN")]


def holders(root="", environment=os.environ):
    """Who else has, or may have, the one place that CUPTI has for a listener."""
    lines = []
    ours, injected = environment.get("TFPROF_LIBRARY"), environment.get("CUDA_INJECTION64_PATH")
    if injected and injected != ours:
        lines.append(("injection", "CUDA_INJECTION64_PATH is %s; unset it to have kernels recorded" % injected))
    if any(name.startswith("NSYS_") for name in environment):
        lines.append(("listener", "this runs under nsys, which has CUPTI to itself; start it without"))
    for path in glob.glob(root + "/proc/[0-9]*/comm"):
        if (read("", path) or "").startswith("nv-hostengine"):
            lines.append(("listener", "DCGM (nv-hostengine) runs; while it reads profiling counters CUPTI may be "
                                      "refused: dcgmi profp --pause, afterwards --resume"))
            break
    return lines


def libraries(root="", environment=os.environ, path=None):
    """The copies of libcupti that there are, that which is used first: of the program's Python, then of the toolkit.

    Where TFPROF_CUPTI names one, or a folder, no other."""
    named = environment.get("TFPROF_CUPTI")
    if named:
        return sorted(glob.glob(os.path.join(named, "libcupti.so*")), reverse=True) if os.path.isdir(named) else [named]
    found = []
    for folder in sys.path if path is None else path:
        found += sorted(glob.glob(os.path.join(folder, "nvidia", "*", "lib", "libcupti.so*")), reverse=True)
    for home in [environment.get("CUDA_HOME"), environment.get("CUDA_PATH"), root + "/usr/local/cuda",
                 *sorted(glob.glob(root + "/usr/local/cuda-*"), reverse=True)]:
        for below in ("extras/CUPTI/lib64", "lib64"):
            found += sorted(glob.glob(os.path.join(home, below, "libcupti.so*"))) if home else []
    for folder in ("/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib"):
        found += sorted(glob.glob(root + folder + "/libcupti.so*"))
    seen, copies = set(), []
    for name in found:
        real = os.path.realpath(name)
        if real not in seen:
            seen.add(real)
            copies.append(name)
    return copies


def cuda_version(number):
    """1000 * major + 10 * minor, as the driver has it."""
    return "%d.%d" % (number // 1000, number % 1000 // 10)


ANSWER_SECONDS = 20  # cuInit takes some, where a machine has many GPUs and nothing keeps the driver loaded
KILLED_SECONDS = 2   # a process that hangs in the kernel module does not even end when it is killed


def asked(code, *words):
    """What a process of its own prints that runs this code, (text, exit status); None: it does not end.

    It is not recorded, and listens to no injection of others."""
    environment = {name: value for name, value in os.environ.items()
                   if name not in ("CUDA_INJECTION64_PATH", "LD_PRELOAD")}
    process = subprocess.Popen([sys.executable, "-I", "-S", "-c", code, *words], stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment)
    for seconds in (ANSWER_SECONDS, KILLED_SECONDS):
        try:
            text, _ = process.communicate(timeout=seconds)
            return (text.strip(), process.returncode) if seconds == ANSWER_SECONDS else None
        except subprocess.TimeoutExpired:
            process.kill()
    return None


def hangs(what):
    return "%s did not return within %d s: a GPU or its driver hangs (see dmesg, nvidia-smi)" % (what, ANSWER_SECONDS)


ASK_CUPTI = """
import ctypes, sys
number = ctypes.c_uint32()
try:
    result = ctypes.CDLL(sys.argv[1]).cuptiGetVersion(ctypes.byref(number))
except (OSError, AttributeError) as error:
    print("cannot be loaded: %s" % error)
else:
    print("answers %d when it is asked for its version" % result if result else number.value)
"""
# Loads a library and calls a function of it with these numbers, whatever that answers.
ASK_WHETHER_IT_ANSWERS = """
import ctypes, sys
try:
    getattr(ctypes.CDLL(sys.argv[1]), sys.argv[2])(*map(int, sys.argv[3:]))
except (OSError, AttributeError):
    pass
"""


def cupti_version(path):
    """(what cuptiGetVersion says, None), or (None, why not).

    Without a driver that of CUDA 13.2 calls itself without end, and those of 13.3 to 13.5 answer 999."""
    answer = asked(ASK_CUPTI, path)
    if not answer:
        return None, "does not answer within %d s when it is asked for its version" % ANSWER_SECONDS
    said, status = answer
    if said.isdigit():
        return int(said), None
    return None, said or "does not bear to be asked for its version (exit status %d)" % status


def wheel_version(path):
    """Of a copy that came as a Python package: "13.2.86", by the package's name; else None."""
    site = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(path))))
    for folder in glob.glob(os.path.join(glob.escape(site), "nvidia_cuda_cupti*.dist-info")):
        name = re.match(r"nvidia_cuda_cupti(?:_cu(\d+))?-(\d+)\.(\d+\.\d+)", os.path.basename(folder))
        if name and (os.path.basename(path) + ".").startswith("libcupti.so.%s." % name.group(2)):
            return "%s.%s" % name.group(2, 3)
    return None


def cupti_faults(number):
    """What the recorder knows to be wrong with this version (capture/library/cuda/cupti_faults.c)."""
    try:
        describe = ctypes.CDLL(os.environ["TFPROF_LIBRARY"]).tfprof_capture_cupti_fault
    except (KeyError, OSError, AttributeError):
        return
    describe.restype = ctypes.c_char_p
    text, at = describe(number, 0), 0
    while text is not None:
        yield "fault", text.decode()
        at += 1
        text = describe(number, at)


def cupti_text(path, driver_version=None, asked=None):
    """What that copy is. CUPTI counts its versions from 13.0 on as 10000 * major + 100 * minor."""
    number, why = asked or cupti_version(path)
    if number is None:
        wheel = wheel_version(path)
        return "%s, CUDA %s, by the package that it came with; it %s" % (path, wheel, why) if wheel else (
            "%s %s" % (path, why))
    toolkit = CUPTI_TOOLKITS.get(number)
    if number >= 10000:
        toolkit = "%d.%d" % (number // 10000, number // 100 % 100)
    if not toolkit:
        too_old = ", of before CUDA 11.4: use a later one" if number < min(CUPTI_TOOLKITS) else ""
        return "%s, version %d%s" % (path, number, too_old)
    text, major = "%s, CUDA %s (version %d)" % (path, toolkit, number), int(toolkit.split(".")[0])
    if driver_version and driver_version // 1000 < major:
        text += "; the driver is for CUDA %s: update it, or use the CUPTI of CUDA %d" % (
            cuda_version(driver_version), driver_version // 1000)
    return text


def driver():
    """The driver's library, initialised as a program does: by that recording of the GPU begins. (lines, version)."""
    if not asked(ASK_WHETHER_IT_ANSWERS, "libcuda.so.1", "cuInit", "0"):
        return [("CUDA", hangs("cuInit"))], None
    try:
        library = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        return [("libcuda", "cannot be loaded (%s); it comes with NVIDIA's driver, and into a container with "
                            "--gpus all" % error)], None
    version, count, name = ctypes.c_int(), ctypes.c_int(), ctypes.create_string_buffer(128)
    result = library.cuInit(0)
    library.cuDriverGetVersion(ctypes.byref(version))
    with open("/proc/self/maps") as maps:
        path = next((line.split(None, 5)[5].strip() for line in maps if "libcuda.so" in line), "libcuda.so.1")
    lines = [("libcuda", "%s, for CUDA %s" % (path, cuda_version(version.value)))]
    if result:
        lines.append(("CUDA", "cuInit answers %d%s" % (result, ": " + INIT_ERRORS[result] if result in INIT_ERRORS
                                                       else "")))
        return lines, version.value
    library.cuDeviceGetCount(ctypes.byref(count))
    for ordinal in range(count.value):
        if library.cuDeviceGetName(name, len(name), ordinal) == 0:
            lines.append(("cuda:%d" % ordinal, name.value.decode(errors="replace")))
    return lines, version.value


def nvml(name="libnvidia-ml.so.1"):
    """Whether the driver tells what its GPUs measure."""
    if not asked(ASK_WHETHER_IT_ANSWERS, name, "nvmlInit_v2"):
        return [("NVML", hangs("nvmlInit"))]
    try:
        library = ctypes.CDLL(name)
        library.nvmlErrorString.restype = ctypes.c_char_p
        result = library.nvmlInit_v2()
        reason = library.nvmlErrorString(result).decode(errors="replace")
    except (OSError, AttributeError) as error:
        return [("NVML", "cannot be loaded (%s), so counters have nothing of GPUs; it comes with the driver, and into "
                         "a container with NVIDIA_DRIVER_CAPABILITIES=compute,utility" % error)]
    if result:
        return [("NVML", "answers %d, so counters have nothing of GPUs: %s" % (result, reason))]
    library.nvmlShutdown()
    return [("NVML", "ok: use, memory, clocks and power of each GPU, each second")]


def check(root=""):
    """All lines."""
    lines, _ = devices(root)
    told, version = driver()
    lines += told + nvml() + permission(root) + holders(root)
    copies = libraries(root)
    named = os.environ.get("TFPROF_CUPTI")
    if named and not any(os.path.exists(name) for name in copies):
        lines.append(("CUPTI", "TFPROF_CUPTI is %s, where no libcupti is; no other is looked for" % named))
    elif copies:
        asked = cupti_version(copies[0])
        lines.append(("CUPTI", cupti_text(copies[0], version, asked)))
        lines += cupti_faults(asked[0]) if asked[0] is not None else []
    else:
        lines.append(("CUPTI", "not found; it comes with the CUDA toolkit (CUDA_HOME) and with the CUDA builds of "
                               "PyTorch (nvidia-cuda-cupti)"))
    return lines
