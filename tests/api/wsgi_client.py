"""Calls a WSGI application in this process, with headers as from a server."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import unquote_to_bytes

from msgspec import Struct

from gantt.api.middleware import WsgiApp


class Answer(Struct, frozen=True):
    """What came back; ``headers`` by lower-case name."""

    status: int
    reason: str
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def detail(self) -> str:
        return str(self.json["errors"][0]["detail"])


class WsgiClient:
    """``token`` is sent with every request unless its headers replace it."""

    def __init__(self, app: WsgiApp, token: str | None = "admin") -> None:
        self._app = app
        self._token = token

    def __call__(
        self,
        method: str,
        target: str,
        *,
        headers: Mapping[str, str | None] | None = None,
        version: str | int | None = None,
        body: object = None,
        environ: Mapping[str, Any] | None = None,
    ) -> Answer:
        """``version``: N of 1.N or a whole header. ``body``: bytes, or to be JSON.

        A header of None is left out.
        """
        given: dict[str, str | None] = {"x-auth-token": self._token}
        if version is not None:
            text = f"1.{version}" if isinstance(version, int) else version
            given["openstack-api-version"] = f"placement {text}"
        payload = b""
        if body is not None:
            payload = body if isinstance(body, bytes) else json.dumps(body).encode()
            given["content-type"] = "application/json"
            given["content-length"] = str(len(payload))
        given.update(headers or {})
        return self._send(method, target, given, payload, environ or {})

    def _send(
        self,
        method: str,
        target: str,
        headers: Mapping[str, str | None],
        payload: bytes,
        environ: Mapping[str, Any],
    ) -> Answer:
        path, _, query = target.partition("?")
        env: dict[str, Any] = {
            "REQUEST_METHOD": method,
            "SCRIPT_NAME": "",
            "PATH_INFO": unquote_to_bytes(path).decode("latin-1"),
            "QUERY_STRING": query,
            "SERVER_NAME": "gantt.test",
            "SERVER_PORT": "80",
            "HTTP_HOST": "gantt.test",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "REMOTE_ADDR": "192.0.2.1",
            "wsgi.version": (1, 0),
            "wsgi.url_scheme": "http",
            "wsgi.input": io.BytesIO(payload),
            "wsgi.errors": sys.stderr,
            "wsgi.multithread": True,
            "wsgi.multiprocess": False,
            "wsgi.run_once": False,
        }
        for name, value in headers.items():
            key = name.upper().replace("-", "_")
            if key not in ("CONTENT_TYPE", "CONTENT_LENGTH"):
                key = f"HTTP_{key}"
            if value is not None:
                env[key] = value
        env.update(environ)
        return self._run(env)

    def _run(self, env: dict[str, Any]) -> Answer:
        seen: list[tuple[str, list[tuple[str, str]]]] = []

        def start_response(
            status: str, headers: list[tuple[str, str]], exc_info: Any = None
        ) -> None:
            seen.append((status, headers))

        chunks: Iterable[bytes] = self._app(env, start_response)
        body = b"".join(chunks)
        [(status, headers)] = seen
        code, _, reason = status.partition(" ")
        names = [name for name, _ in headers]
        assert len(set(names)) == len(names), f"a header twice: {names}"
        return Answer(int(code), reason, dict(headers), body)
