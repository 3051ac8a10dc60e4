"""The site: `make docs` builds it. Its sources are the pages here; the reference and tables are generated."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import generate
import tilewright

project = "tilewright"
author = "tilewright authors"
release = version = tilewright.__version__
html_title = f"tilewright {release}"

extensions = ["myst_nb", "generate"]
exclude_patterns = ["generate", "*.txt", "AGENTS.md", "**/*.ipynb"]
source_suffix = {".md": "myst-nb"}

# Every page with cells runs when the site is built: an output that is shown is one that this version printed.
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 120
nb_custom_formats = generate.notebooks.formats()
nb_merge_streams = True
nb_mime_priority_overrides = [("html", "text/html", 0)]

myst_enable_extensions = ["attrs_block", "attrs_inline", "deflist", "fieldlist"]
myst_heading_anchors = 4
# A signature's `Pointer` may be that of two modules; nothing hangs on which of them is linked.
suppress_warnings = ["myst.header", "ref.python"]

nitpicky = True
# Types of signatures that have no page: those of Python, NumPy and torch, and names for annotations alone.
nitpick_ignore_regex = [(r"py:.*", r".*")]
maximum_signature_line_length = 88
python_use_unqualified_type_names = True
add_module_names = False
toc_object_entries = False

smartquotes_action = "D"  # dashes; quotes stay as they are typed
html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_extra_path = ["llms.txt", "AGENTS.md"]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
html_show_search_summary = False  # it is fetched, which no browser does for pages that are opened as files
pygments_style = "friendly"
pygments_dark_style = "github-dark"


def setup(app: object) -> None:
    generate.write(Path(__file__).parent)
