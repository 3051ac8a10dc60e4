"""`cute.explore`: the page as a widget, whose state Python and the page both change."""

from __future__ import annotations

import json
import sys

import pytest

from tilewright import cute
from tilewright.explore import widget
from tilewright.explore.operands import notation, operand
from tilewright.explore.page import script
from tilewright.explore.widget import state_of, value_of

L = cute.parse
# A notebook's end of a widget: what is set from Python, and what is saved for it.
MODEL = """
class Model {
  constructor(state) { this.state = { state }; this.heard = new Set(); this.saved = []; this.sent = {}; }
  get(name) { return this.state[name]; }
  set(name, value) { this.sent[name] = value; this.hear(name, value); }
  save_changes() { this.saved.push(this.sent); this.sent = {}; }
  on(event, call) { if (event === "change:state") this.heard.add(call); }
  off(event, call) { this.heard.delete(call); }
  hear(name, value) { this.state[name] = value; for (const call of this.heard) call(); }
}
"""


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    """A page with the widget's module in it, as a notebook has it; it is drawn by `draw(state)`."""
    folder = tmp_path_factory.mktemp("widget")
    html = f"""<!doctype html><meta charset="utf-8"><style>button {{ color: red !important }}</style>
    <body><div id="cell"></div><script type="module">
    {script("widget")}
    {MODEL}
    globalThis.draw = async state => {{
      globalThis.model = new Model(state);
      globalThis.end = await renderWidget({{ model, el: document.getElementById("cell") }});
    }};
    </script></body>"""
    (folder / "widget.html").write_text(html, encoding="utf-8")
    return (folder / "widget.html").as_uri()


def draw(browser, url, state):
    browser.open("about:blank")
    browser.open(url)
    browser.wait("globalThis.draw")
    browser.run(f"draw({json.dumps(state)})")
    assert browser.errors == []


ROOT = "document.getElementById('cell').shadowRoot"


def test_the_page_changes_the_state(browser, url):
    draw(browser, url, state_of(cute.composition, "(6,2):(8,2)", "(4,3):(3,1)"))
    state = browser.run("model.saved.at(-1).state")
    assert value_of(state) == L("((2,2),3):((24,2),8)")
    browser.run(
        f"""(field => {{ field.value = "(2,3):(3,1)"; field.dispatchEvent(new Event("input", {{ bubbles: true }})); }})
        ({ROOT}.querySelector("[name=b]"))"""
    )
    browser.wait("model.saved.at(-1).state.b === '(2,3):(3,1)'")
    assert value_of(browser.run("model.saved.at(-1).state")) == cute.composition(L("(6,2):(8,2)"), L("(2,3):(3,1)"))


def test_python_changes_the_page(browser, url):
    draw(browser, url, state_of("(4,8):(8,1)"))
    saved = browser.run("model.saved.length")
    browser.run(f"model.hear('state', {json.dumps(state_of(L('(2,3):(3,1)')))})")
    assert browser.run(f"{ROOT}.querySelector('[name=layout]').value") == "(2,3):(3,1)"
    texts = browser.run(f"[...{ROOT}.querySelectorAll('.stage text')].map(x => x.textContent)")
    assert set("012345") <= set(texts)
    assert "(2,3):(3,1)" in texts
    assert browser.run("model.saved.length") <= saved + 1  # the whole of the state, and nothing for ever
    browser.run("end()")
    assert browser.run("model.heard.size") == 0


def test_the_widget_keeps_to_its_cell(browser, url):
    """The notebook's style does not reach it, the keys of the notebook are not taken, and it is as wide as its cell."""
    draw(browser, url, {})
    assert browser.run(f"getComputedStyle({ROOT}.querySelector('.tabs button')).color") != "rgb(255, 0, 0)"
    stopped = "document.dispatchEvent(new KeyboardEvent('keydown', { key: '/', cancelable: true }))"
    assert browser.run(stopped)
    assert browser.run("document.documentElement.scrollWidth <= innerWidth")
    assert browser.run(f"{ROOT}.querySelector('.stage svg').getBoundingClientRect().width") > 300


def test_states_of_objects():
    assert state_of(L("S<2,0,3>")) == {"view": "layout", "layout": "S<2,0,3>"}
    assert state_of(L("(8,4):(1,8)"), tile=(4, 8)) == {"view": "tv", "tv": "(8,4):(1,8)", "tile": "(4,8)"}
    divided = state_of(cute.zipped_divide, L("(9,(4,8)):(59,(13,1))"), (L("3:3"), L("(2,4):(1,8)")))
    assert divided["b"] == "<3:3,(2,4):(1,8)>"
    assert value_of(divided) == cute.zipped_divide(L("(9,(4,8)):(59,(13,1))"), (L("3:3"), L("(2,4):(1,8)")))
    assert state_of("4:1", color="bank")["color"] == "bank"
    for x in ((4, (2, None)), (L("3:1"), 4), L("S<1,1,2> o 0 o (4,4):(4,1)"), 7):
        assert operand(notation(x)) == x
    with pytest.raises(TypeError, match="takes a layout, a swizzle, or an operation and its operands, not 3"):
        state_of(3)
    with pytest.raises(TypeError, match="there is no operation no_such of 1 operands"):
        state_of("no_such", "4:1")


def test_without_anywidget_the_error_says_what_to_install(monkeypatch):
    widget._widget.cache_clear()
    monkeypatch.setitem(sys.modules, "anywidget", None)
    with pytest.raises(ImportError, match=r"pip install anywidget\. .*tilewright explore"):
        cute.explore("(4,8):(8,1)")


def test_the_widget_has_state_and_value():
    pytest.importorskip("anywidget")
    widget._widget.cache_clear()
    shown = cute.explore(cute.composition, "(6,2):(8,2)", "(4,3):(3,1)")
    assert shown.value == L("((2,2),3):((24,2),8)")
    heard = []
    shown.observe(lambda change: heard.append(change["new"]), "state")
    shown.value = cute.make_layout((4, 8))
    assert heard == [{"view": "layout", "layout": "(4,8):(1,4)"}]
    shown.set_state({"state": {"view": "layout", "layout": "(2,2):(2,1)"}})  # as the page says it
    assert shown.value == L("(2,2):(2,1)")
    assert "renderWidget" in str(shown._esm)
