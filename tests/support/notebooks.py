"""Notebook pages: cells with what IPython makes of their last expression, in JupyterLab's own HTML by nbconvert."""

from __future__ import annotations

import ast
import base64
import re
from collections.abc import Mapping, Sequence
from typing import Any

import nbformat
from IPython.core.formatters import DisplayFormatter
from nbconvert import HTMLExporter

NO_SCRIPTS = dict.fromkeys(("require_js_url", "jquery_url", "mathjax_url", "mermaid_js_url"), "")


def value_of(source: str, names: dict[str, Any]) -> Any:
    """Run a cell; the value of its last expression."""
    tree = ast.parse(source)
    last = tree.body.pop()
    assert isinstance(last, ast.Expr), source
    exec(compile(tree, "<cell>", "exec"), names)
    return eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)


def bundle_of(value: Any) -> dict[str, Any]:
    """What a notebook stores of a value: its forms by their MIME types."""
    data, _ = DisplayFormatter().format(value)
    return dict(data)


def drawn_in(html: str) -> str:
    """The SVG of the image in an object's HTML."""
    (drawn,) = re.findall(r'src="data:image/svg\+xml;base64,([^"]*)"', html)
    return base64.b64decode(drawn).decode()


def page_of(cells: Sequence[tuple[str, Mapping[str, Any]]], *, dark: bool) -> str:
    """The HTML of a notebook of these (source, forms of the result)."""
    made = []
    for count, (source, data) in enumerate(cells, 1):
        output = nbformat.v4.new_output("execute_result", data=dict(data), metadata={}, execution_count=count)
        made.append(nbformat.v4.new_code_cell(source, execution_count=count, outputs=[output], id=f"cell{count}"))
    exporter = HTMLExporter(theme="dark" if dark else "light", **NO_SCRIPTS)
    body, _ = exporter.from_notebook_node(nbformat.v4.new_notebook(cells=made))
    return str(body)
