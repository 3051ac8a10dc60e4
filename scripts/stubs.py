"""Write python/tilewright/_core.pyi from the installed C++ module, or with --check compare the two.

pybind11-stubgen reads the signatures that the bindings carry; what it leaves open is made explicit, for mypy --strict.
"""

from __future__ import annotations

import ast
import difflib
import subprocess
import sys
import tempfile
from pathlib import Path

import pybind11_stubgen

from tilewright import _core

ROOT = Path(__file__).parents[1]
STUB = ROOT / "python/tilewright/_core.pyi"
HEADER = "# Generated from the C++ module by `make stubs`; do not edit.\n"
SINCE_312 = ("__buffer__", "__release_buffer__")  # left out, so that every Python writes the same stubs
ANY = ast.parse("typing.Any", mode="eval").body
ANY_TUPLE = ast.parse("tuple[typing.Any, ...]", mode="eval").body


class Explicit(ast.NodeTransformer):
    """Fill in what --strict wants to be said."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        positional = [*node.args.posonlyargs, *node.args.args]
        every = [*positional, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg]
        for arg in every:
            if arg and not arg.annotation and arg.arg != "self":
                arg.annotation = ANY
        if not node.returns:
            node.returns = ast.Name("str") if node.name == "__str__" else ANY
        if node.name in ("__eq__", "__ne__"):  # an object of another kind is simply not equal
            positional[1].annotation = ast.Name("object")
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        self.generic_visit(node)
        node.body = [child for child in node.body if getattr(child, "name", "") not in SINCE_312]
        for index, child in enumerate(node.body):
            if isinstance(child, ast.Assign):  # None, where instances have a value
                node.body[index] = ast.AnnAssign(child.targets[0], ANY, None, simple=1)
            elif isinstance(child, ast.AnnAssign):
                child.value = None
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        node.slice = self.visit(node.slice)
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ANY_TUPLE if node.id == "tuple" else node


def generate() -> str:
    # Classes that show themselves to users under the package's name are written down here all the same.
    for value in vars(_core).values():
        if isinstance(value, type) and value.__module__ == "tilewright":
            value.__module__ = _core.__name__
    with tempfile.TemporaryDirectory() as folder:
        pybind11_stubgen.main([_core.__name__, "--output-dir", folder, "--exit-code"])
        tree = ast.parse(Path(folder, "tilewright/_core.pyi").read_text())
    text = HEADER + ast.unparse(Explicit().visit(tree))
    return ruff("format", ruff("check", text, "--fix", "--quiet", "--select=I,F401"))


def ruff(subcommand: str, text: str, *options: str) -> str:
    command = [sys.executable, "-m", "ruff", subcommand, "--isolated", "--line-length=120", *options]
    command += ["--stdin-filename", str(STUB), "-"]
    return subprocess.run(command, input=text, text=True, check=True, stdout=subprocess.PIPE, cwd=ROOT).stdout


def main() -> None:
    new, old = generate(), STUB.read_text() if STUB.exists() else ""
    if new == old:
        print("stubs: up to date")
    elif sys.argv[1:] == ["--check"]:
        print("".join(difflib.unified_diff(old.splitlines(True), new.splitlines(True), "committed", "generated")))
        sys.exit("stubs: differ from the C++ module; run `make stubs` and commit python/tilewright/_core.pyi")
    else:
        STUB.write_text(new)
        print(f"stubs: wrote {STUB.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
