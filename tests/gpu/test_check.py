#!/usr/bin/env python3
"""What tfprof-capture --check says of GPUs, on machines of all kinds: each is a folder with the files that tell of it.

And on this machine: as it is, and with a double of the driver in its place.
"""

import ast
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "capture"), os.path.join(HERE, "..", "..", "capture", "python")]
import capturing  # noqa: E402
import _tfprof_check_gpu as looked  # noqa: E402

MODULE = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  Sun Jul 27 2025\nGCC version: 12\n"


def machine(directory, **files):
    """A root with these files; __ stands for a slash."""
    for name, text in files.items():
        path = os.path.join(directory, name.replace("__", "/"))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)
    return directory


def lines(function, files, environment=None):
    with capturing.Directory() as directory:
        answer = function(machine(directory, **files), environment or {})
        return dict(answer[0] if isinstance(answer, tuple) else answer)


def test_devices():
    gpu = {"dev__nvidia0": "", "dev__nvidia1": "", "dev__nvidiactl": "", "proc__driver__nvidia__version": MODULE}
    assert lines(looked.devices, gpu) == {"device": "2 GPUs", "module": "nvidia 580.65.06"}
    assert "modprobe nvidia" in lines(looked.devices, {"dev__nvidia0": "", "dev__nvidiactl": ""})["module"]
    assert "cannot be opened by this user" in lines(looked.devices, {"dev__nvidia0": ""})["device"]
    assert "kernels are not recorded here" in lines(looked.devices, {})["device"]
    assert "docker run --gpus all" in lines(looked.devices, {".dockerenv": ""})["device"]
    assert "though the machine has the driver" in lines(
        looked.devices, {"proc__1__cgroup": "0::/kubepods/x\n", "proc__driver__nvidia__version": MODULE})["device"]
    assert "WSL" in lines(looked.devices, {"dev__dxg": ""})["device"]
    instance = "proc__driver__nvidia__capabilities__gpu0__mig__gi1__access"
    assert "MIG-..." in lines(looked.devices, {**gpu, instance: ""})["MIG"]
    assert "no GPU is left" in lines(looked.devices, gpu, {"CUDA_VISIBLE_DEVICES": ""})["visible"]
    assert lines(looked.devices, gpu, {"CUDA_VISIBLE_DEVICES": "1"})["visible"] == "CUDA_VISIBLE_DEVICES=1"


def test_permission():
    def said(restricted, capabilities):
        files = {"proc__driver__nvidia__params": f"Mobile: 4\nRmProfilingAdminOnly: {restricted}\n",
                 "proc__self__status": f"Name: x\nCapEff:\t{capabilities:016x}\n"}
        return lines(lambda root, _: looked.permission(root), files)

    assert said(0, 0) == said(1, 1 << 21) == {"permission": "given"}
    assert "NVreg_RestrictProfilingToAdminUsers=0" in said(1, 1 << 20)["permission"]
    assert lines(lambda root, _: looked.permission(root), {}) == {}


def test_holders():
    assert lines(looked.holders, {"proc__12__comm": "python\n"}) == {}
    assert "dcgmi profp" in lines(looked.holders, {"proc__12__comm": "nv-hostengine\n"})["listener"]
    assert "under nsys" in lines(looked.holders, {}, {"NSYS_PROFILING_SESSION_ID": "1"})["listener"]
    assert "/other.so" in lines(looked.holders, {}, {"CUDA_INJECTION64_PATH": "/other.so"})["injection"]
    assert lines(looked.holders, {}, {"CUDA_INJECTION64_PATH": "/a", "TFPROF_LIBRARY": "/a"}) == {}


def test_libraries():
    """That of the program's Python first, then CUDA_HOME, then the others; each once."""
    with capturing.Directory() as directory:
        machine(directory, **{"site__nvidia__cuda_cupti__lib__libcupti.so.12": "",
                              "home__extras__CUPTI__lib64__libcupti.so.13": "",
                              "usr__local__cuda-12.4__extras__CUPTI__lib64__libcupti.so.12": ""})
        os.symlink("cuda-12.4", os.path.join(directory, "usr/local/cuda"))
        found = looked.libraries(directory, {"CUDA_HOME": os.path.join(directory, "home")},
                                 [os.path.join(directory, "site")])
        assert [path[len(directory) + 1:] for path in found] == [
            "site/nvidia/cuda_cupti/lib/libcupti.so.12", "home/extras/CUPTI/lib64/libcupti.so.13",
            "usr/local/cuda/extras/CUPTI/lib64/libcupti.so.12"], found
        assert looked.libraries(os.path.join(directory, "home"), {}, []) == []
        folder = os.path.dirname(found[1])
        for named, copies in ((folder, [found[1]]), (found[2], [found[2]]), (directory, [])):
            assert looked.libraries(directory, {"TFPROF_CUPTI": named}) == copies, named
        assert "cannot be loaded" in looked.cupti_text(found[0])


def test_versions():
    """A driver that is older than the toolkit."""
    with tempfile.TemporaryDirectory() as directory:
        for number, driver, wanted in ((130000, 13000, "CUDA 13.0"), (24, 12040, "CUDA 12.6"),
                                       (22, 11080, "driver is for CUDA 11.8: update it, or use the CUPTI of CUDA 11"),
                                       (18, 13000, "CUDA 11.8"), (14, 11020, "of before CUDA 11.4"),
                                       (29, 13000, "version 29"), (130100, 12080, "driver is for CUDA 12.8: update")):
            path = os.path.join(directory, f"libcupti.so.{number}")
            code = f"int cuptiGetVersion(unsigned *v); int cuptiGetVersion(unsigned *v) {{ *v = {number}; return 0; }}"
            subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-xc", "-", "-o", path],
                           input=code.encode(), check=True)
            assert wanted in looked.cupti_text(path, driver), looked.cupti_text(path, driver)


def test_silent_versions():
    """CUPTI that answers nothing without a driver, and one that ends whoever asks: the package's name tells."""
    with capturing.Directory() as directory:
        for wheel, code, wanted in (("13.4.92", "return 999;", "it answers 999 when"),
                                    ("13.2.86", "return *(volatile int *)0;", "does not bear to be asked")):
            site = os.path.join(directory, wheel)
            path = os.path.join(site, "nvidia", "cu13", "lib", "libcupti.so.13")
            os.makedirs(os.path.dirname(path))
            os.makedirs(os.path.join(site, f"nvidia_cuda_cupti-{wheel}.dist-info"))
            os.makedirs(os.path.join(site, "nvidia_cuda_cupti_cu12-12.4.127.dist-info"))
            subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-xc", "-", "-o", path], check=True,
                           input=f"int cuptiGetVersion(unsigned *v) {{ {code} }}".encode())
            text = looked.cupti_text(path)
            assert f"CUDA {wheel}, by the package" in text and wanted in text, text


def test_faults():
    """What is wrong with a version is told with it, by the recorder's own table."""
    os.environ["TFPROF_LIBRARY"] = os.path.join(os.path.abspath(capturing.BUILD), "libtfprof_capture.so")
    try:
        told = [text for _, text in looked.cupti_faults(22)]
        assert any("CUDA 12.4 may record no kernels" in text for text in told) and len(told) > 3, told
        assert len(list(looked.cupti_faults(130500))) == 2  # that nobody has mended
    finally:
        del os.environ["TFPROF_LIBRARY"]


def test_nvml():
    assert "cannot be loaded" in dict(looked.nvml("libnvidia-ml.so.none"))["NVML"]
    with tempfile.TemporaryDirectory() as directory:
        for result, wanted in ((0, "ok: "), (18, "answers 18, so counters have nothing of GPUs: mismatch")):
            path = os.path.join(directory, f"libnvidia-ml.so.{result}")
            code = (f"int nvmlInit_v2(void) {{ return {result}; }} int nvmlShutdown(void) {{ return 0; }}"
                    'const char *nvmlErrorString(int result) { return result == 18 ? "mismatch" : "?"; }')
            subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-xc", "-", "-o", path],
                           input=code.encode(), check=True)
            assert dict(looked.nvml(path))["NVML"].startswith(wanted), looked.nvml(path)


def test_hanging():
    """A driver that never answers, as where a GPU has fallen off the bus: it is told, and the check ends."""
    code = """int cuInit(unsigned flags); int cuInit(unsigned flags) { for (;;) pause(); return (int)flags; }
              int nvmlInit_v2(void); int nvmlInit_v2(void) { for (;;) pause(); return 0; }
              int cuptiGetVersion(unsigned *v); int cuptiGetVersion(unsigned *v) { for (;;) pause(); return !v; }"""
    with tempfile.TemporaryDirectory() as directory:
        for name in ("libcuda.so.1", "libnvidia-ml.so.1", "libcupti.so.13"):
            subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-xc", "-", "-o",
                            os.path.join(directory, name)], input=("#include <unistd.h>\n" + code).encode(), check=True)
        program = "import _tfprof_check_gpu as looked; looked.ANSWER_SECONDS = 0.5; print(dict(looked.check()))"
        result = capturing.bounded.run(
            [sys.executable, "-c", program], capturing.SECONDS, env=dict(
                os.environ, LD_LIBRARY_PATH=directory, TFPROF_CUPTI=directory,
                PYTHONPATH=os.path.dirname(os.path.abspath(looked.__file__))))
        told = ast.literal_eval(result.stdout)
        assert "cuInit did not return" in told["CUDA"] and "nvmlInit did not return" in told["NVML"], told
        assert "does not answer within" in told["CUPTI"], told


def test_here():
    """The whole of it, as users call it."""
    result = subprocess.run([os.path.join(capturing.BUILD, "tfprof-capture"), "--check", "--", capturing.PYTHON],
                            capture_output=True, text=True)
    assert result.returncode == 0 and "\nGPU\n  device     " in result.stdout, result
    assert "  CUPTI      " in result.stdout and "So a program of this Python can be recorded." in result.stdout, result
    if not looked.devices()[1]:  # all is gone through, and each obstacle told with its fix
        assert "  device     none is seen" in result.stdout, result
    for name in ("libcuda", "NVML"):
        assert "  %-11s" % name in result.stdout, result
        assert ("%s  cannot be loaded" % name).replace(" ", "") not in result.stdout.replace(" ", "") or \
            "it comes with" in result.stdout, result
    os.environ["TFPROF_CUPTI"] = "/none"
    assert "TFPROF_CUPTI is /none, where no libcupti is" in dict(looked.check())["CUPTI"], looked.check()


capturing.main(globals())
