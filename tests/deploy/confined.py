"""Run a command with what a unit takes from it, without systemd:

    python -m tests.deploy.confined UNIT COMMAND...

Capabilities, new privileges, memory that is written and executed, address families, and
system calls, by the groups that systemd-analyze knows. What a unit hides of the file
system is left out: that needs systemd.
"""

from __future__ import annotations

import ctypes
import errno
import os
import socket
import subprocess
import sys
from functools import cache
from pathlib import Path

from tests.deploy.units import Unit, unit

_PR_SET_NO_NEW_PRIVS, _PR_SET_MDWE = 38, 65
_PR_CAPBSET_DROP = 24
_ALLOW = 0x7FFF0000
_REFUSE = 0x00050000 | errno.EPERM
_EQUAL = 4
_CAPABILITIES = 64


class _Comparison(ctypes.Structure):
    _fields_ = (
        ("argument", ctypes.c_uint),
        ("operator", ctypes.c_int),
        ("value", ctypes.c_uint64),
        ("other", ctypes.c_uint64),
    )


@cache
def calls_of(group: str) -> frozenset[str]:
    """The names of the system calls in a group such as "@network-io"."""
    listed = subprocess.check_output(
        ["systemd-analyze", "syscall-filter", "--no-pager", group], text=True
    )
    found: set[str] = set()
    for word in (line.strip() for line in listed.splitlines()[1:]):
        if word.startswith("@"):
            found |= calls_of(word)
        elif word and not word.startswith("#"):
            found.add(word)
    return frozenset(found)


def allowed(unit: Unit) -> frozenset[str]:
    """The system calls that SystemCallFilter= leaves; systemd adds @default."""
    found: frozenset[str] = calls_of("@default")
    for value in unit.all("SystemCallFilter"):
        words = value.removeprefix("~").split()
        assert all(word.startswith("@") for word in words), words
        named = frozenset().union(*map(calls_of, words))
        found = found - named if value.startswith("~") else found | named
    return found


def _filter(unit: Unit) -> None:
    library = ctypes.CDLL("libseccomp.so.2", use_errno=True)
    library.seccomp_init.restype = ctypes.c_void_p
    context = ctypes.c_void_p(library.seccomp_init(_REFUSE))
    families = [getattr(socket, n) for n in unit.one("RestrictAddressFamilies").split()]
    for name in sorted(allowed(unit)):
        number = library.seccomp_syscall_resolve_name(name.encode())
        if number < 0:  # of another architecture, or newer than the library
            continue
        if name != "socket":
            assert library.seccomp_rule_add(context, _ALLOW, number, 0) == 0, name
            continue
        for family in families:
            rule = _Comparison(0, _EQUAL, family, 0)
            done = library.seccomp_rule_add_array(
                context, _ALLOW, number, 1, ctypes.byref(rule)
            )
            assert done == 0, family
    assert library.seccomp_load(context) == 0


def confine(unit: Unit) -> None:
    """Give up in this process what ``unit`` does not leave."""
    libc = ctypes.CDLL(None, use_errno=True)
    assert unit.one("CapabilityBoundingSet") == ""
    for capability in range(_CAPABILITIES):  # those that there are not are refused
        libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)
    if unit.one("NoNewPrivileges") == "yes":
        assert libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
    if unit.one("MemoryDenyWriteExecute") == "yes":
        libc.prctl(_PR_SET_MDWE, 1, 0, 0, 0)  # since Linux 6.3
    _filter(unit)


if __name__ == "__main__":
    confine(unit(Path(sys.argv[1])))
    os.execvp(sys.argv[2], sys.argv[2:])
