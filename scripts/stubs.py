"""Write python/tilewright/_core/*.pyi from the installed C++ module, or with --check compare the two.

pybind11-stubgen reads the signatures that the bindings carry; what it leaves open is made explicit, for mypy --strict.
The folder holds no code: Python finds the compiled module beside it, type checkers find the stubs.
"""

from __future__ import annotations

import ast
import difflib
import subprocess
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pybind11_stubgen

from tilewright import _core

ROOT = Path(__file__).parents[1]
STUBS = ROOT / "python/tilewright/_core"
HEADER = "# Generated from the C++ module by `make stubs`; do not edit.\n"
# The first two only newer Pythons show; __new__ says nothing, _make is the constructor with its types.
LEFT_OUT = ("__buffer__", "__release_buffer__", "__new__")
ANY = ast.parse("typing.Any", mode="eval").body
BARE = {
    "dict": ast.parse("dict[str, typing.Any]", mode="eval").body,
    "tuple": ast.parse("tuple[typing.Any, ...]", mode="eval").body,
}
# The module that names the kinds of operands; the annotations of the compiled functions name these.
OPERANDS = "tilewright.cute.operands"
# Types that are made with CPython's own interface carry no signatures.
BY_HAND = {
    "cuda": """
@typing.final
class Bound:
    def __call__(self, *, stream: int = ...) -> None: ...
    @property
    def prepared(self) -> Prepared: ...
    @property
    def tensors(self) -> tuple[typing.Any, ...]: ...

class Launcher:
    def __init__(
        self, slow: collections.abc.Callable[..., tuple[typing.Any, Prepared | None]], parameters: tuple[str, ...] = ()
    ) -> None: ...
    def __call__(self, *args: typing.Any, **kwargs: typing.Any) -> typing.Any: ...
    def clear(self) -> None:
        "Forget all launches."
    @property
    def entries(self) -> int:
        "Launches that are remembered."
    @property
    def parameters(self) -> tuple[str, ...]:
        "The names of the slow path's parameters."
    @parameters.setter
    def parameters(self, names: tuple[str, ...]) -> None: ...
    @property
    def slow(self) -> collections.abc.Callable[..., tuple[typing.Any, Prepared | None]] | None: ...
    @property
    def watched(self) -> tuple[typing.Any, ...] | None: ...
    @watched.setter
    def watched(self, names: tuple[typing.Any, ...] | None) -> None: ...
"""
}


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
        node.body = [child for child in node.body if getattr(child, "name", "") not in LEFT_OUT]
        for index, child in enumerate(node.body):
            if isinstance(child, ast.FunctionDef) and child.name == "_make":
                child.name, child.returns, child.decorator_list = "__init__", ast.Constant(None), []
                child.args.args.insert(0, ast.arg("self"))
            if isinstance(child, ast.Assign):  # None, where instances have a value
                node.body[index] = ast.AnnAssign(child.targets[0], ANY, None, simple=1)
            elif isinstance(child, ast.AnnAssign):
                child.value = None
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        node.slice = self.visit(node.slice)
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return BARE.get(node.id, node)


def insert_by_hand(tree: ast.Module, module: ModuleType, text: str) -> None:
    """Put the bodies of the classes in the text in place of those in the tree, under the module's docstrings."""
    generated = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    for node in ast.parse(text).body:
        assert isinstance(node, ast.ClassDef)
        written = {child.name for child in node.body if isinstance(child, ast.FunctionDef)} - {"__init__", "__call__"}
        there = {name for name in vars(getattr(module, node.name)) if not name.startswith("_")}
        if written != there:
            sys.exit(f"stubs: {module.__name__}.{node.name} has {sorted(there)}, but BY_HAND says {sorted(written)}")
        known = generated[node.name]
        known.decorator_list, known.body = node.decorator_list, [known.body[0], *node.body]


def kinds() -> set[str]:
    """The names of the kinds of operands."""
    return set(import_module(OPERANDS).__all__)


def generate() -> dict[str, str]:
    """The text of each file of stubs."""
    modules = {"__init__": _core, **{k: x for k, x in vars(_core).items() if isinstance(x, ModuleType)}}
    for module in modules.values():
        # Classes that show themselves to users under the package's name are written down here all the same.
        for value in vars(module).values():
            if isinstance(value, type) and value.__module__ == "tilewright":
                value.__module__ = module.__name__
    with tempfile.TemporaryDirectory() as folder:
        options = ["--output-dir", folder, "--exit-code", "--ignore-unresolved-names", "|".join(kinds())]
        pybind11_stubgen.main([_core.__name__, *options])
        trees = {path.stem: ast.parse(path.read_text()) for path in Path(folder, "tilewright/_core").iterdir()}
    for name, text in BY_HAND.items():
        insert_by_hand(trees[name], modules[name], text)
    return {f"{name}.pyi": formatted(f"{name}.pyi", Explicit().visit(tree)) for name, tree in sorted(trees.items())}


def formatted(name: str, tree: ast.Module) -> str:
    names = sorted(kinds() & {x.id for x in ast.walk(tree) if isinstance(x, ast.Name)})
    if names:
        first = next(i for i, node in enumerate(tree.body) if isinstance(node, ast.Import))
        tree.body.insert(first, ast.ImportFrom(OPERANDS, [ast.alias(x) for x in names], 0))
    text = HEADER + ast.unparse(ast.fix_missing_locations(tree))
    return ruff("format", name, ruff("check", name, text, "--fix", "--quiet", "--select=I,F401"))


def ruff(subcommand: str, name: str, text: str, *options: str) -> str:
    command = [sys.executable, "-m", "ruff", subcommand, "--isolated", "--line-length=120", *options]
    command += ["--stdin-filename", str(STUBS / name), "-"]
    return subprocess.run(command, input=text, text=True, check=True, stdout=subprocess.PIPE, cwd=ROOT).stdout


def main() -> None:
    new = generate()
    old = {path.name: path.read_text() for path in STUBS.iterdir()} if STUBS.exists() else {}
    if new == old:
        print("stubs: up to date")
    elif sys.argv[1:] == ["--check"]:
        for name in sorted({*old, *new}):
            texts = (side.get(name, "").splitlines(True) for side in (old, new))
            print("".join(difflib.unified_diff(*texts, f"committed {name}", f"generated {name}")), end="")
        sys.exit(f"stubs: differ from the C++ module; run `make stubs` and commit {STUBS.relative_to(ROOT)}")
    else:
        STUBS.mkdir(exist_ok=True)
        for name in old.keys() - new.keys():
            (STUBS / name).unlink()
        for name, text in new.items():
            (STUBS / name).write_text(text)
        print(f"stubs: wrote {', '.join(new)} in {STUBS.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
