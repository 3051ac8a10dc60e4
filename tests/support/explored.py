"""The interactive page under test: opened, typed into, read."""

from __future__ import annotations

import json

from tilewright import cute


def go(browser, url, fragment="", **options):
    """Load the page anew and wait until it has computed."""
    browser.open("about:blank")
    browser.open(f"{url}#{fragment}", **options)
    browser.wait("document.body.dataset.ready")
    assert browser.errors == []


def type_into(browser, name, text):
    """Write into a field, or choose in it, and see what follows at once."""
    browser.run(
        f"""(() => {{ const field = explorer.frame.querySelector("[name={name}]"); field.value = {json.dumps(text)};
        field.dispatchEvent(new Event("input", {{ bubbles: true }})); explorer.update(); }})()"""
    )


def open_tab(browser, name):
    browser.run(f"""explorer.frame.querySelector('.inspector [data-key="{name}"]').click()""")


def shown(browser, panel=-1):
    """What the page says: the cells of a panel column by column, facts, derivation, error."""
    return browser.run(
        f"""(() => {{
        const texts = list => [...explorer.frame.querySelectorAll(list)].map(x => x.textContent);
        const cells = explorer.scene.panels.at({panel}).cells.toSorted((a, b) => a.column - b.column || a.row - b.row);
        const names = texts(".values dt"), values = texts(".values dd");
        return {{
        cells: cells.map(cell => cell.lines.join(" ")),
        owners: cells.map(cell => cell.owner ?? null),
        marked: cells.flatMap((cell, i) => cell.marked ? [i] : []),
        values: Object.fromEntries(names.map((name, i) => [name, values[i]])),
        facts: Object.fromEntries(texts(".facts dt").map((name, i) => [name, texts(".facts dd")[i]])),
        derivation: explorer.scene.derivation?.()?.join("\\n") ?? "",
        error: texts(".error p:first-child").concat(texts(".general")).filter(Boolean).join(" "),
        stale: explorer.frame.classList.contains("stale"),
        hash: location.hash,
        }}; }})()"""
    )


def rows_of(browser):
    """The rows of the table in the tab that is open."""
    return browser.run(
        """[...explorer.frame.querySelectorAll(".panel tbody tr")]
        .map(row => [...row.cells].map(cell => cell.textContent))"""
    )


def press(browser, x, y, *, to=None):
    """Press the mouse at a place, and let it go there or elsewhere."""
    end = to or (x, y)
    for kind, (at_x, at_y), buttons in (
        ("mouseMoved", (x, y), 0),
        ("mousePressed", (x, y), 1),
        *((("mouseMoved", ((x + end[0]) / 2, (y + end[1]) / 2), 1), ("mouseMoved", end, 1)) if to else ()),
        ("mouseReleased", end, 0),
    ):
        button = "none" if kind == "mouseMoved" and not buttons else "left"
        browser("Input.dispatchMouseEvent", type=kind, x=at_x, y=at_y, button=button, buttons=buttons, clickCount=1)
    browser.run("explorer.update()")


def notation(x):
    """An operand as the command line and the page take it; a result as the page writes it."""
    if isinstance(x, tuple):
        inner = ",".join(map(notation, x))
        return f"<{inner}>" if any(isinstance(e, cute.Layout) or "<" in notation(e) for e in x) else f"({inner})"
    return "_" if x is None else str(x)
