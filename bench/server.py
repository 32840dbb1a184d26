"""Servers on any database, and their memory: what suites of this repository need beside
``gantt.bench.servers``."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from gantt.bench.servers import Server as BenchServer
from gantt.bench.servers import family, free_port, program

KB_PER_MB = 1024


class Server(BenchServer):
    """As there."""

    @classmethod
    def gantt_on(
        cls, url: str, folder: Path, *, workers: int = 1, freshness: str = "strict"
    ) -> Self:
        """The same on the database at ``url``; its files lie in ``folder``."""
        port = free_port()
        config = folder / f"gantt-{port}.conf"
        config.write_text(
            "[placement_database]\n"
            f"connection = {url}\n"
            "[api]\nauth_strategy = noauth2\n"
            f"[gantt]\nfreshness = {freshness}\n"
        )
        command = [
            *(program("gantt"), "serve", "--config-file", str(config)),
            *("--listen", f"127.0.0.1:{port}", "--workers", str(workers)),
        ]
        return cls(command, port, config.with_suffix(".log"), workers=workers)

    def resident_mb(self) -> float:
        """Memory of the server's processes that is in RAM; a page that several of
        them share counts once."""
        return sum(_resident_kb(pid) for pid in family(self._process.pid)) / KB_PER_MB


def _resident_kb(pid: int) -> int:
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1])
    return 0
