"""Options that other values refer to, most of them Nova's, as in ``rabbit://a:b@$my_ip``.

oslo.config looks a ``$name`` up among the options that the same program has registered.
Gantt reads files in several parts, each with options of its own, and so do libraries:
every part has these as well.
"""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Final

from oslo_config import cfg

PATHS = [
    cfg.StrOpt("tempdir", help="For substitution in other options."),
    cfg.StrOpt(
        "pybasedir",
        default=str(Path(__file__).resolve().parent.parent.parent),
        sample_default="<the directory that Gantt is installed in>",
        help="Directory that Gantt is installed in; for substitution in other options.",
    ),
    cfg.StrOpt(
        "state_path",
        default="$pybasedir",
        help="Directory for state; for substitution in other options.",
    ),
]

# Nova takes the address of a route for it. Gantt looks for none: a default that refers
# to nothing has what refers to it refused.
UNSET: Final = "my_ip_is_not_set"
_NAMES: Final = (
    cfg.StrOpt("my_ip", default=f"${UNSET}"),
    cfg.StrOpt("my_block_storage_ip", default="$my_ip"),
    cfg.StrOpt("my_shared_fs_storage_ip", default="$my_ip"),
    cfg.StrOpt("host", default=socket.gethostname()),
    *PATHS,
)


def add_references(conf: cfg.ConfigOpts) -> None:
    """Where they are not among its options yet."""
    for option in _NAMES:
        if option.dest not in conf:
            conf.register_opt(_Reference(option.name, default=option.default))


class _Reference(cfg.StrOpt):
    """Stands for an option of Nova's, which a plug-in that is loaded later may register
    as well: oslo.config refuses one of the same name that is not equal."""

    def __eq__(self, other: object) -> bool:
        return True

    def __ne__(self, other: object) -> bool:
        return False

    __hash__ = None  # type: ignore[assignment]
