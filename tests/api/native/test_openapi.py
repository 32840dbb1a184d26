"""The OpenAPI document: complete, well-formed, and consistent with answers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from openapi_spec_validator import OpenAPIV31SpecValidator, validate

from gantt.api.access.access_policy import RULES
from gantt.api.routes import ROUTES
from gantt.api.wire.placement_part import PLACEMENT
from gantt.engine.gantt import Gantt
from tests.api.native.fleet import SPEC, STATS, TOO_MUCH, A, client_of
from tests.api.wsgi_client import Answer, WsgiClient

WHERE = "/gantt/openapi.json"
Json = dict[str, Any]
OPEN = {WHERE, "/"}
# What is put there is its name alone.
BARE = {("PUT", "/traits/{name}"), ("PUT", "/resource_classes/{name}")}


@pytest.fixture
def document(client: WsgiClient) -> Json:
    found: Json = client("GET", WHERE).json
    return found


def operations(document: Json) -> Iterator[tuple[str, str, Json]]:
    for path, item in document["paths"].items():
        for method, operation in item.items():
            yield path, method.upper(), operation


def refs(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for each in value.values():
            yield from refs(each)
    elif isinstance(value, list):
        for each in value:
            yield from refs(each)


def test_openapi_needs_no_token_at_either_mount(books: Gantt) -> None:
    client = client_of(books)
    no_token = {"x-auth-token": None}
    for path in (WHERE, f"/placement{WHERE}"):
        answer = client("GET", path, headers=no_token)
        assert answer.status == 200
        assert answer.headers["content-type"] == "application/json"
        assert answer.json["openapi"] == "3.1.0"
    assert client("GET", "/gantt/hosts", headers=no_token).status == 401


def test_openapi_has_exactly_the_routes(document: Json) -> None:
    routes = {(path, method) for path, methods in ROUTES.items() for method in methods}
    assert {(path, method) for path, method, _ in operations(document)} == routes
    assert len(routes) > 60


def test_placement_s_part_agrees_with_routes_and_policy() -> None:
    for one in PLACEMENT:
        assert ROUTES[one.path][one.method].since == one.since, one
        assert one.policy_rule in RULES or not one.rule
    rules = {rule for rule in RULES if rule.startswith("placement:")}
    assert {one.policy_rule for one in PLACEMENT} - {""} == rules


def test_a_validator_accepts_it(document: Json) -> None:
    validate(document, cls=OpenAPIV31SpecValidator)


def test_the_event_stream_is_described(document: Json) -> None:
    content = document["paths"]["/gantt/watch"]["get"]["responses"]["200"]["content"]
    assert set(content) == {"application/json", "text/event-stream"}
    data = content["text/event-stream"]["schema"]["x-event-data"]
    assert data["$ref"].endswith("/Event")


def test_openapi_is_well_formed(document: Json) -> None:
    assert document.keys() <= {
        "openapi", "info", "servers", "security", "paths", "components"
    }  # fmt: skip
    assert {"title", "version"} <= document["info"].keys()
    schemas = document["components"]["schemas"]
    for name, schema in schemas.items():
        assert re.fullmatch(r"[\w.-]+", name)
        Draft202012Validator.check_schema(schema)
    for ref in refs(document):
        prefix, _, name = ref.rpartition("/")
        assert prefix == "#/components/schemas"
        assert name in schemas
    names = [one["operationId"] for _, _, one in operations(document)]
    assert len(set(names)) == len(names)


def test_every_operation_is_well_formed(document: Json) -> None:
    for path, method, one in operations(document):
        assert one["summary"]
        assert one["responses"]
        for status, response in one["responses"].items():
            assert re.fullmatch(r"[1-5]\d\d", status)
            assert response["description"]
        fields = [each["name"] for each in one["parameters"] if each["in"] == "path"]
        assert fields == re.findall(r"\{(\w+)\}", path)
        assert all(each["required"] for each in one["parameters"][: len(fields)])
        bare = path.endswith("}/confirm") or (method, path) in BARE
        assert ("requestBody" in one) == (method in {"PUT", "POST"} and not bare)
        rule = one.get("x-policy-rule")
        assert rule in RULES if path not in OPEN else rule is None


def test_every_rule_guards_an_operation(document: Json) -> None:
    used = {one.get("x-policy-rule") for _, _, one in operations(document)}
    ours = {rule for rule in RULES if rule.startswith("gantt:")}
    beside = {"decisions:whole", "claims:any", "reports:any", "hosts:choose"}
    beside.add("instances:names")
    assert ours - used == {f"gantt:{name}" for name in beside}


def test_answers_and_bodies_match_the_document(
    client: WsgiClient, document: Json
) -> None:
    def fits(schema: Json, value: Any) -> None:
        whole = {**schema, "components": document["components"]}
        Draft202012Validator(whole).validate(value)

    def ask(method: str, path: str, template: str, body: Any = None) -> Answer:
        one = document["paths"][template][method.lower()]
        if body is not None:
            fits(one["requestBody"]["content"]["application/json"]["schema"], body)
        answer = client(method, path, body=body)
        said = one["responses"][str(answer.status)]
        assert bool(answer.body) == ("content" in said)
        if answer.body:
            fits(said["content"]["application/json"]["schema"], answer.json)
        return answer

    select = "/gantt/select"
    body = {"request_spec": SPEC, "instance_uuids": [A]}
    assert ask("POST", select, select, {**body, "lease": 5}).status == 200
    assert ask("POST", select, select, {**body, "dry_run": True}).status == 200
    refused = {**body, "request_spec": TOO_MUCH}
    assert ask("POST", select, select, refused).status == 409
    assert ask("POST", "/gantt/capacity", "/gantt/capacity", {
        "request_spec": SPEC
    }).json["total"]  # fmt: skip
    fair = "/gantt/capacity/fair"
    mix = {"request_specs": [SPEC, SPEC], "weights": [2, 1], "by": "zone"}
    assert ask("POST", fair, fair, mix).json["splits"]
    prices = "/gantt/capacity/prices"
    assert ask("POST", prices, prices, {"request_spec": SPEC}).json["prices"]
    runs_out = "/gantt/capacity/runs-out"
    when = {"request_specs": [SPEC], "by": "zone", "horizon_days": 7}
    assert ask("POST", runs_out, runs_out, when).json["outlooks"]
    assert ask("POST", runs_out, runs_out, {}).status == 200
    assert ask("GET", "/gantt/decisions", "/gantt/decisions").json["decisions"]
    history = "/gantt/usage-history"
    assert ask("GET", f"{history}?period=5m", history).status == 200
    assert ask("GET", f"{history}?period=week", history).status == 400
    assert ask("GET", "/gantt/hosts", "/gantt/hosts").json["hosts"]
    host = "/gantt/hosts/{host}/{node}"
    assert ask("PUT", "/gantt/hosts/one/one", host, STATS).status == 200
    assert ask("GET", "/gantt/hosts/unknown/x", host).status == 404
    explain = "/gantt/candidates/explain"
    assert ask("GET", f"{explain}?resources=VCPU:1", explain).status == 200
    assert ask("GET", "/gantt/verify", "/gantt/verify").status == 200
    claim = "/gantt/claims/{claim}"
    assert ask("POST", "/gantt/claims/x/confirm", f"{claim}/confirm").status == 409
    assert ask("DELETE", "/gantt/claims/x", claim).status == 404
