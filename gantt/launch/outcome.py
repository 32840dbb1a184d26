"""What became of a launch: every attempt, and the instance that runs in the end."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from gantt.errors import LaunchFailed
from gantt.launch.contract import StartedInstance
from gantt.model.printable import counted
from gantt.model.selection import Selection

Stage = Literal["claim", "launch", "confirm", "running"]


class LaunchOptions(Struct, frozen=True):
    """``max_attempts``: hosts that are tried for an instance, its first one included.
    ``timeout_s``: seconds for one launch. ``parallel``: launches at the same time."""

    max_attempts: int = 3
    timeout_s: float = 60.0
    parallel: int = 16


class Attempt(Struct, frozen=True):
    """One host that was tried. ``stage``: where it ended; ``failure``: why, "" for the
    one that runs; ``unreleased``: why its claim could not be released, "" if it was."""

    host: str
    node: str
    stage: Stage
    failure: str = ""
    unreleased: str = ""

    def __str__(self) -> str:
        name = self.host if self.host == self.node else f"{self.host} ({self.node})"
        if not self.failure:
            return f"{name}: running"
        left = f"; its claim was not released: {self.unreleased}"
        return f"{name}: {self.stage} failed: {self.failure}" + (
            left if self.unreleased else ""
        )


class Launch(Struct, frozen=True):
    """The outcome for one instance. ``workload`` and ``selection`` (its host, with the
    confirmed claim): None where every attempt failed. ``untried``: alternates that
    were left when ``max_attempts`` was reached. ``is_alone``: no other instance has
    part in the claim."""

    instance_uuid: str
    attempts: tuple[Attempt, ...]
    selection: Selection | None = None
    workload: StartedInstance | None = None
    untried: int = 0
    is_alone: bool = True

    def running(self) -> tuple[Selection, StartedInstance]:
        """Where it runs, and what. Raises LaunchFailed, with the whole story."""
        if self.selection is None or self.workload is None:
            raise LaunchFailed(self.story)
        return self.selection, self.workload

    @property
    def story(self) -> str:
        """All attempts in words, a line each."""
        attempts = counted(len(self.attempts), "attempt")
        head = f"Instance {self.instance_uuid} "
        head += f"runs after {attempts}:" if self.workload else f"failed {attempts}:"
        lines = [f"  {number}. {one}" for number, one in enumerate(self.attempts, 1)]
        if self.workload is None:
            lines.append(self._advice())
        return "\n".join((head, *lines))

    def _advice(self) -> str:
        if self.untried:
            return (
                f"{self.untried} more alternates were not tried: raise max_attempts, "
                "or mend these hosts."
            )
        return "No alternate is left: mend these hosts, or select hosts again."
