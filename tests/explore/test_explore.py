"""`show`, `explain`, `analyze` in a terminal; the page that `explore` serves or writes, as a file and over HTTP."""

from __future__ import annotations

import http.client
import re
import runpy
import signal
import socket
import subprocess
import sys
import threading
from contextlib import closing
from functools import partial

import pytest

from explored import go, shown, type_into
from places import ROOT
from tilewright import cute
from tilewright.__main__ import main
from tilewright.analysis.layouts import analyze_layout
from tilewright.explore.operands import element_type
from tilewright.explore.page import page
from tilewright.explore.serve import make_server

L = cute.parse


# ---- in the terminal ----


def run(capsys, *arguments):
    """Exit status, what was printed, what was complained about."""
    status = main(arguments)
    out, err = capsys.readouterr()
    return status, out, err


def test_show_prints_what_cute_show_does(capsys):
    assert run(capsys, "show", "(4,8):(8,1)") == (0, f"{cute.show(L('(4,8):(8,1)'))}\n", "")
    a, b = L("(6,2):(8,2)"), L("(4,3):(3,1)")
    assert run(capsys, "show", "composition", str(a), str(b)) == (0, f"{cute.show('composition', a, b)}\n", "")
    tiler = (L("3:3"), L("(2,4):(1,8)"))
    expected = f"{cute.show(cute.zipped_divide, L('(9,(4,8)):(59,(13,1))'), tiler)}\n"
    assert run(capsys, "show", "zipped_divide", "(9,(4,8)):(59,(13,1))", "<3:3,(2,4):(1,8)>") == (0, expected, "")
    inverse = f"{cute.show(L('(8,4):(4,1)'))}\n"
    assert run(capsys, "show", "right_inverse", "(4,8):(8,1)") == (0, inverse, "")


def test_show_has_the_options_of_cute_show(capsys):
    tv = "((2,2),(2,3)):((2,12),(1,4))"
    assert run(capsys, "show", tv, "--tile", "(4,6)")[1] == f"{cute.show(L(tv), tile=(4, 6))}\n"
    marked = cute.show(L("(4,8):(8,1)"), at=(1, 2), color="mode")
    assert run(capsys, "show", "(4,8):(8,1)", "--at", "(1,2)", "--color", "mode")[1] == f"{marked}\n"


def test_show_colours_by_bank(capsys):
    expected = cute.show(L("(4,8):(8,1)"), color="bank", dtype=element_type("f16"))
    assert run(capsys, "show", "(4,8):(8,1)", "--color", "bank", "--dtype", "f16")[1] == f"{expected}\n"
    _, _, err = run(capsys, "show", "(4,8):(8,1)", "--color", "bank")
    assert err.startswith("python -m tilewright show: color='bank' needs")


def test_output_that_nobody_reads_is_no_error():
    command = [sys.executable, "-m", "tilewright", "show", "(64,64):(64,1)"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == ""


@pytest.mark.parametrize("format_", ["svg", "html", "tikz"])
def test_show_writes_files(capsys, tmp_path, format_):
    file = tmp_path / "picture"
    assert run(capsys, "show", "(4,8):(8,1)", f"--{format_}", str(file)) == (0, "", "")
    assert file.read_text(encoding="utf-8") == getattr(cute.show(L("(4,8):(8,1)")), format_)()
    status, _, err = run(capsys, "show", "(4,8):(8,1)", f"--{format_}", str(tmp_path / "no folder" / "picture"))
    assert status == 1
    assert "No such file or directory" in err


def test_explain_prints_the_derivation(capsys):
    a, b = L("(6,2):(8,2)"), L("(4,3):(3,1)")
    assert run(capsys, "explain", "composition", str(a), str(b)) == (0, f"{cute.explain('composition', a, b)}\n", "")
    assert run(capsys, "explain", "(4,8):(8,1)", "(1,2)") == (0, f"{cute.explain(L('(4,8):(8,1)'), (1, 2))}\n", "")


def test_analyze_prints_the_prediction(capsys, tmp_path):
    tile, f32 = L("(32,4):(36,1)"), element_type("f32")
    found = analyze_layout(tile, f32, memory="shared", width=16, base=0x100)
    file = tmp_path / "lanes.svg"
    options = ["--dtype", "f32", "--memory", "shared", "--width", "16", "--base", "0x100", "--svg", str(file)]
    assert run(capsys, "analyze", str(tile), *options) == (0, f"{found}\n", "")
    assert file.read_text(encoding="utf-8") == found.svg()


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["show", "(4,8"], "expected ')' at position 4"),
        (["show", "__import__('os')"], "parse"),
        (["show", "no_operation", "4:1"], "there is no operation 'no_operation'"),
        (["show", "4:1", "2:1"], "expected one layout"),
        (["show", "<4:1"], "has no closing '>'"),
        (["show", "<" * 100 + ">" * 100], "nested deeper than 64"),
        (["show", "zipped_divide", "4:1"], "zipped_divide takes TARGET TILER, but got 1 operand"),
        (["show", "left_inverse", "(2,2):(1,1)"], "left_inverse((2,2):(1,1)): "),
        (["show", "upcast", "(2,2):(1,3)", "2"], "upcast((2,2):(1,3), 2): "),
        (["explain", "coalesce", "4:1", "2", "3"], "coalesce takes LAYOUT [TARGET_PROFILE], but got 3 operands"),
        (["explain", "flatten", "4:1"], "there is no derivation of 'flatten'"),
        (["explain", "4:1"], "expected an operation and its operands, or a layout and a coordinate"),
        (["analyze", "32:1", "--dtype", "f3"], "there is no element type 'f3'"),
        (["analyze", "32", "--dtype", "f32"], "32 is no layout"),
        (["analyze", "(32,4):(4,1)", "--dtype", "f32", "--width", "16", "--base", "4"], "lane 0"),
        (["explore", "--port", "70000"], "is no port"),
    ],
)
def test_what_is_not_understood_has_exit_status_2(capsys, words, reason):
    status, out, err = run(capsys, *words)
    assert (status, out) == (2, "")
    assert err.startswith(f"python -m tilewright {words[0]}: ")
    assert reason in err
    assert "Traceback" not in err


BROKEN = ["composition (4,3):(1,5) 5:3", "complement (2,2):(2,3) 40", "left_inverse (4,4):(1,1)", "coalesce 6:1 (2,2)"]


@pytest.mark.parametrize("words", BROKEN)
@pytest.mark.parametrize("command", ["show", "explain"])
def test_an_operation_without_a_result_has_exit_status_2(capsys, tmp_path, command, words):
    name, *operands = words.split()
    with pytest.raises(cute.LayoutError) as error:
        getattr(cute, name)(*(L(x) for x in operands))
    status, out, message = run(capsys, command, name, *operands)
    assert (status, message) == (2, f"python -m tilewright {command}: {error.value}\n")
    # The reason is said once. What leads to it comes before; left_inverse has no picture of its own.
    assert bool(out) == (command == "explain" or name != "left_inverse")
    assert "LayoutError" not in out
    assert str(error.value) not in " ".join(out.split())
    if command == "show" and out:
        status, out, message = run(capsys, command, name, *operands, "--svg", str(tmp_path / "x.svg"))
        assert (status, out) == (2, "")
        assert "LayoutError" in (tmp_path / "x.svg").read_text()


@pytest.mark.parametrize("command", ["show", "explain", "analyze", "explore", "profile"])
def test_help(capsys, command):
    status, out, _ = run(capsys, command, "--help")
    assert status == 0
    assert f"usage: python -m tilewright {command}" in out
    assert run(capsys, command, "--nothing")[0] == 2
    assert ("raked_product" in out) == (command in ("show", "explain"))
    assert f"python -m tilewright {command} " in run(capsys, "--help")[1]


def test_explore_serves_until_it_is_interrupted():
    """Also where the tests run in a shell's background and ignore SIGINT, which the child would inherit."""
    heard = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    command = [sys.executable, "-m", "tilewright", "explore"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=heard
    ) as process:
        try:
            assert process.stdout is not None
            port = re.match(r"http://127\.0\.0\.1:(\d+)/  \(Ctrl-C ends it\)\n", process.stdout.readline())
            assert port
            with closing(http.client.HTTPConnection("127.0.0.1", int(port[1]), timeout=5)) as connection:
                connection.request("GET", "/")
                assert connection.getresponse().read().decode() == page()
            process.send_signal(signal.SIGINT)
            assert process.communicate(timeout=5) == ("\n", "")
            assert process.returncode == 0
        finally:
            process.kill()  # or a failure would wait for it


def test_a_taken_port_has_exit_status_1(capsys):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert run(capsys, "explore", "--port", str(taken.getsockname()[1]))[0] == 1


# ---- the page as a file, and the server ----


def test_the_compiled_core_is_of_these_sources():
    """If this fails: python scripts/build_page.py, with Emscripten, compiles core.wasm anew."""
    build = runpy.run_path(str(ROOT / "scripts/build_page.py"))
    module = build["RESULT"].read_bytes()
    assert len(module) < build["LIMIT"]
    assert build["recorded_digest"](module) == build["source_digest"]()


@pytest.mark.nightly
def test_the_core_is_what_its_sources_compile_to():
    """Compiling takes two minutes; that the sources are those it was compiled from is tested above."""
    build = runpy.run_path(str(ROOT / "scripts/build_page.py"))
    try:
        build["compiler"]()
    except SystemExit as missing:
        pytest.skip(str(missing))
    assert build["compiled"]() == build["RESULT"].read_bytes(), "run scripts/build_page.py"


def test_the_page_is_one_file_without_other_assets():
    html = page()
    assert html == page()
    assert len(html) < 1_000_000  # the pictures are in it, too
    addresses = set(re.findall(r"""https?://[^"'` ]+""", html))
    assert addresses == {"http://www.w3.org/2000/svg"}
    assert not re.search(r"@\w+@", html.partition("<script")[0])
    assert not re.search(r"^(import|export) ", html, re.MULTILINE)
    assert re.search(r"""default-src 'none'; script-src 'sha256-[\w+/=]+' 'wasm-unsafe-eval'""", html)


def test_explore_writes_the_page(capsys, tmp_path):
    file = tmp_path / "page.html"
    assert run(capsys, "explore", "--html", str(file)) == (0, "", "")
    assert file.read_text(encoding="utf-8") == page()


@pytest.fixture(scope="module")
def server():
    with make_server(0) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def answer(server, path="/", method="GET", host=None):
    """Status, headers and document of a request."""
    port = server.server_port
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    connection.request(method, path, headers={"Host": f"127.0.0.1:{port}" if host is None else host})
    response = connection.getresponse()
    document = response.read().decode()
    connection.close()
    return response.status, response.headers, document


def test_the_server_has_one_document(server):
    status, headers, document = answer(server)
    assert (status, document) == (200, page())
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert answer(server, "/?x=1")[0] == 200
    head = answer(server, method="HEAD")
    assert (head[0], head[1]["Content-Length"], head[2]) == (200, str(len(page().encode())), "")
    for path in ("/core.wasm", "/../../README.md", "//etc/passwd", "/etc/passwd", "/%2e%2e/", "index.html"):
        assert answer(server, path)[0] in (400, 404), path
    assert answer(server, method="POST")[0] == 501


def test_the_server_is_for_this_machine_and_these_names(server):
    assert server.server_address[0] == "127.0.0.1"
    port = server.server_port
    assert answer(server, host=f"localhost:{port}")[0] == 200
    for host in (
        "evil.example",
        f"evil.example:{port}",
        "127.0.0.1",
        "127.0.0.1:1",
        f"localhost:{port}.evil.example",
        "",
    ):
        status, _, document = answer(server, host=host)
        assert status == 421, host
        assert "script" not in document


def test_the_served_page_works(browser, server):
    go(browser, f"http://127.0.0.1:{server.server_port}/", "view=layout&layout=(3,2):(2,1)")
    assert shown(browser)["cells"] == ["0", "2", "4", "1", "3", "5"]
    type_into(browser, "layout", "(2,3):(3,1)")
    assert shown(browser)["derivation"].startswith("crd2idx((0,0), (2,3):(3,1))")
    assert browser.errors == []


def test_the_page_runs_its_own_script_and_fetches_nothing(browser, server):
    go(browser, f"http://127.0.0.1:{server.server_port}/")
    assert browser.run(
        """(() => { const script = document.createElement("script"); script.textContent = "window.foreign = 1";
        document.body.append(script); return window.foreign === undefined; })()"""
    )
    assert browser.run("fetch(location.href).then(() => 'fetched', error => error.constructor.name)") == "TypeError"


def test_presets_of_the_articles_have_their_layouts():
    """What a preset of the articles shows is in a picture of theirs."""
    text = (ROOT / "python/tilewright/explore/web/presets.js").read_text(encoding="utf-8")
    group = re.search(r'\["The articles", \[\n(.*?)\n  \]\],', text, re.S)
    assert group is not None
    seeds = (ROOT / "python/tilewright/show/seeds.py").read_text(encoding="utf-8")
    known = set(re.findall(r'"([^"\s]+:[^"\s]+)"', seeds))
    numbers = {str(x) for x in (24, 16, 32)}  # of complements
    for line in group[1].splitlines():
        given = dict(re.findall(r'\b(\w+): "(.*?)"', line))
        kind = {given.pop("view"), given.pop("operation", None)}
        if "make_layout_tv" in kind:  # the article's own call
            tiler, tv = cute.make_layout_tv(*(L(given[x]) for x in "ab"))
            assert (str(tv) in known, tuple(tiler)) == (True, (4, 6)), line
            continue
        given.pop("tile", None)
        assert given
        assert {x for x in given.values() if x} <= known | numbers | {"(2,3)"}, line
