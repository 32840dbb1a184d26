"""The audit over HTTP: its findings, page by page."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import structs

from gantt.client import decode
from gantt.client.native import Native
from gantt.model.audit import GRACE_S, Audit, Kind


class RemoteAudits(Native):
    """See GanttProtocol, which documents the methods."""

    def audit(
        self,
        *,
        grace_s: float = GRACE_S,
        limit: int = 1000,
        kinds: Iterable[Kind] = (),
        host: str = "",
    ) -> Audit:
        asked: dict[str, Any] = {"grace_s": grace_s, "limit": limit}
        if chosen := ",".join(kinds):
            asked["kinds"] = chosen
        if host:
            asked["host"] = host
        found = self._audited(asked)
        findings, last = found.findings, found
        while last.next and len(findings) < limit:
            more = {"limit": limit - len(findings), "after": last.next}
            last = self._audited({**asked, **more})
            findings += last.findings
        return structs.replace(
            found, findings=findings, is_truncated=last.is_truncated, next=last.next
        )

    def _audited(self, asked: dict[str, Any]) -> Audit:
        return decode.native(self._native("GET", "audit", query=asked), Audit)
