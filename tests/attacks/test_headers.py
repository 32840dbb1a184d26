"""Headers with underscores are not those with dashes, though WSGI names them alike.

``X_Roles`` must not pass where a proxy removes ``X-Roles``.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from tests.attacks.service import ADMIN, MEMBER, Service, attacked, provider

BODY = b'{"name": "from-an-alias"}'


@pytest.fixture(scope="module")
def believing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service without tokens, as behind a proxy that authenticates."""
    with attacked(tmp_path_factory.mktemp("believing"), auth="noauth2") as found:
        yield found


def status(service: Service, *headers: str, line: str = "GET /traits") -> int:
    """Of an answer to exactly these headers; http.client would refuse to send some."""
    sent = (f"{line} HTTP/1.1", "Host: h", "Connection: close", *headers)
    with socket.create_connection(("127.0.0.1", service.port), 20) as one:
        body = BODY if line.startswith("POST") else b""
        one.sendall("\r\n".join((*sent, "", "")).encode("latin-1") + body)
        return int(one.makefile("rb").readline().split()[1])


ALIASES = ["X_Auth_Token", "X-Auth_Token", "X_Auth-Token", "x_auth_token"]


@pytest.mark.parametrize("name", ALIASES)
def test_token_under_another_name_is_ignored(
    service: Service, believing: Service, name: str
) -> None:
    version = "OpenStack-API-Version: placement 1.6"
    assert status(service, version, f"X-Auth-Token: {ADMIN}") == 200
    assert status(service, version, f"{name}: {ADMIN}") == 401
    assert status(believing, version, "X-Auth-Token: admin") == 200
    assert status(believing, version, f"{name}: admin") == 401
    # Nor does it take the place of the one that was sent.
    assert status(service, version, "X-Auth-Token: no", f"{name}: {ADMIN}") == 401
    assert status(service, version, f"{name}: no", f"X-Auth-Token: {ADMIN}") == 200


@pytest.mark.parametrize(
    "alias",
    ["X_Roles: admin", "X-Roles_: admin", "Openstack_System_Scope: all"],
)
def test_roles_under_another_name_are_ignored(believing: Service, alias: str) -> None:
    post = "POST /resource_providers"
    kind = ("Content-Type: application/json", f"Content-Length: {len(BODY)}")
    member = ("X-Auth-Token: mallory:m", "X-Roles: member")
    assert status(believing, *member, *kind, line=post) == 403
    assert status(believing, *member, alias, *kind, line=post) == 403
    bare = member[:1]
    assert status(believing, *bare, alias, *kind, line=post) == 403


def test_project_under_another_name_is_ignored(believing: Service) -> None:
    """Usages of a project are for its members."""
    line = "GET /usages?project_id=theirs"
    version = "OpenStack-API-Version: placement 1.9"
    mine = ("X-Auth-Token: mallory:m", "X-Roles: reader", version)
    assert status(believing, *mine, "X-Project-Id: theirs", line=line) == 200
    assert status(believing, *mine, line=line) == 403
    assert status(believing, *mine, "X_Project_Id: theirs", line=line) == 403


def test_version_and_length_under_other_names_are_ignored(service: Service) -> None:
    token = f"X-Auth-Token: {MEMBER}"
    line = f"GET /resource_providers/{provider(1)}/inventories"
    assert status(service, token, "OpenStack_API_Version: placement 9.99") != 406
    assert status(service, token, "Content_Length: x", line=line) != 400
