"""Gantt and Placement side by side: every step goes to both, and both must agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qsl, urlencode

from gantt.api.app import build_app
from gantt.conf import Settings
from gantt.connection import open_gantt
from tests.api.wsgi_client import Answer, WsgiClient
from tests.differential import known
from tests.differential.compare import (
    Differs,
    canonical,
    is_same,
    must_be_part,
    must_be_same,
    shown_with,
)
from tests.differential.step import Step, settle
from tests.differential.upstream import Upstream

LATEST = 39
FIRST_WITH_TREES = 29
CANDIDATES = "/allocation_candidates"
PROVIDERS = "/resource_providers"
ASKED_OF_PROVIDERS = (
    ("", 0),
    ("/inventories", 0),
    ("/usages", 0),
    ("/aggregates", 1),
    ("/traits", 6),
    ("/allocations", 0),
)


@contextmanager
def pair(settings: Settings, upstream: Upstream) -> Iterator[Pair]:
    """Both over empty books."""
    books = open_gantt("memory://")
    upstream.wipe()
    try:
        yield Pair(WsgiClient(build_app(books, settings)), upstream)
    finally:
        books.close()


class Pair:
    """``met`` counts the known differences on the way."""

    def __init__(self, ours: WsgiClient, upstream: Upstream) -> None:
        self.ours = ours
        self.upstream = upstream
        self.met: Counter[str] = Counter()

    def settle(self, step: Step) -> Step:
        """``step`` with the generations of this moment."""
        return settle(step, self._generation)

    def send(self, step: Step) -> Answer:
        """Gantt's answer to a settled step. Raises Differs."""
        ours = _ask(self.ours, step)
        if step.target.startswith(CANDIDATES) and ours.status == 200:
            self._compare_candidates(step, ours)
            return ours
        theirs = _ask(self.upstream.call, step)
        must_be_same(ours, theirs, step.version)
        if step.is_write:
            self._lay_ghosts(step, theirs)
            self._compare_providers()
        return ours

    def compare_books(self, version: int) -> int:
        """Compare whatever can be read; how many answers. Raises Differs."""
        targets = [PROVIDERS]
        if version >= 2:
            targets.append("/resource_classes")
        if version >= 6:
            targets.append("/traits?associated=true")
        targets += [
            f"{PROVIDERS}/{uuid}{what}"
            for uuid in self._roots()
            for what, since in ASKED_OF_PROVIDERS
            if version >= since
        ]
        consumers: dict[str, None] = {}
        for target in targets:
            answer = self._compare(Step("GET", target, version))
            if target.endswith("/allocations"):
                consumers.update(dict.fromkeys(answer.json["allocations"]))
        for consumer in consumers:
            self._compare(Step("GET", f"/allocations/{consumer}", version))
        return len(targets) + len(consumers)

    def _generation(self, path: str) -> int | None:
        body = _ask(self.ours, Step("GET", path, LATEST)).json
        found = body.get("generation", body.get("consumer_generation"))
        return None if found is None else int(found)

    def _compare(self, step: Step) -> Answer:
        ours = _ask(self.ours, step)
        try:
            must_be_same(ours, _ask(self.upstream.call, step), step.version)
        except Differs as difference:
            raise Differs(f"{step}\n{difference}") from None
        return ours

    def _compare_providers(self) -> None:
        ours = {
            each["uuid"]: (
                each["name"],
                each["generation"],
                each["parent_provider_uuid"],
            )
            for each in self._list()
        }
        theirs = self.upstream.providers()
        if ours != theirs:
            changed = dict(ours.items() ^ theirs.items())
            raise Differs(
                "afterwards:\n"
                f"ours:   { {uuid: ours.get(uuid) for uuid in changed} }\n"
                f"theirs: { {uuid: theirs.get(uuid) for uuid in changed} }"
            )

    def _lay_ghosts(self, write: Step, answer: Answer) -> None:
        ghosts = self.upstream.ghosts()
        for consumer in ghosts:
            reason = known.reason_of_ghost(consumer, write, answer)
            if reason is None:
                raise Differs(f"theirs: an unexplained consumer {consumer} remains")
            self.met[reason] += 1
        if ghosts:
            self.upstream.lay_ghosts()

    # ------------------------------------------------------------------- candidates

    def _compare_candidates(self, step: Step, ours: Answer) -> None:
        """All candidates must be the same; of a limited answer, each one of them."""
        limit, whole = _without_limit(step)
        everything = _ask(self.ours, whole) if limit is not None else ours
        if "gantt-truncated" in everything.headers:
            raise Differs("ours: the search was cut short")
        plain = _ask(self.upstream.call, whole)
        is_plain = is_same(everything, plain, step.version)
        if not is_plain:
            self._explain(whole, everything, plain)
        if limit is None:
            return
        self._compare_cut("ours", ours.json, everything.json, step, limit)
        if is_plain:
            theirs = _ask(self.upstream.call, step)
            self._compare_cut("theirs", theirs.json, everything.json, step, limit)

    def _compare_cut(
        self, whose: str, part: Any, whole: Any, step: Step, limit: int
    ) -> None:
        """A limited answer has some candidates, and their summaries. Raises Differs."""
        try:
            must_be_part(part, whole, limit)
        except Differs as difference:
            raise Differs(f"{whose}: {difference}") from None
        roots = self._roots()
        due = canonical(shown_with(part, whole, roots))
        found = canonical(part["provider_summaries"])
        if found == due:
            return
        if whose == "ours" and step.version < FIRST_WITH_TREES:
            used = shown_with(part, whole, {uuid: uuid for uuid in roots})
            if found == canonical(used):
                self.met[known.CUT_SUMMARIES] += 1
                return
        raise Differs(f"{whose}: summaries {found} where {due} are due")

    def _explain(self, step: Step, ours: Answer, plain: Answer) -> None:
        """Mend known faults until both agree. Raises Differs."""
        for names in known.mended_ways():
            with known.mended(names):
                theirs = _ask(self.upstream.call, step)
            if is_same(ours, theirs, step.version):
                self.met.update(names)
                return
        must_be_same(ours, plain, step.version)

    def _roots(self) -> dict[str, str]:
        return {each["uuid"]: each["root_provider_uuid"] for each in self._list()}

    def _list(self) -> list[dict[str, Any]]:
        listed = _ask(self.ours, Step("GET", PROVIDERS, LATEST)).json
        return list(listed["resource_providers"])


def _ask(service: WsgiClient, step: Step) -> Answer:
    return service(step.method, step.target, version=step.version, body=step.body)


def _without_limit(step: Step) -> tuple[int | None, Step]:
    """The limit of a query that both take, and the query without it."""
    path, _, query = step.target.partition("?")
    pairs = parse_qsl(query, keep_blank_values=True)
    limits = [int(value) for key, value in pairs if key == "limit"]
    if not limits:
        return None, step
    rest = urlencode([(key, value) for key, value in pairs if key != "limit"])
    return limits[0], Step(step.method, f"{path}?{rest}", step.version)
