"""From source to machine code: what is compiled, what is kept, and what an error says."""

from __future__ import annotations

import copy
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

from compiling import nvrtc, run_python
from tilewright._core import cuda
from tilewright.devices import architecture
from tilewright.runtime import compiler, discovery
from tilewright.runtime import nvrtc as nvrtc_module
from tilewright.runtime.discovery import kernels_folder
from tilewright.runtime.entry import unseal
from tilewright.runtime.errors import CacheWarning, CompileError, NvrtcError
from tilewright.runtime.ptxas import elf_sections

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
    monkeypatch.setattr(nvrtc_module, "open_nvrtc", open_nvrtc)
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


@pytest.mark.parametrize(
    ("version", "told"),
    [((12, 3), set()), ((12, 4), {"--minimal"}), ((12, 9), {"--minimal", "--no-cache"}), ((13, 1), {"--minimal", "--no-cache"})],
)
def test_an_nvrtc_is_told_only_what_it_knows(fake, version, told):
    fake.version = version
    program = compile_fake()
    assert {"--minimal", "--no-cache"} & set(fake.compiled[-1][3]) == told
    assert program.options == tuple(fake.compiled[-1][3])


def test_an_nvrtc_that_is_too_old_is_refused(monkeypatch, tmp_path):
    from tilewright._core import cuda

    library = tmp_path / "libnvrtc.so.12"
    library.write_text("")
    monkeypatch.setattr(cuda, "Nvrtc", lambda path: FakeNvrtc())
    monkeypatch.setattr(FakeNvrtc, "version", (12, 2))
    monkeypatch.setenv("TILEWRIGHT_NVRTC", str(library))
    with pytest.raises(NvrtcError, match=r"NVRTC 12\.2 .* is too old: the kernels need 12\.3 or newer; .*cu12==12"):
        compile_fake()


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
        from tilewright.runtime import compiler

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
        if path.stem in ("gemm_sm90", "box_probe") and arch == "sm_80":  # which has no clusters
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
        from tilewright.runtime import compiler
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
        from tilewright.runtime import compiler
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
