"""Pages of the programs in examples/: what each says of itself, its picture, what its lines cost, its text, parts."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from generate.docstrings import markdown
from tilewright import cute

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["GROUPS", "pages"]

GROUPS = {
    "Elements, rows and tiles": """
        visualize_tv vector_add elementwise_apply transpose reduction rows scan histogram stencil tma_copy
    """,
    "Matrix products": """
        article_gemm pipelined_gemm gemm_mma_sync gemm_wgmma gemm_tma_wgmma grouped_gemm moe fp8_block_gemm
        grouped_fp8_gemm
    """,
    "Attention": """
        attention_mma_sync attention_forward attention_backward attention_backward_256 attention_decode mla_decode
    """,
}
"""In the order in which to read them."""

MEASURED = {
    "attention_forward": "attention",
    "attention_backward": "attention_backward",
    "attention_backward_256": "attention_backward",
    "attention_decode": "decode",
    "mla_decode": "mla",
    "grouped_gemm": "grouped",
    "fp8_block_gemm": "block_scaled",
}
"""Examples whose speed has a result of its own."""

HEAD = """# Examples

Programs in Python that run on a GPU and on a CPU, one idea each. They come with the package, and need torch:
`python -m tilewright.examples.vector_add` runs one and checks its results against torch's. A page has the program, the
layout that it stands on, and what each of its lines costs, which was counted on a CPU when the page was built.

"""

FRONT = """---
file_format: mystnb
kernelspec:
  name: python3
---
"""

PROFILE = """## What its lines cost

Sectors of global memory and wavefronts of shared memory, beside the least that the bytes need; the problem is small.

```{{code-cell}} ipython3
from tilewright import cute
from tilewright.examples import {name}

function, *arguments = {name}.problem("cpu")
cute.profile(function, *arguments)
```

"""

LISTING = """```{{literalinclude}} ../../examples/{file}
:language: python
:start-after: from __future__
```
"""

TIMELINE = """## Who does what when

The warps of the first block, in steps of the CPU's execution, which are not cycles: a row is a warp or some that do the
same, and what was asked for is under way until the first wait for it has ended.

```{code-cell} ipython3
cute.show(cute.timeline(function, *arguments))
```

"""


class Program:
    """What a page needs of an example, read from its text: nothing of it runs here."""

    def __init__(self, path: Path) -> None:
        self.name = path.stem
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        first, _, self.rest = (ast.get_docstring(tree) or "").partition("\n\n")
        self.title, _, after = " ".join(first.split()).partition(". ")
        self.title, self.lead = self.title.rstrip("."), after
        found = re.search(r'^PICTURE = "(.*)"(?:  # (.*))?$', text, re.M)
        assert found is not None, f"{path} has no PICTURE"
        self.layout, self.about = found[1], found[2] or "what the program's threads or tiles are"
        kind = MEASURED.get(self.name, "")
        results = sorted((path.parents[1] / "benchmarks/results").glob(f"{kind}-????-??-??.md")) if kind else []
        self.result = results[-1] if results else None
        # Where warps have roles, it matters who waits for whom.
        self.is_specialized = "setmaxregister" in text or "pipeline" in text
        self.parts = parts_of(path)

    def page(self) -> str:
        name = self.name
        about = markdown(f"{self.lead}\n\n{self.rest}" if self.lead else self.rest)
        cost = PROFILE.format(name=name)
        when = TIMELINE if self.is_specialized else ""
        speed = ""
        if self.result is not None:
            title = self.result.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
            speed = f"Its speed beside other libraries: [{title}](../performance/{self.result.name}).\n\n"
        return (
            f"{FRONT}# {name}\n\n**{self.title}.** {about}\n\n"
            f"`{self.layout}`: {self.about}.\n\n"
            f"```{{image}} {name}.svg\n:alt: {self.layout}\n:class: picture\n```\n\n"
            f"{speed}{cost}{when}"
            f"## The program\n\n"
            f"`examples/{name}.py`; `python -m tilewright.examples.{name}` runs it.\n\n"
            f"{LISTING.format(file=f'{name}.py')}{''.join(map(self._part, self.parts))}"
        )

    @staticmethod
    def _part(path: Path) -> str:
        """The text of a part, below what it says of itself."""
        file = f"{path.parent.name}/{path.name}"
        about = markdown(ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "")
        return f"\n### {file}\n\n{about}\n\n{LISTING.format(file=file)}"

    def picture(self) -> str:
        return cute.show(cute.parse(self.layout)).svg()


def parts_of(path: Path) -> list[Path]:
    """The files in folders beside the programs that a program or a part is made of, in the order in which they are met.

    They are imported as `tilewright.examples.FOLDER.NAME`.
    """
    found: dict[Path, None] = {}
    left = [path]
    while left:
        text = left.pop(0).read_text(encoding="utf-8")
        for folder, name in re.findall(r"^from tilewright\.examples\.(\w+)\.(\w+) import", text, re.M):
            part = path.parent / folder / f"{name}.py"
            if part not in found:
                found[part] = None
                left.append(part)
    return list(found)


def pages(root: Path) -> Iterator[tuple[str, str]]:
    """(file, text) of each page, and of each picture."""
    named = {name for names in GROUPS.values() for name in names.split()}
    assert named == {path.stem for path in (root / "examples").glob("*.py")}
    index, toctree = [HEAD], []
    for title, names in GROUPS.items():
        entries = []
        for name in names.split():
            program = Program(root / f"examples/{name}.py")
            yield f"{name}.md", program.page()
            yield f"{name}.svg", program.picture()
            entries.append(
                f"- [![{program.title}]({name}.svg)]({name}.md)\n  **[{program.title}]({name}.md)**\\\n  `{name}.py`"
            )
            toctree.append(name)
        index.append(f"## {title}\n\n" + "\n".join(entries) + "\n\n")
    listed = "\n".join(toctree)
    yield "index.md", "".join(index) + f"```{{toctree}}\n:hidden:\n\n{listed}\n```\n"
