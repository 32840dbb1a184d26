"""The version of Gantt, below everything that names it in what it writes."""

from __future__ import annotations

__version__ = "0.1.0"
