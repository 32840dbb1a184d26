"""How Sphinx builds the documentation."""

import logging
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from gantt import __version__

# It tells of every note that it reads.
logging.getLogger("reno").setLevel(logging.WARNING)

project = "Gantt"
author = "the Gantt maintainers"
release = __version__
extensions = [
    "myst_parser",
    "reno.sphinxext",
    "scripts.reference",
]
exclude_patterns = ["_build", "_generated"]
html_theme = "furo"
html_title = f"Gantt {release}"
myst_enable_extensions = ["colon_fence"]
# "--url" is an option, not a dash.
smartquotes = False
myst_heading_anchors = 4
# Generated parts begin below a heading of another level.
suppress_warnings = ["myst.header"]
