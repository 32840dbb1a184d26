"""What Cinder and Manila have in common: how their requests are read.

A request is a dict that is filled anew now and then; the context in it stays the same.
Of its spec only what is named here is sent: the row of a volume has passwords.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gantt_nova_plugin import options, wire
from gantt_nova_plugin.stages import Reading, Stages
from gantt_nova_plugin.wire import Candidate


def stages(service: str, sent: Sequence[str]) -> Stages:
    """Both stages of one service; ``sent`` names the parts of a spec that are sent."""

    def spec(properties: Any) -> object:
        found = properties.get("request_spec") or {}
        return {name: found[name] for name in sent if name in found}

    advisor = options.advisor(wire.external(service))
    return Stages(advisor, Reading(_candidate, _identity, spec))


def _candidate(state: Any) -> Candidate:
    return Candidate(state.host, None)


def _identity(properties: Any) -> object:
    return properties.get("context") or properties
