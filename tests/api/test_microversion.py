"""Microversion negotiation, and its two refusals."""

from __future__ import annotations

import pytest

from gantt.api.wire.microversion import negotiate
from gantt.api.wire.problem import Problem
from tests.api.door import answer_nothing, client_for


@pytest.mark.parametrize(
    ("header", "minor"),
    [
        (None, 0),
        ("", 0),
        ("placement 1.0", 0),
        ("placement 1.39", 39),
        ("placement latest", 39),
        ("PLACEMENT 1.7", 7),
        ("placement 1.05", 5),
        ("placement 1. 5", 5),
        ("placement   1.5", 5),
        ("placement +1.+5", 5),
        ("placement 1.1_0", 10),
        ("compute 2.90", 0),
        ("1.9", 0),
        ("placement", 0),
        ("placement 1.5, compute 2.9, placement 1.7, 1.9", 7),
        ("compute 2.9, placement latest", 39),
    ],
)
def test_last_entry_for_placement_wins(header: str | None, minor: int) -> None:
    assert negotiate(header) == minor


@pytest.mark.parametrize("version", ["0.5", "1.40", "2.0", "-1.5", "1.-1"])
def test_unsupported_version_is_406(version: str) -> None:
    with pytest.raises(Problem) as caught:
        negotiate(f"placement {version}")
    problem = caught.value
    assert problem.status == 406
    assert problem.detail == (
        f"Invalid microversion: Unacceptable version header: {version}"
    )
    assert problem.extra == {"max_version": "1.39", "min_version": "1.0"}


@pytest.mark.parametrize(
    ("version", "reason"),
    [
        ("x", "invalid literal for int() with base 10: 'x'"),
        ("LATEST", "invalid literal for int() with base 10: 'LATEST'"),
        ("1.2.3", "invalid literal for int() with base 10: '2.3'"),
        ("1.5 foo", "invalid literal for int() with base 10: '5 foo'"),
        ("1", "Version.__new__() missing 1 required positional argument: 'minor'"),
    ],
)
def test_malformed_version_is_400(version: str, reason: str) -> None:
    with pytest.raises(Problem) as caught:
        negotiate(f"placement {version}")
    assert caught.value.status == 400
    assert caught.value.detail == (
        f"Invalid microversion: invalid version string: {version}; {reason}"
    )


def test_answers_have_version_and_vary_headers() -> None:
    answer = client_for(answer_nothing)("GET", "/thing", version=7)
    assert answer.headers["openstack-api-version"] == "placement 1.7"
    assert answer.headers["vary"] == "openstack-api-version"


def test_refused_version_has_no_version_headers() -> None:
    answer = client_for(answer_nothing)("GET", "/thing", version="1.40")
    [error] = answer.json["errors"]
    assert list(error) == [
        "status", "title", "detail", "request_id", "max_version", "min_version",
    ]  # fmt: skip
    assert answer.headers.keys().isdisjoint({"openstack-api-version", "vary"})


def test_bad_version_precedes_404_but_not_401() -> None:
    client = client_for(answer_nothing)
    assert client("GET", "/nowhere", version="9.9").status == 406
    headers = {"x-auth-token": None}
    assert client("GET", "/thing", version="9.9", headers=headers).status == 401
