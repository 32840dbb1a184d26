"""Database URLs: their drivers, and suggestions for mistyped ones.

Apart from the dialects, because mistyped URLs often have none: a path without a scheme,
a slash too few, the address of a service.
"""

from __future__ import annotations

import logging
import re
from pathlib import Path

from sqlalchemy import URL, exc, make_url

from gantt import errors
from gantt.model.addresses import without_secrets

LOG = logging.getLogger(__name__)

_DRIVERS = {
    "sqlite": "sqlite+pysqlite",
    "postgres": "postgresql+psycopg",
    "postgresql": "postgresql+psycopg",
    "postgresql+psycopg2": "postgresql+psycopg",
    "mysql": "mysql+pymysql",
    "mariadb": "mysql+pymysql",
    "mariadb+pymysql": "mysql+pymysql",
}
_HAVE_SCHEMAS = ("postgresql", "postgres")
_LATIN_1 = 0xFF
_SERVICE = re.compile(r"(?:https?:)?/*([\w.-]+:\d+)/?")
_FORMS = (
    "Databases are named as sqlite:////absolute/path/to/file, "
    "postgresql+psycopg://user:password@host/name or "
    "mysql+pymysql://user:password@host/name; a service as http://host:port."
)


def understood(url: str) -> URL:
    """The URL with the driver that Gantt uses in place of others in old files. Raises
    Refused."""
    try:
        parsed = make_url(url)
    except (exc.ArgumentError, TypeError, ValueError) as error:
        named = without_secrets(url)
        raise errors.Refused(
            f"The database URL {named!r} cannot be read. {_meant(named)}"
        ) from error
    if parsed.drivername == "sqlite" and parsed.host:
        raise errors.Refused(
            f"{without_secrets(url)} names a host, {parsed.host!r}, and no file. "
            f"{_sqlite_forms(parsed.host + '/' + (parsed.database or ''))}"
        )
    _check_escapes(parsed, url)
    if "schema" in parsed.query and parsed.get_backend_name() not in _HAVE_SCHEMAS:
        raise errors.Refused(
            f"{without_secrets(url)} names a schema, which only PostgreSQL has: give "
            "Gantt a database or a file of its own instead."
        )
    driver = _DRIVERS.get(parsed.drivername)
    if driver is None:
        return parsed
    if driver != parsed.drivername and parsed.drivername != "sqlite":
        LOG.warning("The URL says %s; Gantt uses %s for it.", parsed.drivername, driver)
    return parsed.set(drivername=driver)


def _check_escapes(parsed: URL, url: str) -> None:
    """Checks the escapes of user and password. MySQL's protocol, as its driver speaks
    it, has Latin-1 passwords. Raises Refused."""
    for what, value in (("user", parsed.username), ("password", parsed.password)):
        if not value:
            continue
        if "\0" in value or ("\ufffd" in value and "\ufffd" not in url):
            raise errors.Refused(
                f"The {what} in the database URL {without_secrets(url)} has a % that "
                "is read as an escape, and what that stands for is no UTF-8: write a % "
                "in it as %25."
            )
        is_mysql = parsed.get_backend_name() in ("mysql", "mariadb")
        if is_mysql and any(ord(one) > _LATIN_1 for one in value):
            raise errors.Refused(
                f"The {what} in the database URL {without_secrets(url)} has characters "
                "beyond Latin-1, which the driver of MySQL cannot send: give the user "
                "another password. A % in it is written as %25."
            )


def shown(url: URL) -> str:
    """``url`` for messages and commands, its secrets hidden. Only this renders URLs:
    SQLAlchemy hides the user's password, but not secrets in the query."""
    return without_secrets(url.render_as_string(hide_password=True))


def connectable(url: URL) -> str:
    """``url`` with its password, to connect with; never for a message."""
    return url.render_as_string(hide_password=False)


def unknown(url: URL) -> errors.Refused:
    named = shown(url)
    if url.get_backend_name() == "memory":
        return errors.Refused(
            f"{named} has no tables: name a database, for example "
            "sqlite:////var/lib/gantt/gantt.db; books in memory are memory:// alone."
        )
    return errors.Refused(f"{named} is not a database that Gantt knows. {_FORMS}")


def _meant(url: str) -> str:
    """A suggestion in place of something that is not a URL."""
    if url.startswith("sqlite:"):
        return _sqlite_forms(url.removeprefix("sqlite:"))
    if (service := _SERVICE.fullmatch(url)) is not None:
        return f"A service is named as http://{service[1]}."
    if ":" not in url and Path(url).suffix:
        return f"An SQLite file is named as sqlite:///{url}."
    return _FORMS


def _sqlite_forms(path: str) -> str:
    name = path.strip("/")
    if not name:
        return (
            "An SQLite file is named as sqlite:////var/lib/gantt/gantt.db; books that "
            "end with the process as memory://."
        )
    return (
        f"An SQLite file is named as sqlite:////{name} from the root of the file "
        f"system, or as sqlite:///{name} from the current directory."
    )
