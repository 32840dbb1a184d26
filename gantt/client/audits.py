"""What operators ask and mend over HTTP: the audit, repairs, hosts that came back.

Beside the rest of Gantt's own API because no scheduler calls these. How all of that API
is called is here, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from msgspec import structs

from gantt import errors
from gantt.client import decode, encode
from gantt.client.exchange import Exchange, NoSuchRoute
from gantt.client.transport import Reply
from gantt.model.audit import GRACE_S, Audit, Finding, Kind
from gantt.model.takeover import Takeover


class Native:
    """Gantt's own API, below ``/gantt``."""

    _wire: Exchange

    def _native(
        self,
        method: str,
        *path: str,
        body: Any = None,
        query: Mapping[str, object] = MappingProxyType({}),
    ) -> Reply:
        for part in path:
            if not part or "/" in part:
                raise errors.Invalid(
                    f"{part!r} cannot be part of a path: it must not be empty or "
                    "contain a slash."
                )
        route = encode.query(encode.path("gantt", *path), encode.given(query))
        try:
            return self._wire.ask(method, route, body)
        except NoSuchRoute:
            raise errors.Invalid(
                "This service does not schedule, which is Gantt's own addition to "
                "Placement: ask a Gantt, or the database in process."
            ) from None


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

    def repair(
        self,
        finding: Finding,
        *,
        grace_s: float = GRACE_S,
        kinds: Iterable[Kind] = (),
    ) -> Finding:
        body = {"finding": finding, "grace_s": grace_s, "kinds": tuple(kinds)}
        reply = self._native("POST", "audit", "repairs", body=body)
        return decode.native(reply, Finding)

    def adopt_host(
        self,
        host: str,
        new_host: str = "",
        *,
        node: str = "",
        new_node: str = "",
        uuid: str | None = None,
        dry_run: bool = False,
    ) -> Takeover:
        body = {
            "host": host,
            "new_host": new_host,
            "node": node,
            "new_node": new_node,
            "uuid": uuid,
            "dry_run": dry_run,
        }
        reply = self._native("POST", "takeovers", body=body)
        return decode.native(reply, Takeover)
