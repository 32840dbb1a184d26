"""Sums of what tests count themselves: their property ``told`` (a headline, amounts by
name)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import pytest


def sums(
    reports: Iterable[pytest.TestReport | pytest.CollectReport],
) -> dict[str, Counter[str]]:
    """By headline, amounts by name."""
    found: dict[str, Counter[str]] = {}
    for report in reports:
        for name, value in getattr(report, "user_properties", ()):
            if name == "told":
                headline, amounts = value
                found.setdefault(headline, Counter()).update(amounts)
    return found


def listed(amounts: Counter[str]) -> str:
    """On one line of text."""
    return ", ".join(f"{n:,} {what}" for what, n in amounts.items())
