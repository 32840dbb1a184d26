"""What hosts hold, as an index by artifact."""

from __future__ import annotations

from hashlib import sha1

from gantt.engine.factory import open_gantt
from gantt.model.hosts import HostStats, Instance
from gantt.placement import artifact_queries
from gantt.state import check
from gantt.state.holdings import Counts, Holdings, count
from gantt.state.state import State

A, B = {"holds": {"a": 1, "b": 2}}, {"holds": {"b": 3, "c": 4}}


def test_what_a_host_reports_replaces_what_it_did() -> None:
    held = Holdings()
    held.change(7, {}, A)
    held.change(8, {}, A)
    held.change(7, A, B)
    assert held.of == {"a": {8: 1}, "b": {7: 3, 8: 2}, "c": {7: 4}}
    held.change(7, B, {})
    held.change(8, A, {"holds": {}})
    assert held.of == {}


def test_things_are_counted_by_where_they_are() -> None:
    users: Counts = {}
    count(users, ("a", "b"), "h1", 1)
    count(users, ("a",), "h1", 1)
    count(users, ("a", "b"), "h1", -1)
    assert users == {"a": {"h1": 1}}
    count(users, ("a",), "h1", -1)
    assert users == {}


def test_an_image_is_found_by_the_name_that_novas_cache_has_for_it() -> None:
    hashed = sha1(b"image").hexdigest()
    with open_gantt("memory://") as books:
        books.update_host("h1", None, HostStats(vcpus=1, holds={"image": 5}))
        books.update_host("h2", None, HostStats(vcpus=1, holds={hashed: 7}))
        books.update_host("h3", None, HostStats(vcpus=1, holds={}))

        def found(state: State) -> tuple[list[int], int]:
            fleet = state.fleet
            sizes = artifact_queries.held(fleet, "image")[0].tolist()
            return sizes, artifact_queries.size_of(fleet, "image")

        assert books.read(found) == ([5, 7, -1], 7)


def test_the_check_finds_an_index_that_is_wrong() -> None:
    with open_gantt("memory://") as books:
        books.update_host("h1", None, HostStats(vcpus=1, holds={"a": 5}))
        uuid = "5b0f9a3e-6f0e-4c8e-9d3b-7a1f7a3f1a10"
        books.update_instances("h1", [Instance(uuid, {"image_ref": "b"})])

        def spoilt(state: State) -> list[str]:
            assert not list(check.problems(state))
            state.fleet.hosts.held.of["a"][0] = 6
            found = check.problems(state)
            state.fleet.instances.using["c"] = {"h1": 1}
            found += check.problems(state)
            state.fleet.hosts.held.of["a"][0] = 5
            del state.fleet.instances.using["c"]
            return found

        wrong = "the index of artifacts by hosts is wrong"
        assert books.read(spoilt) == [wrong, wrong]
