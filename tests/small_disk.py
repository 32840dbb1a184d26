"""A disk that is full whenever it is wanted, for programs that are tested.

The kernel (Linux 5.5: a seccomp filter with a listener) asks before each call of such a
program that may make a file longer. As long as there is a file ``full``, and what is to
grow lies in the folder, the answer is ENOSPC, as of a disk with no block to spare: what
is there can be written over. This needs no rights, no mounts and no compiler. It is run
as a program, because a filter is for good (UID and GID -1: as who one is):

    python small_disk.py FOLDER FULL UID GID PROGRAM [ARGUMENT ...]
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import os
import platform
import select
import socket
import struct
import sys
from pathlib import Path

# By machine: the number of seccomp(2), and of what may make a file longer:
# pwrite64, pwritev, pwritev2, fallocate, ftruncate; then io_uring_setup and io_setup.
_CALLS = {
    "x86_64": (317, (18, 296, 328, 285, 77), (425, 206)),
    "aarch64": (277, (68, 70, 287, 47, 46), (425, 0)),
}
_NOTIFY, _ALLOW, _ERRNO = 0x7FC00000, 0x7FFF0000, 0x00050000
_RECEIVE, _SEND = 0xC0502100, 0xC0182101
_NOTICE = struct.Struct("=QIIiIQ6Q")
_ANSWER = struct.Struct("=QqiI")
_GO_ON = 1


def is_possible() -> bool:
    """Whether this machine has what it takes."""
    actions = Path("/proc/sys/kernel/seccomp/actions_avail")
    known = actions.read_text().split() if actions.exists() else []
    return "user_notif" in known and platform.machine() in _CALLS


def command(folder: Path, full: Path, *who: int) -> list[str]:
    """What to put before a command. ``who``: user and group to run it as; by default
    the current ones. The source is passed on: another user may be unable to read it."""
    uid, gid = who or (-1, -1)
    source = Path(__file__).read_text()
    place = (str(folder), str(full), str(uid), str(gid))
    return [sys.executable, "-c", source, *place]


def _filtered() -> int:
    """Put the filter on this process and its heirs; the listener."""
    number, asked, refused = _CALLS[platform.machine()]
    rules = [struct.pack("=HBBI", 0x20, 0, 0, 0)]  # load the number of the call
    for calls, verdict in ((asked, _NOTIFY), (refused, _ERRNO | errno.ENOSYS)):
        for call in calls:
            rules.append(struct.pack("=HBBI", 0x15, 0, 1, call))
            rules.append(struct.pack("=HBBI", 0x06, 0, 0, verdict))
    rules.append(struct.pack("=HBBI", 0x06, 0, 0, _ALLOW))
    code = ctypes.create_string_buffer(b"".join(rules))
    whole = struct.pack("@HP", len(rules), ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(38, 1, 0, 0, 0)  # no new privileges: then every user may filter
    listener = int(libc.syscall(number, 1, 8, ctypes.create_string_buffer(whole)))
    if listener < 0:
        raise OSError(ctypes.get_errno(), "no filter with a listener")
    return listener


def _answer(listener: int, folder: str, full: str) -> None:
    """Say to each call whether there is room, until no caller is left."""
    poll = select.poll()
    poll.register(listener, select.POLLIN)
    while not any(state & select.POLLHUP for _, state in poll.poll()):
        notice = bytearray(_NOTICE.size)
        # ENOENT: who asked is gone meanwhile.
        with contextlib.suppress(FileNotFoundError):
            fcntl.ioctl(listener, _RECEIVE, notice)
            one, pid, _, call, _, _, *values = _NOTICE.unpack(notice)
            grows = Path(full).exists() and _grows(pid, call, values, folder)
            verdict = (-errno.ENOSPC, 0) if grows else (0, _GO_ON)
            fcntl.ioctl(listener, _SEND, _ANSWER.pack(one, 0, *verdict))


def _grows(pid: int, call: int, values: list[int], folder: str) -> bool:
    """Whether the call would make a file of ``folder`` longer."""
    pwrite, _, _, fallocate, truncate = _CALLS[platform.machine()][1]
    file = Path(f"/proc/{pid}/fd/{values[0]}")
    try:
        if not file.readlink().is_relative_to(folder):
            return False
        size = file.stat().st_size
    except OSError:
        return False  # closed meanwhile
    if call == truncate:
        return values[1] > size
    if call == fallocate:
        return values[2] + values[3] > size
    if call == pwrite:
        return values[3] + values[2] > size
    return values[3] >= size  # pwritev: where it begins


def _main(folder: str, full: str, uid: str, gid: str, *program: str) -> None:
    ours, theirs = socket.socketpair()
    if os.fork() == 0:
        if os.fork() == 0:  # twice: no child that the program does not know
            _, listeners, _, _ = socket.recv_fds(ours, 1, 1)
            _become(int(uid), int(gid))
            theirs.close()
            _answer(listeners[0], folder, full)
        os._exit(0)
    os.wait()
    socket.send_fds(theirs, [b"."], [_filtered()])
    ours.close()
    theirs.close()
    _become(int(uid), int(gid))
    os.execv(program[0], program)


def _become(uid: int, gid: int) -> None:
    if uid >= 0:
        os.setgroups([])
        os.setgid(gid)
        os.setuid(uid)


if __name__ == "__main__":
    _main(*sys.argv[1:])
