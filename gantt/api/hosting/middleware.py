"""The WSGI middleware of other projects: CORS, proxy headers and Keystone's tokens.

All of it is imported when it is configured and not before, so that a service without
it neither needs nor loads the packages of the ``openstack`` extra.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import Any, cast

from gantt.api.access.auth import OPEN_PATHS
from gantt.api.call import Environ
from gantt.api.hosting.envelope import StartResponse, WsgiApp
from gantt.errors import Refused

_ALLOW_HEADERS = [
    "X-Auth-Token",
    "X-Openstack-Request-Id",
    "X-Identity-Status",
    "X-Roles",
    "X-Service-Catalog",
    "X-User-Id",
    "X-Tenant-Id",
    "OpenStack-API-Version",
]
_EXPOSE_HEADERS = [
    "X-Auth-Token",
    "X-Openstack-Request-Id",
    "X-Subject-Token",
    "X-Service-Token",
    "OpenStack-API-Version",
]
_ALLOW_METHODS = ["GET", "PUT", "POST", "DELETE", "PATCH"]


def require_keystone(app: WsgiApp, conf: Any) -> WsgiApp:
    """Let Keystone judge the token of all but the version document."""
    auth_token = _load("keystonemiddleware.auth_token", "auth_strategy keystone")
    guarded = auth_token.AuthProtocol(app, {"oslo_config_config": conf})

    def choose(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        is_open = environ.get("PATH_INFO", "") in OPEN_PATHS
        return cast(
            Iterable[bytes], (app if is_open else guarded)(environ, start_response)
        )

    return choose


def allow_origins(app: WsgiApp, conf: Any) -> WsgiApp:
    """CORS as [cors] says, with what Placement's clients need as its defaults."""
    cors = _load("oslo_middleware.cors", "[cors] allowed_origin")
    conf.register_opts(cors.CORS_OPTS, "cors")
    conf.set_default("allow_headers", _ALLOW_HEADERS, "cors")
    conf.set_default("expose_headers", _EXPOSE_HEADERS, "cors")
    conf.set_default("allow_methods", _ALLOW_METHODS, "cors")
    return cast(WsgiApp, cors.CORS(app, conf))


def accept_proxy_headers(app: WsgiApp, conf: Any) -> WsgiApp:
    """Believe X-Forwarded-* and Forwarded, for a service behind a proxy."""
    module = _load(
        "oslo_middleware.http_proxy_to_wsgi",
        "[oslo_middleware] enable_proxy_headers_parsing",
    )
    return cast(WsgiApp, module.HTTPProxyToWSGI(app, conf))


def _load(name: str, what_for: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise Refused(
            f"{what_for} needs the Python module {name}, which is not installed: "
            "pip install 'gantt-scheduler[openstack]'"
        ) from error
