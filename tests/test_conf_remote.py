"""A remote Placement by configuration, and how its callers sign in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from wsgiref.simple_server import WSGIServer

import pytest

from gantt.conf import placement_session
from gantt.connection import open_gantt, remote_books
from gantt.errors import NoValidHost, Refused
from gantt.model.requests import CandidateRequest, RequestGroup
from tests.configured import settings_of
from tests.elsewhere import ask
from tests.inprocess import served

QUESTION = CandidateRequest((RequestGroup("", {"VCPU": 1}),))


@contextmanager
def listening() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The address of a Placement without candidates, and what it was asked."""
    seen: list[dict[str, Any]] = []

    def app(environ: dict[str, Any], start: Any) -> list[bytes]:
        seen.append(environ)
        start("200 OK", [("content-type", "application/json")])
        return [b'{"allocation_requests": [], "provider_summaries": {}}']

    with served(app, WSGIServer) as url:
        yield url, seen


def test_embedded_books_need_no_session(tmp_path: Path) -> None:
    found = settings_of(tmp_path, "[placement]\nauth_type = password\n")
    assert placement_session(found) is None
    assert remote_books(found.engine) is None


def test_token_is_sent_without_auth_type(tmp_path: Path) -> None:
    with listening() as (url, seen):
        text = f"[scheduler]\nplacement = {url}/base\nplacement_token = secret\n"
        found = settings_of(tmp_path, text)
        session = placement_session(found)
        assert session is None
        books = remote_books(found.engine, session=session)
        assert books is not None
        books.candidates(QUESTION, request_id="req-1")
        books.close()
    (environ,) = seen
    assert environ["HTTP_X_AUTH_TOKEN"] == "secret"
    assert environ["HTTP_X_OPENSTACK_REQUEST_ID"] == "req-1"
    assert environ["HTTP_OPENSTACK_API_VERSION"] == "placement 1.36"
    assert environ["PATH_INFO"] == "/base/allocation_candidates"
    assert environ["QUERY_STRING"] == "resources=VCPU:1"


@pytest.mark.parametrize("place", ["url", "keystone"])
def test_session_authenticates_with_the_placement_section(
    tmp_path: Path, place: str
) -> None:
    with listening() as (url, seen):
        text = (
            f"[scheduler]\nplacement = {url if place == 'url' else place}\n"
            "[placement]\nauth_type = http_basic\nusername = gantt\n"
            f"password = secret\nendpoint = {url}\nrandomize_allocation_candidates=no\n"
        )
        found = settings_of(tmp_path, text)
        books = remote_books(found.engine, session=placement_session(found))
        assert books is not None
        assert books.candidates(QUESTION).candidates == ()
    assert seen[0]["HTTP_AUTHORIZATION"].startswith("Basic ")
    assert seen[0]["PATH_INFO"] == "/allocation_candidates"


def test_engine_asks_the_configured_placement(tmp_path: Path) -> None:
    with listening() as (url, seen):
        found = settings_of(tmp_path, f"[scheduler]\nplacement = {url}\n")
        with (
            open_gantt("memory://", found.engine) as engine,
            pytest.raises(NoValidHost),
        ):
            engine.schedule(ask())
    assert len(seen) == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[scheduler]\nplacement = keystone\n", "no authentication is configured"),
        ("[scheduler]\nplacement = http://[\n", "not the address of a service"),
        ("[scheduler]\nplacement = elsewhere\n", "embedded, keystone, or the URL"),
        (
            "[scheduler]\nplacement = http://h\n[placement]\nauth_type = strange\n",
            "cannot be used to authenticate",
        ),
    ],
)
def test_unusable_placement_is_refused(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(Refused, match=words):
        found = settings_of(tmp_path, text)
        remote_books(found.engine, session=placement_session(found))
