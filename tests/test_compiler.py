"""From source to machine code: where NVRTC is found, what is compiled, what is kept, and what an error says."""

from __future__ import annotations

import copy
import ctypes
import os
import pickle
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from tilewright._core import cuda
from tilewright._runtime import compiler, discovery
from tilewright._runtime.device import architecture
from tilewright._runtime.discovery import find_nvrtc, kernels_folder
from tilewright._runtime.entry import unseal
from tilewright._runtime.errors import CacheWarning, CompileError, NvrtcError
from tilewright._runtime.program import Report, elf_sections, flatten, parse_report

FOUND = find_nvrtc().found
nvrtc = pytest.mark.skipif(FOUND is None, reason="no NVRTC: pip install nvidia-cuda-nvrtc")
SOURCE = """\
#include "tilewright/layout.cuh"
struct P { float const* a; float* b; };
template <int N> __global__ void k(P p) {
  __shared__ float s[N];
  s[threadIdx.x] = p.a[threadIdx.x];
  __syncthreads();
  p.b[threadIdx.x] = s[N - 1 - threadIdx.x];
}
"""


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    """Each test has a cache of its own and begins as a new process does."""
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("TILEWRIGHT_CACHE_SIZE", raising=False)
    compiler.forget()
    yield tmp_path / "cache"
    compiler.forget()


def run_python(code: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        text=True,
        capture_output=True,
        timeout=60,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()


class FakeNvrtc:
    """Compiles everything, at once, and counts."""

    version = (13, 0)
    build = "// V13.0.88"

    def __init__(self):
        self.compiled = []

    def compile(self, source, name, headers, options, names):
        self.compiled.append((source, name, headers, options, names))
        cubin = f"cubin {len(self.compiled)}".encode()
        ptx = f"//\n{self.build}\n//\n.version 9.0\n// {source}\n"
        return SimpleNamespace(ok=True, log="", ptx=ptx, cubin=cubin, lowered={name: "_" + name for name in names})


@pytest.fixture
def fake(monkeypatch, tmp_path):
    library = tmp_path / "lib/libnvrtc.so.13"
    library.parent.mkdir()
    library.write_text("")
    monkeypatch.setenv("TILEWRIGHT_NVRTC", str(library))
    fake = FakeNvrtc()

    def open_nvrtc(path):
        return fake

    open_nvrtc.cache_clear = lambda: None
    monkeypatch.setattr(compiler, "open_nvrtc", open_nvrtc)
    return fake


def compile_fake(**changed):
    """A program with something changed; without what is in memory."""
    compiler.forget()
    arguments = {"stem": "probe", "names": ["k<1>", "k<2>"], "arch": "sm_90a", "source": "x", **changed}
    stem, names, arch = (arguments.pop(name) for name in ("stem", "names", "arch"))
    return compiler.compile_program(stem, names, arch, **arguments)


# Memory, disk, compiler


def test_memory_then_disk_then_compiler(fake):
    first = compile_fake()
    again = compiler.compile_program("probe", ["k<1>", "k<2>"], "sm_90a", source="x")
    third = compile_fake()
    assert [program.from_cache for program in (first, again, third)] == [None, "memory", "disk"]
    assert first.cubin == again.cubin == third.cubin
    assert len(fake.compiled) == 1
    for name in ("stem", "names", "arch", "options", "key", "lowered", "report", "log", "ptx", "source"):
        assert getattr(first, name) == getattr(third, name), name


CHANGES = [
    {"stem": "probe2"},
    {"names": ["k<1>"]},
    {"names": ["k<2>", "k<1>"]},
    {"names": ["k<1>k<2>"]},
    {"arch": "sm_90"},
    {"source": "y"},
    {"headers": {"a.cuh": ""}},
    {"headers": {"a.cuh": "x"}},
    {"headers": {"a.cuhx": ""}},
]


def test_whatever_matters_changes_the_key(fake, monkeypatch, tmp_path):
    keys = [compile_fake(**change).key for change in [{}, *CHANGES]]
    monkeypatch.setattr(compiler, "OPTIONS", (*compiler.OPTIONS, "-lineinfo"))
    keys.append(compile_fake().key)
    monkeypatch.setattr(compiler, "OPTIONS", tuple(reversed(compiler.OPTIONS)))
    keys.append(compile_fake().key)
    kernels = tmp_path / "kernels"
    (kernels / "tilewright").mkdir(parents=True)
    monkeypatch.setattr(compiler, "kernels_path", lambda: str(kernels))
    for name, text in (("k.cuh", "1"), ("k.cuh", "2"), ("tilewright/a.cuh", "1")):
        (kernels / name).write_text(text)
        keys.append(compile_fake().key)
    assert len(set(keys)) == len(keys)


def test_an_order_of_headers_is_no_change(fake):
    first = compile_fake(headers={"a.cuh": "1", "b.cuh": "2"})
    assert compile_fake(headers={"b.cuh": "2", "a.cuh": "1"}).key == first.key


def test_another_nvrtc_of_the_same_version_changes_the_key(fake, tmp_path):
    first = compile_fake()
    assert compile_fake().from_cache == "disk"
    fake.build = "// V13.0.99"
    assert compile_fake().from_cache == "disk"  # the file has not changed, so nobody looks
    library = tmp_path / "lib/libnvrtc.so.13"
    for change in (lambda: library.write_text("longer"), lambda: os.utime(library, (1, 1)), lambda: renew(library)):
        change()
        compile_fake()
    assert len(fake.compiled) == 4  # each time to see which NVRTC this is
    assert compile_fake().key != first.key


def test_a_library_whose_file_is_gone(fake, tmp_path):
    """It is loaded, and was exchanged on disk by an upgrade."""
    compile_fake()
    compiler.forget()
    assert compiler.nvrtc_library().path == str(tmp_path / "lib/libnvrtc.so.13")
    (tmp_path / "lib/libnvrtc.so.13").unlink()
    program = compiler.compile_program("probe", ["k<1>", "k<2>"], "sm_90a", source="x")
    assert program.from_cache == "disk"
    assert len(fake.compiled) == 2


def renew(library: Path) -> None:
    """Another file of the same name, size and time, in a folder of the same time."""
    found, folder = library.stat(), library.parent.stat()
    new = library.with_name("new")
    new.write_bytes(library.read_bytes())
    os.utime(new, ns=(found.st_atime_ns, found.st_mtime_ns))
    new.rename(library)
    os.utime(library.parent, ns=(folder.st_atime_ns, folder.st_mtime_ns))


def test_headers_come_from_the_kernels_folder_and_from_the_caller(fake):
    compile_fake(headers={"extra.cuh": "1", "tilewright/layout.cuh": "2"})
    _, name, headers, options, names = fake.compiled[-1]
    assert name == "probe.cu"
    assert headers["extra.cuh"] == "1"
    assert headers["tilewright/layout.cuh"] == "2"
    own = {str(path.relative_to(kernels_folder())) for path in kernels_folder().rglob("*.cuh")}
    assert own == set(headers) - {"extra.cuh"}
    assert options == ["-arch=sm_90a", *compiler.OPTIONS]
    assert names == ["k<1>", "k<2>"]


def test_a_stem_is_a_file_of_the_kernels(fake, monkeypatch, tmp_path):
    (tmp_path / "copy.cuh").write_text("int x;\n")
    monkeypatch.setattr(compiler, "kernels_path", lambda: str(tmp_path))
    assert compile_fake(stem="copy", source=None).source == "// copy.cuh\nint x;\n"
    with pytest.raises(ValueError, match=r"move\.cuh is not in"):
        compile_fake(stem="move", source=None)


def test_threads_compile_once_and_get_the_same(fake, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", "off")
    real, got = fake.compile, []
    fake.compile = lambda *arguments: time.sleep(0.02) or real(*arguments)

    def want():
        got.append(compiler.compile_program("probe", ["k<1>"], "sm_90a", source="x"))

    threads = [threading.Thread(target=want) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(got) == 16
    assert len({program.cubin for program in got}) == 1
    assert len(fake.compiled) == 1


def test_a_thread_that_fails_lets_the_next_one_try(fake):
    def refuse(*arguments):
        return SimpleNamespace(ok=False, log="k.cu(1): error", cubin=None, ptx=None, lowered={})

    compile_fake()
    real, fake.compile = fake.compile, refuse
    with pytest.raises(CompileError):
        compile_fake(source="new")
    fake.compile = real
    assert compile_fake(source="new").from_cache is None


def test_without_a_disk_cache(fake, monkeypatch, own_cache):
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", "off")
    assert [compile_fake().from_cache for _ in range(2)] == [None, None]
    assert not own_cache.exists()


def test_a_cache_that_cannot_be_used_is_no_failure(fake, own_cache):
    own_cache.write_text("a file")
    with pytest.warns(CacheWarning, match="in memory only") as caught:
        assert compile_fake().from_cache is None
    assert len(caught) == 1


@nvrtc
def test_a_fork_while_another_thread_compiles(own_cache):
    """The child does not wait for a lock that only the parent's thread could free."""
    run_python("""
        import os, sys, threading, time, warnings
        warnings.simplefilter("ignore", DeprecationWarning)
        from tilewright._runtime import compiler

        def compile():
            return compiler.compile_program("probe", ["k<1>"], "sm_80",
                                            source="template <int N> __global__ void k(int x) {}")

        lock = compiler._lock_of(("probe", ("k<1>",), "sm_80", "template <int N> __global__ void k(int x) {}", ()))
        lock.acquire()
        compiler._guard.acquire()
        child = os.fork()
        if child == 0:
            os._exit(0 if compile().lowered else 1)
        for _ in range(300):
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                sys.exit(os.waitstatus_to_exitcode(status))
            time.sleep(0.05)
        os.kill(child, 9)
        sys.exit("the child waits")
    """)


def test_arguments_are_checked():
    for arch in ("90", "sm_90x", "compute_90", "sm_90 -I/", ""):
        with pytest.raises(ValueError, match="no architecture"):
            compiler.compile_program("probe", ["k"], arch, source="")


def test_architectures():
    assert [architecture(*capability) for capability in ((8, 0), (8, 9), (9, 0), (10, 0), (12, 1))] == [
        "sm_80",
        "sm_89",
        "sm_90a",
        "sm_100a",
        "sm_121a",
    ]


def test_a_program_is_loaded_once_on_a_device(fake, monkeypatch):
    loaded = []

    def load(device, cubin):
        loaded.append(device)
        return SimpleNamespace(function=lambda symbol: (device, cubin, symbol))

    monkeypatch.setattr(cuda, "load", load)
    program = compile_fake()
    assert compiler.kernel(program, "k<1>", 0) == (0, program.cubin, "_k<1>")
    assert compiler.kernel(program, "k<2>", 0) == (0, program.cubin, "_k<2>")
    assert compiler.kernel(copy.copy(program), "k<1>", 0) is compiler.kernel(program, "k<1>", 0)
    assert compiler.kernel(program, "k<1>", 1) == (1, program.cubin, "_k<1>")
    assert loaded == [0, 1]
    with pytest.raises(ValueError, match=r"'k<3>' is not in Program\(probe, sm_90a: k<1>, k<2>\)"):
        compiler.kernel(program, "k<3>", 0)


# With the real compiler


def compile_real(names=("k<32>", "k<0x20>", "k<64>"), arch="sm_90a", source=SOURCE, **named):
    return compiler.compile_program("probe", names, arch, source=source, **named)


@nvrtc
def test_a_program_and_what_it_takes():
    program = compile_real()
    assert program.from_cache is None
    assert set(program.lowered) == {"k<32>", "k<0x20>", "k<64>"}
    assert program.lowered["k<32>"] == program.lowered["k<0x20>"] == "_Z1kILi32EEv1P"
    assert {name: report.shared_bytes for name, report in program.report.items()} == {
        "k<32>": 128,
        "k<0x20>": 128,
        "k<64>": 256,
    }
    for report in program.report.values():
        assert 0 < report.registers < 32
        assert report.constant_bytes > 16
        assert report.spill_bytes == report.stack_bytes == 0
    assert f".text.{program.lowered['k<64>']}" in elf_sections(program.cubin)
    assert ".entry _Z1kILi64EEv1P" in program.ptx
    assert "struct Layout" in program.source
    assert "#include" not in program.source
    assert repr(program) == "Program(probe, sm_90a: k<32>, k<0x20>, k<64>)"


@nvrtc
def test_spills_and_stack_are_reported():
    source = """
        template <int N> __global__ void __launch_bounds__(1024, 2) spill(float* p) {
          float v[N];
        #pragma unroll
          for (int i = 0; i < N; ++i) v[i] = p[i * 1024 + threadIdx.x];
          __syncthreads();
        #pragma unroll
          for (int i = 0; i < N; ++i) p[i * 999 + threadIdx.x] = v[i] * v[N - 1 - i];
        }
        template <int N> __global__ void stack(float* p, int i) {
          float v[N];
          for (int j = 0; j < N; ++j) v[(j * i) % N] = p[j];
          *p = v[i];
        }
    """
    report = compile_real(["spill<96>", "stack<100>"], source=source).report
    assert report["spill<96>"].spill_bytes > 100
    assert report["spill<96>"].registers <= 32
    assert report["stack<100>"].stack_bytes == 400
    assert report["stack<100>"].spill_bytes == 0


@nvrtc
@pytest.mark.parametrize("arch", ["sm_80", "sm_90a", "sm_100a"])
def test_every_header_compiles_alone(arch):
    for path in sorted(kernels_folder().rglob("*.cuh")):
        if path.stem == "gemm_sm90" and arch == "sm_80":  # which has no clusters
            continue
        compile_real([], arch, f'#include "{path.relative_to(kernels_folder())}"\n')


@nvrtc
def test_the_flattened_source_compiles_to_the_same_code():
    program = compile_real()
    assert compile_real(source=program.source).ptx == program.ptx


@nvrtc
def test_a_disk_hit_does_not_load_nvrtc():
    compile_real()
    assert (
        run_python(f"""
        from tilewright._runtime import compiler
        program = compiler.compile_program("probe", ("k<32>", "k<0x20>", "k<64>"), "sm_90a", source={SOURCE!r})
        print(program.from_cache, "libnvrtc" in open("/proc/self/maps").read())
    """)
        == "disk False"
    )


@nvrtc
def test_a_disk_hit_takes_less_than_half_a_millisecond(own_cache):
    source, (own, tree) = SOURCE, compiler._kernel_headers()
    assert own
    assert tree
    compile_real()
    times = []
    for _ in range(100):
        compiler._programs.clear()
        begin = time.perf_counter()
        program = compile_real(source=source)
        times.append(time.perf_counter() - begin)
        assert program.from_cache == "disk"
    assert min(times) < 0.0005


@nvrtc
def test_a_byte_flipped_anywhere_in_a_program(own_cache):
    """Everywhere in what would be read, and in the file at each 97th place; smaller entries have it everywhere."""
    program = compile_real(["k<32>"])
    entry = own_cache / f"{program.key}.entry"
    good = entry.read_bytes()
    bad = bytearray(good)
    for at in range(len(good)):
        bad[at] ^= 0x10
        assert unseal(program.key, bytes(bad)) is None, at
        if at % 97 == 0:
            entry.write_bytes(bad)
            compiler.forget()
            again = compile_real(["k<32>"])
            assert (again.from_cache, again.cubin) == (None, program.cubin), at
        bad[at] ^= 0x10
    assert unseal(program.key, bytes(bad))["cubin"] == program.cubin


@nvrtc
def test_16_processes_compile_a_program_once(own_cache):
    code = f"""
        from tilewright._runtime import compiler
        print(compiler.compile_program("probe", ["k<32>"], "sm_80", source={SOURCE!r}).from_cache)
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(16)]
    printed = [process.communicate(timeout=60)[0].strip() for process in processes]
    assert sorted(printed) == ["None"] + ["disk"] * 15


@nvrtc
def test_no_file_of_the_current_directory_is_read(monkeypatch, tmp_path):
    (tmp_path / "planted.cuh").write_text("int planted;\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CompileError, match=r"planted\.cuh"):
        compile_real(["k<32>"], source='#include "planted.cuh"\n' + SOURCE)


# Errors


@nvrtc
def test_a_compile_error_shows_everything():
    header = "int a;\nint b;\nint c;\nint d;\nint e = nothing;\nint f;\n"
    with pytest.raises(CompileError) as caught:
        compile_real(["k<32>"], source='#include "h.cuh"\n' + SOURCE, headers={"h.cuh": header})
    error = caught.value
    assert 'h.cuh(5): error: identifier "nothing" is undefined' in error.log
    assert error.source == '#include "h.cuh"\n' + SOURCE
    assert error.options == ("-arch=sm_90a", *compiler.OPTIONS)
    assert error.names == ("k<32>",)
    text = str(error)
    assert text.startswith("NVRTC ")
    assert error.log.strip() in text
    assert "options: -arch=sm_90a --std=c++20" in text
    assert "names: k<32>" in text
    assert "h.cuh, line 5:\n    2 | int b;" in text
    assert '    1 | #include "h.cuh"\n    2 | #include "tilewright/layout.cuh"' in text
    assert text.endswith("    9 | }")
    assert str(pickle.loads(pickle.dumps(error))) == text


@nvrtc
def test_a_name_that_is_no_instantiation():
    with pytest.raises(CompileError, match=r"k<0\.5>"):
        compile_real(["k<0.5>"])


def test_no_nvrtc_says_where_it_was_sought_and_how_to_get_it(monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_NVRTC", "/nowhere/libnvrtc.so")
    with pytest.raises(NvrtcError, match=r"TILEWRIGHT_NVRTC: /nowhere/libnvrtc\.so is not a file") as caught:
        compile_real()
    assert '-m pip install "nvidia-cuda-nvrtc' in str(caught.value)
    monkeypatch.delenv("TILEWRIGHT_NVRTC")
    monkeypatch.setattr(discovery, "_places", lambda: iter([("here", []), ("there", [])]))
    compiler.forget()
    with pytest.raises(NvrtcError, match=r"Tried:\n  here: none\n  there: none"):
        compile_real()


def test_a_library_that_is_none(monkeypatch, tmp_path):
    (tmp_path / "libnvrtc.so.13").write_text("no library")
    monkeypatch.setenv("TILEWRIGHT_NVRTC", str(tmp_path / "libnvrtc.so.13"))
    with pytest.raises(NvrtcError, match=r"libnvrtc\.so\.13.*pip install"):
        compile_real()


# Finding NVRTC


@pytest.fixture
def nowhere(monkeypatch, tmp_path):
    """A machine without NVRTC."""
    for name in ("TILEWRIGHT_NVRTC", "CUDA_HOME", "CUDA_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "path", ["", "relative", str(tmp_path / "site-packages")])
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "prefix"))
    monkeypatch.setattr(discovery, "_loaded", list)
    monkeypatch.setattr(discovery, "_by_loader", list)
    monkeypatch.setattr(discovery.glob, "glob", lambda pattern: [])
    real = discovery._toolkit
    monkeypatch.setattr(discovery, "_toolkit", lambda folder: real(folder) if folder != "/usr/local/cuda" else [])
    return tmp_path


def plant(folder: Path, major: int) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    for name in (f"libnvrtc.so.{major}", f"libnvrtc.alt.so.{major}", f"libnvrtc-builtins.so.{major}.0"):
        (folder / name).write_text("")
    return str(folder / f"libnvrtc.so.{major}")


def test_nothing_is_found_where_nothing_is(nowhere, monkeypatch):
    plant(nowhere / "relative/nvidia/cu13/lib", 13)
    monkeypatch.chdir(nowhere)
    found, tried = find_nvrtc()
    assert found is None
    assert [line.split(":")[0] for line in tried][:4] == [
        "loaded in this process",
        "pip packages nvidia-cuda-nvrtc*",
        "CUDA_HOME",
        "CUDA_PATH",
    ]


def test_the_first_place_that_has_one_is_taken(nowhere, monkeypatch):
    """From the last place to the first: each new one comes before those found until then."""
    monkeypatch.setattr(discovery, "_by_loader", lambda: ["/lib/libnvrtc.so.12"])
    expected = ["/lib/libnvrtc.so.12"]
    assert find_nvrtc().found.path == expected[-1]

    plant(nowhere / "toolkit/lib64", 13)
    (nowhere / "toolkit/bin").mkdir()
    nvcc = nowhere / "toolkit/bin/nvcc"
    nvcc.write_text("")
    nvcc.chmod(0o700)
    (nowhere / "nvcc").symlink_to(nvcc)
    assert find_nvrtc().found == (str(nowhere / "toolkit/lib64/libnvrtc.so.13"), "nvcc on PATH", 13)

    conda = plant(nowhere / "prefix/lib", 12)
    assert find_nvrtc().found.path == conda
    for name in ("CUDA_PATH", "CUDA_HOME"):
        toolkit = plant(nowhere / name / "lib", 13)
        monkeypatch.setenv(name, str(nowhere / name))
        assert find_nvrtc().found == (toolkit, name, 13)
    cuda12 = plant(nowhere / "site-packages/nvidia/cuda_nvrtc/lib", 12)
    assert find_nvrtc().found.path == cuda12
    cuda13 = plant(nowhere / "site-packages/nvidia/cu13/lib", 13)
    assert find_nvrtc().found == (cuda13, "pip packages nvidia-cuda-nvrtc*", 13)
    monkeypatch.setattr(discovery, "_loaded", lambda: ["/opt/libnvrtc.so.12"])
    assert find_nvrtc().found.path == "/opt/libnvrtc.so.12"
    monkeypatch.setenv("TILEWRIGHT_NVRTC", nvcc.as_posix())
    assert find_nvrtc().found == (nvcc.as_posix(), "TILEWRIGHT_NVRTC", None)


def test_one_that_is_newer_than_the_driver_is_the_last_resort(nowhere):
    cuda13 = plant(nowhere / "site-packages/nvidia/cu13/lib", 13)
    found, tried = find_nvrtc(12)
    assert found.path == cuda13
    assert any("is of CUDA 13, the driver of CUDA 12" in line for line in tried)
    cuda12 = plant(nowhere / "site-packages/nvidia/cuda_nvrtc/lib", 12)
    assert find_nvrtc(12).found.path == cuda12
    assert find_nvrtc(13).found.path == cuda13


def test_the_libraries_of_a_folder(nowhere):
    folder = nowhere / "lib"
    plant(folder, 12)
    (folder / "libnvrtc.so.13.0.88").write_text("")
    (folder / "libnvrtc.so.13").symlink_to("libnvrtc.so.13.0.88")
    (folder / "libnvrtc.so").symlink_to("libnvrtc.so.13")
    found = discovery._libraries(str(folder))
    assert [(os.path.basename(path), discovery._major(path)) for path in found] == [
        ("libnvrtc.so", 13),
        ("libnvrtc.so.12", 12),
    ]


@nvrtc
def test_one_that_is_loaded_already_is_found(monkeypatch):
    monkeypatch.delenv("TILEWRIGHT_NVRTC", raising=False)
    ctypes.CDLL(FOUND.path)
    found = find_nvrtc().found
    assert found.origin == "loaded in this process"
    assert os.path.samefile(found.path, FOUND.path)


def test_searching_imports_neither_torch_nor_numpy():
    code = """
        import sys
        from tilewright._runtime import compiler
        from tilewright._runtime.discovery import find_nvrtc
        find_nvrtc()
        print(sorted({"torch", "numpy"} & set(sys.modules)))
    """
    assert run_python(code) == "[]"


def test_the_package_loads_nothing_of_this_by_itself():
    code = """
        import sys, tilewright, tilewright.cute, tilewright.kernels
        print([name for name in sys.modules if name.startswith("tilewright._runtime.")])
    """
    assert run_python(code) == "[]"


# Texts


def test_report_of_a_kernel_that_calls_a_function():
    log = """\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_a' for 'sm_90a'
ptxas info    : Function properties for _called
    48 bytes stack frame, 8 bytes spill stores, 4 bytes spill loads
ptxas info    : Function properties for _a
    16 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Function properties for _called_too
    96 bytes stack frame, 8 bytes spill stores, 4 bytes spill loads
ptxas info    : Used 24 registers, used 0 barriers, 64 bytes cumulative stack size
ptxas info    : Compiling entry function '_b' for 'sm_90a'
ptxas info    : Function properties for _b
    0 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads
ptxas info    : Used 255 registers, used 1 barriers, 1024+16 bytes smem
"""
    assert parse_report(log, {"a": "_a", "b": "_b", "absent": "_c"}) == {
        "a": Report(24, 0, 0, 16, 0),
        "b": Report(255, 12, 1024, 0, 0),
    }


def test_flatten_puts_each_header_once_and_leaves_the_unknown():
    headers = {
        "a.cuh": '#pragma once\n#include "d/b.cuh"\nint a;\n',
        "d/b.cuh": "#pragma once\nint b;\n",
    }
    source = '#include "a.cuh"\n# include  "d/b.cuh"\n#include "unknown.cuh"\n#include <system>\nint c;\n'
    assert flatten(source, headers) == (
        '// a.cuh\n// d/b.cuh\nint b;\nint a;\n\n#include "unknown.cuh"\n#include <system>\nint c;\n'
    )
