"""Signing in as OpenStack's clients do: ``OS_*`` variables, and clouds.yaml."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from gantt.cli.main import gantt
from tests.cli.keystones import PASSWORD, REGION, SECRET, Keystone, keystone
from tests.guides.guide import shown
from tests.shown import Terminal

WRONG = "wr0ng-word"


@pytest.fixture
def cloud(service: str) -> Iterator[Keystone]:
    with keystone({"public": service, "internal": "http://127.0.0.1:1"}) as server:
        yield server


def variables(cloud: Keystone, **more: str | None) -> dict[str, str | None]:
    return {f"OS_{key.upper()}": value for key, value in auth(cloud).items()} | more


def run(environ: dict[str, str | None], *words: str) -> Result:
    """``gantt`` with these variables alone to say where and who."""
    none = dict.fromkeys(("GANTT_URL", "GANTT_TOKEN", "OS_CLOUD", "OS_AUTH_URL"))
    found = CliRunner(env={**none, **environ}).invoke(gantt, words)
    if found.exception and not isinstance(found.exception, SystemExit):
        raise found.exception
    return found


def said(environ: dict[str, str | None], *words: str, status: int = 1) -> str:
    """What is told of a failure, on one line and without a password."""
    found = run(environ, *words)
    assert found.exit_code == status, found.output
    assert found.stderr.count("\n") == 1 or status == 2
    assert PASSWORD not in found.output
    assert WRONG not in found.output
    return found.stderr


def file(folder: Path, cloud: dict[str, Any], **named: Any) -> dict[str, str | None]:
    """Variables that name a clouds.yaml with the cloud 'mine'."""
    path = folder / "clouds.yaml"
    path.write_text(yaml.safe_dump({"clouds": {"mine": cloud, **named}}))
    return {"OS_CLIENT_CONFIG_FILE": str(path)}


def auth(cloud: Keystone, **more: Any) -> dict[str, Any]:
    return {
        "auth_url": cloud.url,
        "username": "ann",
        "password": PASSWORD,
        "project_name": "blue",
        **more,
    }


def test_variables_sign_in_and_the_catalogue_says_where(cloud: Keystone) -> None:
    found = run(variables(cloud), "trait", "list", "--prefix", "HW_CPU_X86_AVX2")
    assert found.stdout.split() == ["name", "HW_CPU_X86_AVX2"]
    (body,) = cloud.bodies
    user = body["auth"]["identity"]["password"]["user"]
    assert (user["name"], user["domain"]) == ("ann", {"id": "default"})
    scope = {"project": {"name": "blue", "domain": {"id": "default"}}}
    assert body["auth"]["scope"] == scope


def test_a_cloud_of_a_file_by_option_or_variable(
    cloud: Keystone, tmp_path: Path
) -> None:
    named = file(tmp_path, {"auth": auth(cloud, user_domain_name="Users")})
    words = ("trait", "list", "--prefix", "HW_CPU_X86_AVX2", "-o", "value")
    for environ, placed in (
        (named, ("--os-cloud", "mine", *words)),
        (named, (*words, "--os-cloud", "mine")),
        ({**named, "OS_CLOUD": "mine"}, words),
    ):
        assert run(environ, *placed).stdout == "HW_CPU_X86_AVX2\n"
    user = cloud.bodies[0]["auth"]["identity"]["password"]["user"]
    assert user["domain"] == {"name": "Users"}


def test_each_way_of_the_guide_signs_in(cloud: Keystone, tmp_path: Path) -> None:
    (block,) = (one for one in shown("command-line") if "openrc" in one.text)
    lines = [f"export {name}={value}\n" for name, value in variables(cloud).items()]
    (tmp_path / "openrc").write_text("".join(lines))
    file(tmp_path, {"auth": auth(cloud)})
    with Terminal(folder=tmp_path) as terminal:
        del terminal.environ["GANTT_URL"]
        for number, command in enumerate(block.commands, start=1):
            said = terminal.type(command)
            assert "Error" not in said and "name" in said, said
            assert len(cloud.bodies) == number


def test_secrets_may_be_in_a_file_of_their_own(cloud: Keystone, tmp_path: Path) -> None:
    asked = auth(cloud)
    del asked["password"]
    named = file(tmp_path, {"auth": asked})
    secret = tmp_path / "secure.yaml"
    secret.write_text(
        yaml.safe_dump({"clouds": {"mine": {"auth": {"password": PASSWORD}}}})
    )
    environ = {**named, "OS_CLIENT_SECURE_FILE": str(secret)}
    assert run(environ, "trait", "list", "--os-cloud", "mine").exit_code == 0


def test_application_credentials(cloud: Keystone, tmp_path: Path) -> None:
    given = {
        "auth_url": cloud.url,
        "application_credential_id": "app",
        "application_credential_secret": SECRET,
    }
    named = file(tmp_path, {"auth": given})
    assert run(named, "trait", "list", "--os-cloud", "mine").exit_code == 0
    assert "application_credential" in cloud.bodies[0]["auth"]["identity"]


def test_a_url_precedes_the_catalogue(cloud: Keystone, service: str) -> None:
    cloud.placement = {}
    assert run(variables(cloud, GANTT_URL=service), "trait", "list").exit_code == 0
    assert len(cloud.bodies) == 1


def test_a_token_or_a_database_needs_no_keystone(
    cloud: Keystone, service: str, tmp_path: Path
) -> None:
    environ = variables(cloud, GANTT_TOKEN="admin", GANTT_URL=service)
    assert run(environ, "trait", "list").exit_code == 0
    run(variables(cloud), "trait", "list", "--url", f"sqlite:///{tmp_path / 'x.db'}")
    assert cloud.bodies == []


def test_interface_and_region_choose_the_endpoint(cloud: Keystone) -> None:
    told = said(variables(cloud, OS_INTERFACE="internal"), "trait", "list")
    assert "No answer from http://127.0.0.1:1" in told
    told = said(variables(cloud, OS_REGION_NAME="south"), "trait", "list")
    assert "has no public endpoint of type placement in region south" in told
    found = run(variables(cloud, OS_REGION_NAME=REGION), "trait", "list")
    assert found.exit_code == 0


def test_a_password_in_the_address_of_keystone() -> None:
    for address in ("http://ann:{}@127.0.0.1:1/v3", "http://ann:{}@x:99999999"):
        environ = {"OS_AUTH_URL": address.format(WRONG), "OS_PROJECT_NAME": "blue"}
        user = {"OS_USERNAME": "ann", "OS_PASSWORD": PASSWORD}
        assert "http://ann:***@" in said({**environ, **user}, "host", "list")


def test_a_wrong_password(cloud: Keystone) -> None:
    told = said(variables(cloud, OS_PASSWORD=WRONG), "trait", "list")
    assert f"Keystone at {cloud.url} refuses to sign in: " in told
    assert "Wrong password" in told


def test_a_keystone_that_fails(cloud: Keystone) -> None:
    cloud.status = 503
    assert "refuses to sign in" in said(variables(cloud), "trait", "list")


def test_a_keystone_that_is_not_there(cloud: Keystone) -> None:
    environ = variables(cloud, OS_AUTH_URL="http://127.0.0.1:1/v3")
    assert "Signing in at Keystone at http://127.0.0.1:1/v3 failed" in said(
        environ, "trait", "list"
    )


def test_a_catalogue_without_placement(cloud: Keystone) -> None:
    cloud.placement = {}
    told = said(variables(cloud), "trait", "list")
    assert "has no public endpoint of type placement: give --url" in told


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("region_name", "no public endpoint of type placement in its region_name: "),
        ("interface", "has no endpoint of type placement at its interface: "),
        ("placement_service_type", "public endpoint of its placement_service_type: "),
    ],
)
def test_a_catalogue_without_what_a_file_names(
    cloud: Keystone, tmp_path: Path, name: str, message: str
) -> None:
    auth = {"auth_url": cloud.url, "username": "ann", "password": PASSWORD}
    environ = file(tmp_path, {"auth": {**auth, "project_name": "blue"}, name: WRONG})
    told = said(environ, "--os-cloud", "mine", "trait", "list")
    assert message in told


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("clouds: [", "is not YAML"),
        (f"clouds: {{mine: {{auth: {{password: {WRONG}, ]}}", "is not YAML"),
        ("- 1", "has no mapping 'clouds'"),
        ("clouds: 7", "has no mapping 'clouds'"),
        ("clouds: {other: {auth: {}}}", "has no cloud 'mine'; it has: 'other'"),
        ("clouds: {mine: 3}", "has no cloud 'mine'"),
        ("clouds: {mine: {auth: 3}}", "auth is no mapping"),
        ("clouds: {mine: {}}", "lacks auth_url"),
        ("clouds: {mine: {auth: {}, auth_type: wr0ng-word}}", "not know its auth_type"),
        ("clouds: {mine: {profile: wr0ng-word, auth: {}}}", "from its profile"),
        ("clouds: {mine: {profile: x, auth: null}}", "from its profile"),
        ("clouds: {mine: {profile: x, auth: [wr0ng-word]}}", "from its profile"),
        (
            "clouds: {mine: {auth_type: v3multifactor, auth: {auth_url: 'http://x', "
            "auth_methods: wr0ng-word}}}",
            "auth_methods. auth_type may be one of: ",
        ),
        (
            "clouds: {mine: {auth: {auth_url: 'https://127.0.0.1:1'}, "
            "cacert: wr0ng-word}}",
            "invalid path: (cacert)",
        ),
        ("clouds: {mine: {auth: {auth_url: 'not a url'}}}", "Signing in at Keystone"),
        ("clouds: {mine: {auth: {auth_url: [1]}}}", "cannot be used to sign in"),
        ("\x00", "is not YAML"),
    ],
)
def test_a_file_that_cannot_be_used(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "clouds.yaml"
    path.write_text(text)
    environ: dict[str, str | None] = {"OS_CLIENT_CONFIG_FILE": str(path)}
    assert message in said(environ, "--os-cloud", "mine", "trait", "list")


def test_a_file_that_is_none(tmp_path: Path) -> None:
    environ: dict[str, str | None] = {"OS_CLIENT_CONFIG_FILE": str(tmp_path)}
    assert "cannot be read" in said(environ, "--os-cloud", "mine", "trait", "list")
    missing: dict[str, str | None] = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": None}
    told = said(missing, "--os-cloud", "mine", "trait", "list")
    assert f"{tmp_path}/.config/openstack/clouds.yaml" in told


def test_names_of_clouds_are_made_printable(tmp_path: Path) -> None:
    told = said(file(tmp_path, {}), "--os-cloud", "\x1b[31m\u202e", "trait", "list")
    assert "\x1b" not in told
    assert "\u202e" not in told


def test_a_token_and_a_cloud_are_one_too_many() -> None:
    told = said({}, "trait", "list", "--token", "a", "--os-cloud", "b", status=2)
    assert "Give --token or --os-cloud, not both" in told


@pytest.fixture
def silent() -> Iterator[str]:
    """Something that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


def test_a_silent_service_is_waited_for_so_long(silent: str) -> None:
    environ = {"GANTT_URL": silent, "GANTT_TOKEN": "admin"}
    told = said({**environ}, "--http-timeout", "0.2", "trait", "list")
    assert f"No answer from {silent}: no data was received within 0.2 s" in told
    told = said({**environ, "GANTT_HTTP_TIMEOUT": "0.3"}, "trait", "list")
    assert "within 0.3 s" in told


@pytest.mark.parametrize("seconds", ["nan", "0", "-1", "inf", "x", "1e999"])
def test_times_that_are_none(silent: str, seconds: str) -> None:
    environ: dict[str, str | None] = {"GANTT_URL": silent, "GANTT_TOKEN": "admin"}
    told = said(environ, "--http-timeout", seconds, "trait", "list", status=2)
    assert "Invalid value for '--http-timeout'" in told
    environ["GANTT_HTTP_TIMEOUT"] = seconds
    assert "Invalid value for '--http-timeout'" in said(
        environ, "trait", "list", status=2
    )


def test_a_silent_keystone_is_waited_for_so_long(silent: str, cloud: Keystone) -> None:
    environ = variables(cloud, OS_AUTH_URL=f"{silent}/v3")
    told = said(environ, "trait", "list", "--http-timeout", "0.2")
    assert f"Signing in at Keystone at {silent}/v3 failed" in told
