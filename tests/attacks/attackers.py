"""Attackers, in a process of their own: ``python -m tests.attacks.attackers``.

The command line is ``kind port count token``. The process writes a line when it begins
and another, how many attackers are connected, and runs until its standard input ends,
or for a minute. It only uses the loopback address.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import select
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from http.client import HTTPConnection, HTTPException
from itertools import cycle
from pathlib import Path
from typing import IO
from urllib.parse import quote

from tests.attacks.operations import DEAREST

LONGEST_S = 60.0
# For what callers see beside one client of an operation: at least so long, and until
# it has its first answer or has waited for it so long.
ALONE_S, FIRST_S = 0.3, 15.0
OTHER_FILES = 64
SEARCH = "/allocation_candidates?resources=VCPU:1,MEMORY_MB:512,DISK_GB:10"
_BODY_PATHS = ("POST /resource_providers", "PUT /allocations/{}", "POST /gantt/select")
_UUID = "00000000-0000-4000-8000-{:012x}"

HUGE_NAME = b'{"name": "%s"}' % (b"n" * 30_000_000)
FORGED = "2026-01-01 00:00:00,000 1 INFO gantt.api.access forged"
HOSTILE = f"a\x1b]0;t\x07\x1b[2J\nb\r{FORGED}\x9b31m\u202e\u2028\x85\x7f[bold]c[/]"
DEEP, WIDE = 100_000, 50_000
STRANGE: dict[str, bytes] = {
    "deep list": b"[" * DEEP + b"]" * DEEP,
    "deep list without an end": b"[" * DEEP,
    "deep object": b'{"a":' * DEEP + b"1" + b"}" * DEEP,
    "as deep as may be": b'{"a":' * 900 + b"1" + b"}" * 900,
    "wide list": json.dumps(list(range(WIDE))).encode(),
    "wide object": json.dumps({f"k{one}": one for one in range(WIDE)}).encode(),
    "many kinds": json.dumps(
        [*({"a": one} for one in range(500)), *map(str, range(WIDE))]
    ).encode(),
    "long number": b"[" + b"9" * 500_000 + b"]",
    "long text": json.dumps({"name": "n" * 500_000}).encode(),
    "half a character": b'{"name": "\\ud800"}',
    "no text": b'{"name": "\xff\xfe"}',
}

Opening = Callable[[int], bytes]


# --------------------------------------------------------------------- what is sent


def _head(line: str, token: str, *headers: str) -> bytes:
    fixed = ("Host: 127.0.0.1", "OpenStack-API-Version: placement 1.39")
    tokens = (f"X-Auth-Token: {token}",) if token else ()
    lines = (f"{line} HTTP/1.1", *fixed, *tokens, *headers)
    return ("\r\n".join(lines) + "\r\n").encode()


def slow_body(token: str) -> Opening:
    """A thousand bytes are announced, and come one by one; every fourth is chunked."""

    def opening(number: int) -> bytes:
        line = _BODY_PATHS[number % len(_BODY_PATHS)].format(_UUID.format(number))
        kind = "Content-Type: application/json"
        if number % 4 == 3:
            head = _head(line, token, kind, "Transfer-Encoding: chunked")
            return head + b"\r\n3e8\r\n{"
        return _head(line, token, kind, "Content-Length: 1000") + b"\r\n{"

    return opening


def almost_whole(token: str) -> Opening:
    """As much as a body may have by default, but for its end."""
    size = 4 * 1024 * 1024
    kind, length = "Content-Type: application/json", f"Content-Length: {size}"
    head = _head("POST /allocations", token, kind, length)
    return lambda _number: head + b"\r\n" + b" " * (size - 1024)


def slow_header(token: str) -> Opening:
    """Headers without an end."""
    return lambda _number: _head("GET /resource_providers", token) + b"X-Slow: "


def unread(token: str) -> Opening:
    """Ask for long answers, several in a row."""
    return lambda _number: (_head(f"GET {SEARCH}", token) + b"\r\n") * 4


def idle(_token: str) -> Opening:
    """Nothing at all."""
    return lambda _number: b""


# ------------------------------------------------------------------ how it is sent


class Held:
    """Connections that are held open and fed a byte now and then; what the server
    closes is opened anew."""

    PAUSE_S = 0.5

    def __init__(self, port: int, opening: Opening, feed: bytes, buffer: int) -> None:
        self._port = port
        self._opening = opening
        self._feed = feed
        self._buffer = buffer
        self._open: dict[int, socket.socket] = {}

    def open_all(self, count: int) -> int:
        """How many of ``count`` are open."""
        for number in range(count):
            self._connect(number)
        return len(self._open)

    def go_on(self, until: Callable[[], bool]) -> None:
        """Feed all of them until told to stop."""
        while not until():
            for number, one in list(self._open.items()):
                if self._feed:
                    self._send(number, one)
            time.sleep(self.PAUSE_S)

    def _connect(self, number: int) -> None:
        one = socket.socket()
        if self._buffer:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self._buffer)
        one.settimeout(5)
        try:
            one.connect(("127.0.0.1", self._port))
            one.sendall(self._opening(number))
        except OSError:
            one.close()
            return
        one.setblocking(False)
        self._open[number] = one

    def _send(self, number: int, one: socket.socket) -> None:
        try:
            one.send(self._feed)
        except BlockingIOError:
            return
        except OSError:
            one.close()
            del self._open[number]
            self._connect(number)


class Asking:
    """Whole questions and answers, one after the other, on as many connections as asked
    for. ``expected``: the statuses without which this is no attack; ``alone_s``: how
    long one asks before the others, but at least each question once."""

    def __init__(
        self,
        port: int,
        questions: Sequence[bytes],
        expected: bytes,
        alone_s: float = 0.0,
    ) -> None:
        self._port = port
        self._alone_s = alone_s
        self._questions = questions
        self._expected = expected.split()

    def open_all(self, count: int) -> int:
        """All of them begin. Raises RuntimeError where answers are not as expected."""
        until = time.monotonic() + self._alone_s
        for number, question in enumerate(cycle(self._questions), 1):
            try:
                status = self._read_whole(question, FIRST_S)
            except TimeoutError:  # it is answered still, beside those to come
                break
            if status and status.split()[1] not in self._expected:
                raise RuntimeError(f"{question[:100]!r}: {status!r}")
            if number >= len(self._questions) and time.monotonic() >= until:
                break
        for _ in range(count):
            threading.Thread(target=self._run, daemon=True).start()
        return count

    def go_on(self, until: Callable[[], bool]) -> None:
        """The threads end with the process."""
        while not until():
            time.sleep(0.1)

    def _run(self) -> None:
        for question in cycle(self._questions):
            with contextlib.suppress(OSError):
                self._read_whole(question, LONGEST_S)

    def _read_whole(self, question: bytes, wait_s: float) -> bytes:
        """The status line; all that comes after it is thrown away."""
        with socket.create_connection(("127.0.0.1", self._port), wait_s) as one:
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                one.sendall(question)  # not to its end, where it is refused before
            with one.makefile("rb") as answer:
                status = answer.readline()
                while answer.read(1 << 20):
                    pass
        return status


def searches(port: int, token: str) -> Asking:
    """Searches without a limit."""
    head = _head(f"GET {SEARCH}", token, "Connection: close")
    return Asking(port, [head + b"\r\n"], b"200")


def refusals(port: int, token: str) -> Asking:
    """Many instances that no host has room for, and names that no host reports."""
    flavor = {"vcpus": 1, "memory_mb": 99_999, "root_gb": 1}
    many = {
        "request_spec": {"flavor": flavor},
        "instance_uuids": [_UUID.format(one) for one in range(1000)],
    }
    specs = {f"capabilities:x{one}": "y" for one in range(100)}
    small = {"vcpus": 1, "memory_mb": 64, "root_gb": 1, "extra_specs": specs}
    one = {"request_spec": {"flavor": small}, "instance_uuids": [_UUID.format(1)]}
    asked = [json.dumps(each).encode() for each in (many, one)]
    return Asking(port, [_post("/gantt/select", token, raw) for raw in asked], b"409")


def operation(name: str) -> Callable[[int, str], Asking]:
    """The dearest question to one operation of /gantt."""
    one = DEAREST[name]
    method = name.split()[0]
    path = f"{one.path}?{one.query}" if one.query else one.path

    def asking(port: int, token: str) -> Asking:
        if one.body is None:
            raw = _head(f"{method} {path}", token, "Connection: close") + b"\r\n"
        else:
            raw = _sent(method, path, token, json.dumps(one.body).encode())
        return Asking(port, [raw], one.expected.encode(), ALONE_S)

    return asking


def huge_names(port: int, token: str) -> Asking:
    """A name of 30 MB."""
    return Asking(port, [_post("/resource_providers", token, HUGE_NAME)], b"413")


def hostile_names(port: int, token: str) -> Asking:
    """Names with control characters in bodies, paths, queries and headers."""
    named, text = json.dumps({"name": HOSTILE}).encode(), quote(HOSTILE, safe="")
    close = "Connection: close"
    questions = [
        _post("/resource_providers", token, named),
        _post("/resource_classes", token, named),
        *(
            _head(f"GET {path}", token, close) + b"\r\n"
            for path in (f"/resource_providers?name={text}", f"/{text}?{text}")
        ),
        _head("GET /traits", token, close, f"X-Roles: \x1b[31m {FORGED}") + b"\r\n",
    ]
    return Asking(port, questions, b"200 400 404 409")


def strange_json(port: int, token: str) -> Asking:
    """Deep and wide JSON."""
    questions = [_post("/allocations", token, raw) for raw in STRANGE.values()]
    return Asking(port, questions, b"400")


class Probing:
    """The same questions over and over, each client on a connection that it keeps."""

    def __init__(self, port: int, paths: Sequence[str]) -> None:
        self._port = port
        self._paths = paths

    def open_all(self, count: int) -> int:
        """All of them begin."""
        for number in range(count):
            path = self._paths[number % len(self._paths)]
            threading.Thread(target=self._run, args=(path,), daemon=True).start()
        return count

    def go_on(self, until: Callable[[], bool]) -> None:
        """The threads end with the process."""
        while not until():
            time.sleep(0.1)

    def _run(self, path: str) -> None:
        connection = HTTPConnection("127.0.0.1", self._port, timeout=LONGEST_S)
        while True:
            with contextlib.suppress(OSError, HTTPException):
                connection.request("GET", path)
                connection.getresponse().read()


def _post(path: str, token: str, raw: bytes) -> bytes:
    return _sent("POST", path, token, raw)


def _sent(method: str, path: str, token: str, raw: bytes) -> bytes:
    kind, length = "Content-Type: application/json", f"Content-Length: {len(raw)}"
    head = _head(f"{method} {path}", token, kind, length, "Connection: close")
    return head + b"\r\n" + raw


KINDS: dict[str, Callable[[int, str], Held | Asking | Probing]] = {
    "almost_whole_bodies": lambda port, token: Held(port, almost_whole(token), b" ", 0),
    "probes": lambda port, _token: Probing(port, ("/readyz", "/metrics")),
    "slow_bodies": lambda port, token: Held(port, slow_body(token), b" ", 0),
    "slow_headers": lambda port, token: Held(port, slow_header(token), b"x", 0),
    "slow_readers": lambda port, token: Held(port, unread(token), b"", 4096),
    "idle": lambda port, token: Held(port, idle(token), b"", 0),
    "searches": searches,
    "refusals": refusals,
    "huge_names": huge_names,
    "strange_json": strange_json,
    "hostile_names": hostile_names,
    **{f"operation {name}": operation(name) for name in DEAREST},
}


def _allow_open_files(wanted: int) -> int:
    """As many of ``wanted`` connections as the limits allow, after raising them."""
    allow_open_files(wanted + OTHER_FILES)
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return wanted if soft == resource.RLIM_INFINITY else min(wanted, soft - OTHER_FILES)


def allow_open_files(wanted: int) -> None:
    """Raise the limits of this process and its children: the soft one as far as the
    hard one, and that too where the system lets it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 <= hard < wanted:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, wanted))
            return
        wanted = hard
    if 0 <= soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def main(arguments: Sequence[str]) -> None:
    """Attack until standard input ends."""
    kind, port, count, *token = arguments
    end = time.monotonic() + LONGEST_S
    attack = KINDS[kind](int(port), token[0] if token else "")
    print("begins", flush=True)
    print(attack.open_all(_allow_open_files(int(count))), flush=True)

    def is_over() -> bool:
        is_stopped = bool(select.select([sys.stdin], [], [], 0)[0])
        return is_stopped or time.monotonic() > end

    attack.go_on(is_over)
    os._exit(0)  # threads may still wait for answers


class Attack:
    """One that has begun; ``output``: what its process writes."""

    def __init__(self, output: IO[bytes]) -> None:
        self._output = output

    def is_placed(self) -> bool:
        """Whether all attackers are in place, or the attack has failed."""
        return bool(select.select([self._output], [], [], 0)[0])

    def placed(self) -> int:
        """How many are in place; waits until they are. Raises RuntimeError where this
        is no attack: its process has said why."""
        line = self._output.readline()
        if not line:
            raise RuntimeError("the attackers ended")
        return int(line)


@contextlib.contextmanager
def begun(kind: str, port: int, count: int, token: str = "") -> Iterator[Attack]:
    """An attack while the block runs, whose attackers may not all be in place yet."""
    command = [sys.executable, "-m", __name__, kind, str(port), str(count), token]
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        bufsize=0,
        cwd=Path(__file__).parents[2],
    )
    assert process.stdout is not None
    assert process.stdin is not None
    try:
        process.stdout.readline()
        yield Attack(process.stdout)
    finally:
        process.stdin.close()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()


@contextlib.contextmanager
def attack(kind: str, port: int, count: int, token: str = "") -> Iterator[int]:
    """An attack while the block runs; how many are in place."""
    with begun(kind, port, count, token) as found:
        yield found.placed()


if __name__ == "__main__":
    main(sys.argv[1:])
