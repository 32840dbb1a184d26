"""Guides that are followed only with GANTT_GUIDES=1, as on a build server: each starts
services and a dozen programs."""

from __future__ import annotations

from tests.conftest import is_wanted

collect_ignore = (
    []
    if is_wanted("GANTT_GUIDES")
    else [
        "test_commands.py",
        "test_extending.py",
        "test_operating.py",
        "test_programs.py",
        "test_streams.py",
    ]
)
