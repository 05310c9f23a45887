"""The documentation site: `make docs` builds it into build/docs, and any warning is an error."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tools"))

from docs_reference import write_reference  # noqa: E402
from whylate import __version__  # noqa: E402

project = "whylate"
author = "the whylate contributors"
copyright = author  # noqa: A001 (Sphinx's name)
release = __version__
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
nitpicky = True
# Links to headings are checked down to this depth.
myst_heading_anchors = 4
html_theme = "furo"
html_title = "whylate"
html_copy_source = False
html_show_sphinx = False

write_reference(HERE / "reference" / "generated")
