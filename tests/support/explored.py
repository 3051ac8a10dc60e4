"""The interactive page under test: opened, typed into, read."""

from __future__ import annotations

import json

from tilewright import cute

CELLS = """[...document.querySelectorAll("#picture figure:last-child .cell")]
    .sort((a, b) => a.dataset.column - b.dataset.column || a.dataset.row - b.dataset.row)"""


def go(browser, url, fragment="", **options):
    """Load the page anew and wait until it has computed."""
    browser.open("about:blank")
    browser.open(f"{url}#{fragment}", **options)
    browser.wait("document.body.dataset.ready")
    assert browser.errors == []


def type_into(browser, name, text):
    browser.run(
        f"""(() => {{ const field = form.elements[{json.dumps(name)}]; field.value = {json.dumps(text)};
        field.dispatchEvent(new Event("input", {{ bubbles: true }})); }})()"""
    )


def shown(browser):
    """What the page says: cells, table, derivation, counts, error."""
    return browser.run(
        f"""(rows => ({{
        cells: {CELLS}.map(cell => cell.querySelector(".first")?.textContent),
        marked: {CELLS}.flatMap((cell, i) => cell.classList.contains("marked") ? [i] : []),
        table: rows("#table"),
        facts: rows("#facts"),
        derivation: document.getElementById("derivation").textContent,
        counts: rows("#counts").map(([, ...counts]) => counts.map(Number)),
        error: document.getElementById("error").textContent,
        stale: document.body.classList.contains("stale"),
        hash: location.hash,
        }}))(table => [...document.querySelectorAll(`${{table}} tbody tr`)].map(
            row => [...row.cells].map(cell => cell.textContent)))"""
    )


def notation(x):
    """An operand as the command line and the page take it; a result as the page writes it."""
    if isinstance(x, tuple):
        inner = ",".join(map(notation, x))
        return f"<{inner}>" if any(isinstance(e, cute.Layout) or "<" in notation(e) for e in x) else f"({inner})"
    return "_" if x is None else str(x)
