"""How Sphinx builds the documentation."""

from gantt import __version__

project = "Gantt"
author = "the Gantt maintainers"
release = __version__
extensions = ["myst_parser", "reno.sphinxext"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"Gantt {release}"
myst_heading_anchors = 3
# README and its sisters are also read as they are: their links point to files.
suppress_warnings = ["myst.xref_missing", "myst.header"]
