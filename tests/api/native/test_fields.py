"""Who may send which field of a native body, where policy lets members select."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import pytest
from msgspec import Struct

from gantt.api.access.fields import BY_NAME, FIELDS, HINTS, VERDICTS
from gantt.api.app import build_app
from gantt.engine.gantt import Gantt
from gantt.engine.recording.kept_request import HINTS as KNOWN_HINTS
from gantt.model import hosts
from gantt.model.hosts import HostAggregate, Instance, ServerGroup
from gantt.model.operations import OPERATIONS
from gantt.model.spec import RequestSpec
from gantt.scheduler.options import DEFAULT_FILTERS, SchedulerOptions
from tests.api.native.fleet import SPEC, A, B, report
from tests.api.wsgi_client import Answer, WsgiClient
from tests.configured import settings_of

RED, BLUE = "9" * 8 + "-0000-4000-8000-00000000000a", "b" * 8 + A[8:]
GROUP, FRESH = "9" * 8 + "-0000-4000-8000-00000000000c", "d" * 8 + A[8:]
TOLD = GROUP[:-1] + "e"
MEMBER = {"x-auth-token": "bob:blue", "x-roles": "member"}
PLAIN = {"flavor": SPEC["flavor"]}
POLICY = ("select", "capacity", "usage_history", "advise")
# What reads documents in more than one form.
READ_AS: dict[str, type[Struct]] = {
    "RequestSpec": RequestSpec,
    **{
        name: getattr(hosts, name)
        for name in ("HostStats", "HostAggregate", "Instance", "Service", "ServerGroup")
    },
}


@pytest.fixture
def client(books: Gantt, tmp_path: Path) -> WsgiClient:
    """Projects red and blue have an instance each; that of red is in a group by its
    claim, and in another that was told of."""
    (tmp_path / "policy.yaml").write_text(
        "".join(f'"gantt:{name}": "role:member or role:admin"\n' for name in POLICY)
    )
    settings = settings_of(tmp_path, "[api]\nauth_strategy = noauth2\n")
    client = WsgiClient(build_app(books, settings))
    enabled = (*DEFAULT_FILTERS, "SameHostFilter", "DifferentHostFilter")
    books.decide_by(SchedulerOptions(enabled_filters=enabled))
    report(client, "one", "two")
    group = {"uuid": GROUP, "policy": "anti-affinity"}
    claimed(client, RED, "red", instance_group=group)
    claimed(client, BLUE, "blue")
    books.set_server_group(
        ServerGroup(TOLD, "t", "anti-affinity", members=frozenset({RED}))
    )
    return client


def claimed(client: WsgiClient, uuid: str, project: str, **more: Any) -> None:
    spec = {**PLAIN, "project_id": project, **more}
    body = {"request_spec": spec, "instance_uuids": [uuid]}
    assert client("POST", "/gantt/select", body=body).status == 200


def asked(client: WsgiClient, body: dict[str, Any], **spec: Any) -> Answer:
    body = {"request_spec": {**PLAIN, **spec}, **body}
    return client("POST", "/gantt/select", body=body, headers=MEMBER)


def kinds(kind: Any) -> Iterator[type[Struct]]:
    """The structs of a type, however deep, and those that its documents become."""
    if get_origin(kind) is Annotated:
        kind, *more = get_args(kind)
        schema = next((one.extra_json_schema for one in more), None) or {}
        for ref in schema.get("anyOf", ()):
            name = ref.get("$ref", "").rpartition("/")[2]
            if name in READ_AS:
                yield from kinds(READ_AS[name])
    if isinstance(kind, type) and issubclass(kind, Struct):
        yield kind
        for inner in get_type_hints(kind, include_extras=True).values():
            yield from kinds(inner)
        return
    for inner in get_args(kind):
        yield from kinds(inner)


def test_every_field_of_every_body_has_its_verdict() -> None:
    found = {}
    for operation in OPERATIONS:
        for kind in kinds(operation.body):
            found[kind.__name__] = set(kind.__struct_fields__)
    said = {name: set(fields) for name, fields in FIELDS.items()}
    assert said == found
    verdicts = {one for fields in FIELDS.values() for one in fields.values()}
    assert verdicts | set(HINTS.values()) <= VERDICTS.keys()


def test_every_hint_that_gantt_reads_has_its_verdict() -> None:
    assert HINTS.keys() == KNOWN_HINTS
    assert FIELDS["RequestSpec"]["scheduler_hints"] == BY_NAME


FOREIGN: dict[str, dict[str, Any]] = {
    "another project's group": {"instance_group": {"uuid": TOLD}},
    "with a rule of its own": {"instance_group": {"uuid": GROUP, "policy": "affinity"}},
    "by the hint": {"scheduler_hints": {"group": TOLD}},
    "members": {
        "instance_group": {"uuid": FRESH, "members": [RED], "policy": "affinity"}
    },
    "members of no group": {
        "instance_group": {"policy": "affinity", "members": [BLUE, RED]}
    },
    "on the host of": {"scheduler_hints": {"same_host": [RED]}},
    "not on the host of": {"scheduler_hints": {"different_host": [RED]}},
    "instance_uuid": {"instance_uuid": RED},
}
UNPERMITTED: dict[str, tuple[str, dict[str, Any]]] = {
    "rebuild": (
        "gantt:claims:any",
        {"scheduler_hints": {"_nova_check_type": ["rebuild"]}},
    ),
    "aggregates": (
        "gantt:hosts:choose",
        {"requested_destination": {"aggregates": [[A]]}},
    ),
    "not in": (
        "gantt:hosts:choose",
        {"requested_destination": {"forbidden_aggregates": [A]}},
    ),
    "cell": ("gantt:hosts:choose", {"requested_destination": {"cell_uuid": A}}),
    "query": ("gantt:hosts:choose", {"scheduler_hints": {"query": '["=","$host",1]'}}),
    "address": (
        "gantt:hosts:choose",
        {"scheduler_hints": {"build_near_host_ip": "10.0.0.1"}},
    ),
    "port": (
        "gantt:hosts:choose",
        {"requested_resources": [{"resources": {"VCPU": 1}, "aggregates": [[A]]}]},
    ),
}


@pytest.mark.parametrize("what", FOREIGN)
@pytest.mark.parametrize("more", [{"instance_uuids": [A]}, {"dry_run": True}])
def test_members_name_only_what_is_of_their_project(
    client: WsgiClient, what: str, more: dict[str, Any]
) -> None:
    answer = asked(client, more, **FOREIGN[what])
    assert answer.status == 403
    assert "project blue" in answer.detail
    assert "gantt:claims:any" in answer.detail
    assert "red" not in answer.detail
    assert client("GET", f"/allocations/{A}").json["allocations"] == {}
    for question in ("capacity", "capacity/prices"):
        body = {"request_spec": {**PLAIN, **FOREIGN[what]}}
        path = f"/gantt/{question}"
        assert client("POST", path, body=body, headers=MEMBER).status == 403
        assert client("POST", path, body=body).status == 200


def test_a_hint_names_a_group_that_was_told_of(client: WsgiClient) -> None:
    """No rule is known of one that claims alone name: the hint would limit nothing."""
    spec = {"scheduler_hints": {"group": GROUP}}
    assert asked(client, {"dry_run": True}, **spec).status == 403
    for path in ("select", "capacity", "capacity/prices"):
        body: dict[str, Any] = {"request_spec": {**PLAIN, **spec}}
        if path == "select":
            body["dry_run"] = True
        answer = client("POST", f"/gantt/{path}", body=body)
        assert answer.status == 400
        assert f"server group '{GROUP}' is not known here" in answer.detail


@pytest.mark.parametrize("what", UNPERMITTED)
def test_members_send_no_field_that_needs_a_permission(
    client: WsgiClient, what: str
) -> None:
    permission, spec = UNPERMITTED[what]
    for more in ({"instance_uuids": [A]}, {"dry_run": True}):
        answer = asked(client, more, **spec)
        assert answer.status == 403
        assert permission in answer.detail
    body = {"request_specs": [{**PLAIN, **spec}]}
    for question in ("capacity/fair", "capacity/runs-out"):
        refused = client("POST", f"/gantt/{question}", body=body, headers=MEMBER)
        assert refused.status == 403


def test_fields_beside_the_request(client: WsgiClient) -> None:
    foreign = asked(client, {"instance_uuids": [RED], "dry_run": True})
    user = asked(client, {"instance_uuids": [A], "context": {"user_id": "eve"}})
    without = [{"kind": "filter", "suffix": None, "names": ["ComputeFilter"]}]
    blind = asked(client, {"dry_run": True, "given_up": without})
    assert [one.status for one in (foreign, user, blind)] == [403, 403, 403]
    bare = RED.replace("-", "")
    assert asked(client, {"instance_uuids": [bare], "dry_run": True}).status == 403
    assert asked(client, {"dry_run": True}, instance_uuid=bare).status == 403
    assert "user eve" in user.detail
    assert "gantt:decisions:whole" in blind.detail
    assert asked(client, {"dry_run": True}, user_id="eve").status == 403
    assert asked(client, {"dry_run": True}, user_id="bob").status == 200


def test_members_use_their_own_groups(client: WsgiClient, books: Gantt) -> None:
    group = {"uuid": FRESH, "policy": "anti-affinity"}
    own = {"instance_group": group}
    assert asked(client, {"instance_uuids": [A]}, **own).status == 200
    assert asked(client, {"instance_uuids": [B]}, **own).status == 200
    # Both hosts are taken.
    assert asked(client, {"instance_uuids": [GROUP]}, **own).status == 409
    near = {"scheduler_hints": {"same_host": [A], "different_host": [B]}}
    assert asked(client, {"dry_run": True}, **near).status == 200
    # Of a group that was told of, and has no member yet, no project is known.
    books.set_server_group(ServerGroup(GROUP[:-1] + "d", "told", "affinity"))
    told = {"instance_group": {"uuid": GROUP[:-1] + "d"}}
    assert asked(client, {"dry_run": True}, **told).status == 403


def test_an_instance_that_a_host_names_and_no_project_is_known_of(
    client: WsgiClient, books: Gantt
) -> None:
    books.update_instances("one", [Instance(FRESH)])
    assert asked(client, {"instance_uuids": [FRESH]}).status == 403
    near = {"scheduler_hints": {"same_host": [FRESH]}}
    assert asked(client, {"dry_run": True}, **near).status == 403


def test_a_group_that_another_project_joins_meanwhile_is_refused_in_the_commit(
    client: WsgiClient, books: Gantt, monkeypatch: pytest.MonkeyPatch
) -> None:
    group = {"uuid": FRESH, "policy": "anti-affinity"}
    schedule = books.schedule

    def beaten(request: Any) -> Any:
        monkeypatch.setattr(books, "schedule", schedule)
        claimed(client, B, "red", instance_group=group)
        return schedule(request)

    monkeypatch.setattr(books, "schedule", beaten)
    assert asked(client, {"instance_uuids": [A]}, instance_group=group).status == 403
    assert client("GET", f"/allocations/{A}").json["allocations"] == {}


def test_advice_to_a_member_names_no_hosts(client: WsgiClient) -> None:
    body = {"spec": PLAIN, "hosts": [{"host": "one"}]}
    answer = client("POST", "/gantt/advise", body=body, headers=MEMBER)
    assert answer.status == 403
    assert "gantt:hosts:choose" in answer.detail
    assert client("POST", "/gantt/advise", body=body).status == 200


def test_aggregates_stay_open_to_operators(client: WsgiClient, books: Gantt) -> None:
    books.set_host_aggregates([HostAggregate(A, "own", None, frozenset(["one"]))])
    spec = {**PLAIN, "requested_destination": {"aggregates": [[A]]}}
    body = {"request_spec": spec, "dry_run": True}
    assert client("POST", "/gantt/select", body=body).status == 200
