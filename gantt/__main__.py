"""``python -m gantt``: the program ``gantt`` without its console script."""

from gantt.cli.start import gantt

gantt()
