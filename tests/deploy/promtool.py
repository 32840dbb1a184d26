"""Prometheus' own tool, which checks rules and tries them on series."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, Final

import yaml

from tests.guarded import Missing
from tests.programs import printed

# Minutes of the series that rules are tried on; longer than any rule takes.
MINUTES: Final = 60


class Promtool:
    """The program; tests that need it mark themselves with server("promtool")."""

    name: Final = "promtool"

    @classmethod
    def find(cls) -> Path:
        """Where it is. Raises Missing."""
        found = shutil.which(cls.name)
        if found is None:
            raise Missing("promtool: not installed; install prometheus")
        return Path(found)


def run(*arguments: str) -> None:
    """Raises AssertionError with what promtool said."""
    printed([str(Promtool.find()), *arguments])


def expect(
    folder: Path, rules: Path, series: dict[str, str], expected: dict[str, bool]
) -> None:
    """Assert of each query whether it has a result after MINUTES of ``series`` (name
    with labels -> values in promtool's notation). ``folder``: for the file."""
    test = {
        "interval": "1m",
        "input_series": [
            {"series": name, "values": values} for name, values in series.items()
        ],
        "promql_expr_test": [
            {
                "expr": query,
                "eval_time": f"{MINUTES}m",
                "exp_samples": [{"labels": "{}", "value": 1}] if is_there else [],
            }
            for query, is_there in expected.items()
        ],
    }
    content: dict[str, Any] = {
        "rule_files": [str(rules)],
        "evaluation_interval": "1m",
        "tests": [test],
    }
    file = folder / "unit.yaml"
    file.write_text(yaml.safe_dump(content), encoding="utf-8")
    run("test", "rules", str(file))
