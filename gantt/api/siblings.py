"""Workers of one server tell each other their decisions, so that any answers for all.

    question (msgpack), end of writing -> a length and a record each, the latest first,
    then a length of 0: that was all

Each listens on a socket in the directory that they share. Apart from ``running``, whose
files are what a worker leaves; here one must live to answer. What is told is whole:
whoever asked shows callers what they may see of it. Never more is waited for, read or
told than the limits below.
"""

from __future__ import annotations

import logging
import os
import selectors
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.util import Finalize
from pathlib import Path

import msgspec
from msgspec import msgpack

from gantt.engine.records import Asked, Told
from gantt.model.selection import Decision

LOG = logging.getLogger(__name__)
TIME_S = 0.5
"""For all siblings together, as they are asked at once."""
MOST_ASKED = 64 * 1024
MOST_TOLD = 8 * 1024 * 1024
"""Bytes of one answer."""
_PIECE = 64 * 1024
_LONGEST_PATH = 90  # bytes that the address of a socket may have, and some to spare
_LENGTH = struct.Struct(">I")
_CREDENTIALS = struct.Struct("3i")

OwnDecisions = Callable[[Asked], Iterable[Decision]]


class Siblings:
    """This worker among those that share ``folder``: answers them in a thread, from
    ``own``, until it ends. Where it cannot listen it says so, and is not asked."""

    def __init__(self, folder: Path, own: OwnDecisions, pid: int | None = None) -> None:
        self._folder = folder
        self._own = own
        self._name = str(pid or os.getpid())
        self._socket = socket.socket(socket.AF_UNIX)
        # Before the engine is closed, which has 10.
        self._last = Finalize(None, self._leave, exitpriority=30)
        try:
            self._listen()
        except OSError as error:
            self._socket.close()
            LOG.warning(
                "Other workers cannot ask this one for its decisions: no socket can "
                "be made in %s: %s",
                folder,
                error,
            )
            return
        threading.Thread(target=self._serve, name="gantt-sibling", daemon=True).start()

    def _listen(self) -> None:
        draft = f"{self._name}.new"
        (self._folder / draft).unlink(missing_ok=True)
        with _place(self._folder) as place:
            self._socket.bind(f"{place}/{draft}")
        self._socket.listen()
        # Who is found by name is ready: whoever refuses is dead (see ``_call``).
        (self._folder / draft).replace(self._folder / self._name)

    def close(self) -> None:
        """Stop answering."""
        self._last.cancel()
        self._leave()

    def _leave(self) -> None:
        with suppress(OSError):
            (self._folder / self._name).unlink(missing_ok=True)
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # wakes the thread, too
        self._socket.close()

    # -- telling ------------------------------------------------------------------

    def _serve(self) -> None:
        while True:
            try:
                asker, _ = self._socket.accept()
            except OSError:
                if self._socket.fileno() < 0 or not self._is_listed():
                    return
                time.sleep(TIME_S)  # no file to spare, perhaps
                continue
            with asker:
                try:
                    self._answer(asker, time.monotonic() + TIME_S)
                except (OSError, msgspec.MsgspecError) as error:
                    LOG.info("another worker was not told all decisions: %s", error)
                except Exception:
                    LOG.exception("another worker was not told all decisions")

    def _is_listed(self) -> bool:
        return (self._folder / self._name).exists()

    def _answer(self, asker: socket.socket, deadline: float) -> None:
        if not _is_ours(asker):
            return
        question = _read_question(asker, deadline)
        told, piece = 0, bytearray()
        for record in self._own(msgpack.decode(question, type=Asked)):
            text = msgpack.encode(record)
            told += len(text)
            if told > MOST_TOLD:
                break
            piece += _LENGTH.pack(len(text)) + text
            if len(piece) >= _PIECE:
                _send(asker, piece, deadline)
                piece.clear()
        else:
            piece += _LENGTH.pack(0)
        _send(asker, piece, deadline)

    # -- asking -------------------------------------------------------------------

    def ask(self, asked: Asked) -> Told:
        """What the others tell within ``TIME_S``; who is dead or slow is passed over,
        but for what came of it. Never raises OSError."""
        deadline = time.monotonic() + TIME_S
        question = msgpack.encode(asked)
        answers = [_Answer(self._call(name, question)) for name in self._others()]
        with suppress(OSError):  # no file to spare: nobody is heard
            _hear(answers, deadline)
        for one in answers:
            one.close()
        found = tuple(record for one in answers for record in one.records())
        return Told(found, sum(not one.is_whole for one in answers))

    def _others(self) -> list[str]:
        try:
            names = sorted(path.name for path in self._folder.iterdir())
        except OSError:
            return []
        return [one for one in names if one.isdigit() and one != self._name]

    def _call(self, name: str, question: bytes) -> socket.socket | None:
        """A sibling that was asked; None: it cannot be. The dead are called once."""
        other = socket.socket(socket.AF_UNIX)
        other.settimeout(0)  # a question is small: who has no room for it is stuck
        try:
            with _place(self._folder) as place:
                other.connect(f"{place}/{name}")
            if not _is_ours(other):
                raise PermissionError(f"{name} is somebody else's")
            other.sendall(question)
            other.shutdown(socket.SHUT_WR)
        except OSError as error:
            other.close()
            if isinstance(error, ConnectionRefusedError):
                with suppress(OSError):
                    (self._folder / name).unlink(missing_ok=True)
            LOG.info("worker %s cannot be asked for its decisions: %s", name, error)
            return None
        return other


class _Answer:
    """What came of a sibling so far. ``is_whole``: that was all of it."""

    def __init__(self, other: socket.socket | None) -> None:
        self.other = other
        self.is_whole = False
        self._came = bytearray()

    def read(self) -> bool:
        """Take in what is there; whether there may be more."""
        assert self.other is not None
        try:
            piece = self.other.recv(_PIECE)
        except BlockingIOError:
            return True
        except OSError:
            return False
        self._came += piece
        return bool(piece) and len(self._came) <= MOST_TOLD + 2 * _PIECE

    def close(self) -> None:
        if self.other is not None:
            self.other.close()

    def records(self) -> Iterator[Decision]:
        """Each that came whole."""
        came, start = memoryview(self._came), _LENGTH.size
        while start <= len(came):
            (length,) = _LENGTH.unpack(came[start - _LENGTH.size : start])
            if length == 0:
                self.is_whole = True
                return
            if start + length > len(came):
                return
            try:
                yield msgpack.decode(came[start : start + length], type=Decision)
            except msgspec.MsgspecError as error:
                LOG.warning("what another worker tells is not understood: %s", error)
                return
            start += length + _LENGTH.size


def _hear(answers: Iterable[_Answer], deadline: float) -> None:
    """Read them all at once, so that one who is slow takes no time from the others."""
    with selectors.DefaultSelector() as ready:
        for one in answers:
            if one.other is not None:
                ready.register(one.other, selectors.EVENT_READ, one)
        while ready.get_map() and (left := deadline - time.monotonic()) > 0:
            for key, _ in ready.select(left):
                if not key.data.read():
                    ready.unregister(key.fileobj)


def _read_question(asker: socket.socket, deadline: float) -> bytes:
    """Raises OSError: it is too long, or does not end in time."""
    question = bytearray()
    while True:
        asker.settimeout(_left(deadline))
        piece = asker.recv(_PIECE)
        if not piece:
            return bytes(question)
        question += piece
        if len(question) > MOST_ASKED:
            raise OSError(f"a question may have {MOST_ASKED} bytes, this has more")


def _send(asker: socket.socket, piece: bytearray, deadline: float) -> None:
    asker.settimeout(_left(deadline))
    asker.sendall(piece)


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError(f"it took more than {TIME_S} s")
    return left


def _is_ours(other: socket.socket) -> bool:
    """Whether a process of this user is at the other end (Linux; elsewhere the mode of
    the directory has to do)."""
    if not hasattr(socket, "SO_PEERCRED"):
        return True
    size = _CREDENTIALS.size
    told = other.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
    return bool(_CREDENTIALS.unpack(told)[1] == os.geteuid())


@contextmanager
def _place(folder: Path) -> Iterator[str]:
    """A short name of ``folder`` meanwhile: addresses of sockets have little room."""
    path = str(folder)
    if len(os.fsencode(path)) <= _LONGEST_PATH - len("4194304.new"):
        yield path
        return
    opened = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{opened}"
    finally:
        os.close(opened)
