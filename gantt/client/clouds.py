"""Signing in as OpenStack's clients do: a cloud of clouds.yaml, or ``OS_*`` variables.

Separate from the options of services, which ``gantt.conf`` reads: these are a person's,
for one command. The kinds of authentication and their options are keystoneauth's; the
names of files and variables, and which comes first, are those of openstacksdk.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml
from msgspec import Struct

from gantt.errors import Refused, SignInRefused, Unavailable, how_to_install
from gantt.model.addresses import HIDDEN, without_secrets

SERVICE: Final = "placement"
# The name of the cloud that the variables describe.
ENVIRONMENT: Final = "envvars"
_DOMAINS: Final = ("user_domain", "project_domain")
_NO: Final = ("false", "0", "no", "off")
_FILES: Final = ("cacert", "cert", "key")
_INTERFACES: Final = ("public", "internal", "admin")


class CloudSession(Struct, frozen=True):
    """``session``: a keystoneauth adapter, signed in; ``url``: of the service."""

    session: Any
    url: str


def sign_in(
    name: str,
    environ: Mapping[str, str],
    *,
    url: str = "",
    timeout_s: float = 60.0,
) -> CloudSession:
    """Sign in at the cloud ``name`` of clouds.yaml ("": the one that the variables
    name, or describe).

    ``url``: of the service; "": the catalogue's endpoint of type placement. Raises
    Refused, SignInRefused, Unavailable."""
    try:
        from keystoneauth1 import adapter, exceptions
    except ImportError:
        raise Refused(
            "Signing in at Keystone needs keystoneauth1: "
            f"{how_to_install('openstack')}."
        ) from None
    cloud = cloud_of(name or environ.get("OS_CLOUD", ""), environ)
    try:
        session = _session(cloud, timeout_s)
        found = adapter.Adapter(
            session,
            service_type=cloud.get("placement_service_type", SERVICE),
            interface=_interface(cloud),
            region_name=cloud.get("region_name"),
        )
        session.get_token()
        where = url or cloud.get("placement_endpoint_override") or _endpoint(found)
    except exceptions.HttpError as error:
        kind = SignInRefused if error.http_status in (401, 403) else Unavailable
        raise kind(
            f"{_keystone(cloud)} refuses to sign in: {_told(cloud, error)}"
        ) from None
    except (exceptions.ClientException, OSError) as error:
        raise Unavailable(
            f"Signing in at {_keystone(cloud)} failed: {_told(cloud, error)}. Check "
            "auth_url, that Keystone answers there, and the files cacert, cert and key."
        ) from None
    except (TypeError, ValueError) as error:
        raise Refused(f"{_what(cloud)} cannot be used to sign in: {error}.") from error
    if not where:
        raise Refused(_no_endpoint(cloud))
    return CloudSession(found, str(where))


def _endpoint(service: Any) -> str:
    """The address of the service in the catalogue; "": it has none."""
    from keystoneauth1 import exceptions

    try:
        return service.get_endpoint() or ""
    except exceptions.CatalogException:
        return ""


def cloud_of(name: str, environ: Mapping[str, str]) -> dict[str, Any]:
    """The settings of a cloud, its name among them. Raises Refused."""
    if name in ("", ENVIRONMENT):
        found = {
            variable[3:].lower(): value
            for variable, value in environ.items()
            if variable.startswith("OS_") and value
        }
        return {**found, "cloud": ENVIRONMENT}
    usual = _folders(environ)
    clouds, file = _read("clouds", environ.get("OS_CLIENT_CONFIG_FILE"), usual)
    if file is None:
        places = ", ".join(str(folder / "clouds.yaml") for folder in usual)
        raise Refused(f"There is no clouds.yaml for the cloud {name!r}: {places}.")
    if not isinstance(clouds.get(name), dict):
        known = ", ".join(map(repr, clouds)) or "none"
        raise Refused(f"{file} has no cloud {name!r}; it has: {known}.")
    auth = clouds[name].get("auth")
    has_url = isinstance(auth, dict) and "auth_url" in auth
    if "profile" in clouds[name] and not has_url:
        raise Refused(
            f"The cloud {name!r} of {file} takes auth_url from its profile, which is "
            "not read: write auth_url into its auth."
        )
    secrets, _ = _read("secure", environ.get("OS_CLIENT_SECURE_FILE"), usual)
    hidden = secrets.get(name)
    merged = _merged(clouds[name], hidden if isinstance(hidden, dict) else {})
    region = environ.get("OS_REGION_NAME") or merged.get("region_name")
    return {**merged, "cloud": name, "region_name": region, "file": str(file)}


def _folders(environ: Mapping[str, str]) -> list[Path]:
    home = environ.get("HOME", "")
    config = environ.get("XDG_CONFIG_HOME") or (f"{home}/.config" if home else "")
    own = [Path(config) / "openstack"] if config else []
    return [Path.cwd(), *own, Path("/etc/openstack")]


def _read(
    kind: str, named: str | None, folders: list[Path]
) -> tuple[dict[str, Any], Path | None]:
    """The clouds of the first such file, and which it is. Raises Refused."""
    files = [Path(named)] if named else []
    files += [
        folder / f"{kind}{end}" for folder in folders for end in (".yaml", ".yml")
    ]
    for file in files:
        try:
            text = file.read_text(encoding="utf-8")
        except FileNotFoundError:
            continue
        except (OSError, UnicodeError) as error:
            reason = getattr(error, "strerror", None) or error
            raise Refused(f"{file} cannot be read: {reason}.") from error
        try:
            document = yaml.safe_load(text)
        except (yaml.YAMLError, RecursionError, ValueError) as error:
            # Its message may quote a line with a password.
            mark = getattr(error, "problem_mark", None)
            line = "" if mark is None else f", line {mark.line + 1}"
            raise Refused(f"{file}{line} is not YAML.") from None
        clouds = document.get("clouds") if isinstance(document, dict) else None
        if not isinstance(clouds, dict):
            raise Refused(
                f"{file} has no mapping 'clouds', with a cloud for each name."
            )
        return {str(name): cloud for name, cloud in clouds.items()}, file
    return {}, None


def _merged(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    found = dict(one)
    for name, value in other.items():
        mine = found.get(name)
        is_deeper = isinstance(mine, dict) and isinstance(value, dict)
        found[name] = _merged(mine, value) if is_deeper else value  # type: ignore[arg-type]
    return found


def _session(cloud: Mapping[str, Any], timeout_s: float) -> Any:
    """Raises what keystoneauth raises, Refused."""
    from keystoneauth1 import exceptions, loading, session

    given = cloud.get("auth", {})
    if not isinstance(given, dict):
        raise Refused(f"{_what(cloud)}: auth is no mapping.")
    given = {**cloud, **given}
    kind = str(cloud.get("auth_type") or _kind(given))
    try:
        loader: Any = loading.get_plugin_loader(kind)
        auth = loader.load_from_options(**_options(loader, given))
    except exceptions.NoMatchingPlugin:
        # Its message repeats the value, which may be a password in the wrong line.
        known = ", ".join(sorted(loading.get_available_plugin_names()))
        raise Refused(
            f"{_what(cloud)}: keystoneauth1 does not know its auth_type, or one of its "
            f"auth_methods. auth_type may be one of: {known}."
        ) from None
    except exceptions.MissingRequiredOptions as error:
        lacking = ", ".join(option.dest for option in error.options)
        raise Refused(f"{_what(cloud)} lacks {lacking} to sign in.") from error
    cert, key = cloud.get("cert"), cloud.get("key")
    return session.Session(
        auth,
        verify=_verify(cloud),
        cert=(cert, key) if cert and key else cert,
        timeout=timeout_s,
    )


def _options(loader: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """What is given of the loader's options. Raises ValueError."""
    wanted = {
        option.dest: _text(name, given[name])
        for option in loader.get_options()
        for name in reversed((option.dest, *(old.dest for old in option.deprecated)))
        if given.get(name) is not None
    }
    _add_domains(wanted, given, {option.dest for option in loader.get_options()})
    return wanted


def _text(name: str, value: Any) -> str:
    """A password of digits alone is a number in YAML. Raises ValueError."""
    if not isinstance(value, str | int | float):
        raise ValueError(f"{name} is no text")
    return str(value)


def _kind(given: Mapping[str, Any]) -> str:
    if given.get("application_credential_id") or given.get(
        "application_credential_name"
    ):
        return "v3applicationcredential"
    has_user = given.get("username") or given.get("user_id")
    return "token" if given.get("token") and not has_user else "password"


def _add_domains(
    wanted: dict[str, Any], given: Mapping[str, Any], known: set[str]
) -> None:
    """Names of users and projects are those of the default domain, unless another is
    named; ``user_domain`` alone is a name, as in many files."""
    for domain in _DOMAINS:
        name, number = f"{domain}_name", f"{domain}_id"
        if {name, number} <= known and not (wanted.get(name) or wanted.get(number)):
            default_name = given.get("default_domain_name")
            default = given.get("default_domain_id") or given.get("default_domain")
            if given.get(domain) or default_name:
                wanted[name] = given.get(domain) or default_name
            elif domain == "user_domain" or wanted.get("project_name"):
                wanted[number] = default or "default"


def _verify(cloud: Mapping[str, Any]) -> bool | str:
    is_insecure = str(cloud.get("insecure", False)).lower() not in (*_NO, "none")
    is_verified = str(cloud.get("verify", True)).lower() not in _NO
    if is_insecure or not is_verified:
        return False
    return str(Path(cloud["cacert"]).expanduser()) if cloud.get("cacert") else True


def _interface(cloud: Mapping[str, Any]) -> str:
    named = cloud.get("placement_interface") or cloud.get("interface")
    found = str(named or cloud.get("endpoint_type") or "public")
    return found.removesuffix("URL")


def _what(cloud: Mapping[str, Any]) -> str:
    """What was read, for a message."""
    if cloud["cloud"] == ENVIRONMENT:
        return "What the variables OS_* say"
    return f"The cloud {cloud['cloud']!r} of {cloud['file']}"


def _auth_url(cloud: Mapping[str, Any]) -> str:
    auth = cloud.get("auth") or {}
    return str(auth.get("auth_url") or cloud.get("auth_url") or "")


def _told(cloud: Mapping[str, Any], error: Exception) -> str:
    """What keystoneauth says, which repeats auth_url with a password in it, and what
    stands in place of a file's name."""
    user = _auth_url(cloud).partition("//")[2].rpartition("@")[0]
    password = user.partition(":")[2]
    text = str(error).rstrip(".")
    for name in _FILES:
        if value := cloud.get(name):
            for shown in (str(Path(str(value)).expanduser()), str(value)):
                text = text.replace(shown, f"({name})")
    return text.replace(f":{password}@", f":{HIDDEN}@") if password else text


def _keystone(cloud: Mapping[str, Any]) -> str:
    url = _auth_url(cloud)
    return f"Keystone at {without_secrets(url)}" if url else "Keystone"


def _no_endpoint(cloud: Mapping[str, Any]) -> str:
    """Values of clouds.yaml are named, not shown, unless they are well known."""
    given = cloud.get("placement_service_type", SERVICE)
    kind = f"type {SERVICE}" if given == SERVICE else "its placement_service_type"
    interface = _interface(cloud)
    which = f"{interface} " if interface in _INTERFACES else ""
    its = "" if which else " at its interface"
    region = cloud.get("region_name")
    is_typed = cloud["cloud"] == ENVIRONMENT
    where = f" in region {region}" if is_typed else " in its region_name"
    return (
        f"The catalogue of {_keystone(cloud)} has no {which}endpoint of {kind}{its}"
        f"{where if region else ''}: give --url, or another interface (OS_INTERFACE) "
        "or region (OS_REGION_NAME)."
    )
