"""Values that cannot be meant as they are written, passwords above all.

oslo.config reads ``$word`` in any value as the option of that name, and a URL reads
``%`` as the beginning of an escape. Separate from the reading of options because
libraries read some of these themselves, later, and fail in as many ways.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from oslo_config import cfg

from gantt.conf.references import UNSET, add_references
from gantt.conf.unknown_options import written_in
from gantt.errors import Refused

Options = Sequence[tuple[str, Sequence[cfg.Opt]]]

# What libraries read from the same files.
_THEIRS: Final[Mapping[str, tuple[str, ...]]] = {
    "DEFAULT": ("transport_url",),
    "oslo_messaging_notifications": ("transport_url",),
    "oslo_messaging_rabbit": ("ssl_key_password",),
    "api_database": ("connection",),
    "database": ("connection",),
    "keystone_authtoken": ("password", "memcache_secret_key"),
    "placement": ("password",),
    "neutron": ("password",),
}
_URLS: Final = frozenset({"connection", "transport_url", "backend_url"})
_BUS: Final = "transport_url"
_REFERENCE: Final = re.compile(
    r"\$(?:\{[_a-z][._a-z0-9]*\}|[_a-z][._a-z0-9]*)", re.ASCII | re.IGNORECASE
)
_NO_OPTION: Final = (
    RecursionError,
    cfg.TemplateSubstitutionError,
    cfg.NoSuchOptError,
    cfg.NoSuchGroupError,
)
_ESCAPES: Final = (
    "In the user and the password of a URL, write % as %25, @ as %40, : as %3A, / as "
    "%2F, ? as %3F and # as %23; each $ of a value as $$."
)


def check_written(
    files: Sequence[str], directories: Sequence[str] = (), options: Options = ()
) -> tuple[str, ...]:
    """Warnings of what may be meant otherwise. Raises Refused. Both name section and
    option and say how to write it, but show nothing of the value. ``options``: further
    ones, to be read as well."""
    conf = cfg.ConfigOpts()
    known = {(group, opt.dest): opt for group, several in options for opt in several}
    for group, names in _THEIRS.items():
        for name in names:
            known.setdefault((group, name), cfg.StrOpt(name))
    for (group, _), opt in known.items():
        conf.register_opt(opt, None if group == "DEFAULT" else group)
    conf(
        args=[],
        project="gantt",
        default_config_files=list(files),
        default_config_dirs=list(directories),
    )
    add_references(conf)
    for (group, name), value in _values(conf, known):
        if name in _URLS and isinstance(value, str):
            _check_url(f"[{group}] {name}", name, value)
    secret = {place for place, opt in known.items() if _is_secret(*place, opt)}
    return tuple(_replaced((*files, *directories), secret))


def _is_secret(group: str, name: str, option: cfg.Opt) -> bool:
    return option.secret or name in _URLS or name in _THEIRS.get(group, ())


def _replaced(places: Sequence[str], secret: Set[tuple[str, str]]) -> Iterator[str]:
    """Passwords in which a $ and the name of an option stand beside other characters:
    there is such an option, or the value was refused."""
    exported = {f"OS_{group}__{name}".upper(): (group, name) for group, name in secret}
    found = [
        *written_in(places),
        *(
            (key, *exported[key], os.environ[key])
            for key in exported & os.environ.keys()
        ),
    ]
    for place, group, name, value in found:
        if (group, name) not in secret:
            continue
        part = value.rpartition("@")[0] if name in _URLS else value
        plain = part.replace(r"\$", "$$").replace("$$", "")
        if _REFERENCE.search(plain) and not _REFERENCE.fullmatch(plain):
            yield (
                f"{place}: [{group}] {name} has a $ in its password, and what follows "
                "is the name of an option, the value of which is put there. If the $ "
                "is part of the password, write it as $$."
            )


def _values(
    conf: cfg.ConfigOpts, known: Mapping[tuple[str, str], cfg.Opt]
) -> Iterator[tuple[tuple[str, str], Any]]:
    for group, name in known:
        try:
            value = conf[name] if group == "DEFAULT" else conf[group][name]
        except _NO_OPTION as error:
            if _refers_to_address(error):
                raise Refused(
                    f"[{group}] {name} refers to $my_ip, which the files do not set. "
                    "Nova would take the address of the default route: set my_ip in "
                    "[DEFAULT]."
                ) from error
            raise Refused(
                f"[{group}] {name} has a $, and the configuration reads what follows "
                "as the name of an option, but there is no such option, or it refers "
                "back here. Write each $ as $$, in passwords too."
            ) from error
        except (cfg.Error, ValueError):
            continue  # refused where it is read
        yield (group, name), value


def _refers_to_address(error: BaseException) -> bool:
    """Whether it is the address of this machine that is missing."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, cfg.NoSuchOptError) and cause.opt_name == UNSET:
            return True
        cause = cause.__cause__ or cause.__context__
    return False


def _check_url(where: str, name: str, url: str) -> None:
    plain = unquote(url)
    if ("\ufffd" in plain and "\ufffd" not in url) or "\0" in plain:
        raise Refused(
            f"{where} has a % that is read as an escape of a URL, and what that stands "
            f"for is no UTF-8. {_ESCAPES}"
        )
    if name == _BUS and not _is_bus(url):
        raise Refused(
            f"{where} is not a URL such as rabbit://user:password@host:5672/"
            f"nova. {_ESCAPES}"
        )


def _is_bus(url: str) -> bool:
    """Whether hosts and ports can be told apart; several are divided by commas."""
    try:
        for one in urlsplit(url).netloc.split(","):
            _ = urlsplit(f"//{one}").port
    except ValueError:
        return False
    return True
