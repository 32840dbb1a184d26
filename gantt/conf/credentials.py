"""Signing in at Keystone with a password, for the dashboard.

Keystone is asked where ``[keystone_authtoken]`` says, by the library that defines that
protocol. Separate from ``remote`` because these are a user's credentials: they are
passed on once, and nothing of them is kept.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Annotated, Any, Final

from msgspec import Meta, Struct
from oslo_config import cfg

from gantt.conf.values import IdentityOptions, Settings
from gantt.errors import Unavailable

GROUP: Final = "keystone_authtoken"
# Those of keystonemiddleware that say where Keystone is. They are read apart from it,
# which defines them itself.
OPTIONS: Final = [
    cfg.StrOpt("auth_url"),
    cfg.StrOpt("www_authenticate_uri"),
    cfg.StrOpt("cafile"),
    cfg.BoolOpt("insecure", default=False),
]
TIMEOUT_S: Final = 10.0

Word = Annotated[str, Meta(min_length=1, max_length=255)]
Password = Annotated[str, Meta(min_length=1, max_length=4096)]


class Credentials(Struct, frozen=True, forbid_unknown_fields=True):
    """A user of Keystone, and the project that the token shall be for."""

    user: Word
    password: Password
    project: Word
    user_domain: Word = "Default"
    project_domain: Word = "Default"


class IssuedToken(Struct, frozen=True):
    """A token; ``expires_at`` as ISO 8601, "": not known."""

    token: str
    expires_at: str = ""


def identity_options(conf: cfg.ConfigOpts) -> IdentityOptions:
    group = conf[GROUP]
    return IdentityOptions(
        group.auth_url or group.www_authenticate_uri or "",
        group.cafile or "",
        insecure=group.insecure,
    )


def can_sign_in(settings: Settings) -> bool:
    """Whether Keystone is what validates tokens, and can be asked for one."""
    is_asked = settings.auth.strategy == "keystone" and settings.identity.url
    return bool(is_asked) and find_spec("keystoneauth1") is not None


def sign_in(options: IdentityOptions, given: Credentials) -> IssuedToken | None:
    """A token for ``given``; None: Keystone refuses them. Raises Unavailable."""
    from keystoneauth1 import exceptions, identity, session

    auth = identity.V3Password(
        _versioned(options.url),
        password=given.password,
        username=given.user,
        user_domain_name=given.user_domain,
        project_name=given.project,
        project_domain_name=given.project_domain,
        reauthenticate=False,
        include_catalog=False,
    )
    verify: Any = False if options.insecure else options.cafile or True
    # A redirect would carry the password elsewhere.
    asking = session.Session(auth, verify=verify, timeout=TIMEOUT_S, redirect=False)
    try:
        access = auth.get_access(asking)
    except exceptions.HttpError as error:
        if error.http_status in (400, 401, 403, 404):
            return None
        raise Unavailable(f"Keystone answers with {error.http_status}.") from None
    except exceptions.ClientException:
        raise Unavailable("Keystone does not answer.") from None
    expires_at = access.expires
    return IssuedToken(
        access.auth_token or "", expires_at.isoformat() if expires_at else ""
    )


def _versioned(url: str) -> str:
    bare = url.rstrip("/")
    return bare if bare.endswith("/v3") else f"{bare}/v3"
