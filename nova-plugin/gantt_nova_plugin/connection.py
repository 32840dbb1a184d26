"""One keep-alive connection to Gantt, every step of which ends by a deadline.

A time limit of a socket holds for each of its reads, so that a peer that sends a byte
now and then is waited for without end; here it is set anew before each read.
"""

from __future__ import annotations

import http.client
import io
import socket
import ssl
from typing import TYPE_CHECKING

from gantt_nova_plugin.deadline import Deadline
from gantt_nova_plugin.resolver import Resolver
from gantt_nova_plugin.settings import Address

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

PIECE = 64 * 1024

# What an idle connection says that the peer has ended meanwhile.
ENDED = (
    ConnectionResetError,  # http.client.RemoteDisconnected too
    BrokenPipeError,
    ssl.SSLEOFError,
    ssl.SSLZeroReturnError,
)


class BadStatus(Exception):
    """Any status but 200; redirects are not followed."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class TooLong(Exception):
    """An answer above the limit of its size."""


class _TimedReader(io.RawIOBase):
    """Reads of a socket that all together end by a deadline."""

    def __init__(self, sock: socket.socket, deadline: Deadline) -> None:
        self._socket = sock
        self._raw = sock.makefile("rb", buffering=0)
        self._deadline = deadline

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int | None:
        self._socket.settimeout(self._deadline.left())
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()


class _TimedSocket:
    """The three methods of a socket that http.client calls."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self.deadline: Deadline | None = None

    def sendall(self, data: bytes) -> None:
        assert self.deadline is not None
        self._socket.settimeout(self.deadline.left())
        self._socket.sendall(data)  # its time limit is for all of the data

    def makefile(self, mode: str) -> io.BufferedReader:
        assert mode == "rb"
        assert self.deadline is not None
        return io.BufferedReader(_TimedReader(self._socket, self.deadline))

    def close(self) -> None:
        self._socket.close()


class Connection:
    """To one address. For one thread; after any error it connects anew."""

    def __init__(
        self, address: Address, resolver: Resolver, tls: ssl.SSLContext | None
    ) -> None:
        self._address = address
        self._resolver = resolver
        self._tls = tls
        self._http = http.client.HTTPConnection(address.host, address.port)
        self._socket: _TimedSocket | None = None

    def post(
        self, path: str, body: bytes, headers: dict[str, str], deadline: Deadline
    ) -> http.client.HTTPResponse:
        """The answer, whose body `read` reads. OSError and HTTPException if none
        comes; if the peer closed a connection that was idle, it is asked once more.
        """
        is_reused = self._http.sock is not None
        try:
            return self._post(path, body, headers, deadline)
        except ENDED:
            self.close()
            if not is_reused:
                raise
        return self._post(path, body, headers, deadline)

    def close(self) -> None:
        """Let go of the socket, without a word to the peer."""
        self._http.close()
        self._socket = None

    def _post(
        self, path: str, body: bytes, headers: dict[str, str], deadline: Deadline
    ) -> http.client.HTTPResponse:
        if self._http.sock is None or self._socket is None:
            self._socket = _TimedSocket(self._connect(deadline))
            self._http.sock = self._socket
        self._socket.deadline = deadline
        self._http.request("POST", self._address.path + path, body, headers)
        return self._http.getresponse()

    def _connect(self, deadline: Deadline) -> socket.socket:
        host, port = self._address.host, self._address.port
        addresses = self._resolver.addresses(host, port, deadline)
        refusal: OSError | None = None
        for number, (family, kind, protocol, _, where) in enumerate(addresses):
            sock = socket.socket(family, kind, protocol)
            try:
                # One address that swallows everything leaves time for the others.
                sock.settimeout(deadline.left() / (len(addresses) - number))
                sock.connect(where)
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                return self._secure(sock, deadline)
            except OSError as error:
                sock.close()
                refusal = error
        raise refusal or OSError("the name has no address")

    def _secure(self, sock: socket.socket, deadline: Deadline) -> socket.socket:
        if self._tls is None:
            return sock
        sock.settimeout(deadline.left())  # for the handshake as a whole
        return self._tls.wrap_socket(sock, server_hostname=self._address.host)


def read(response: http.client.HTTPResponse, limit: int) -> bytes:
    """The body of an answer. `BadStatus` unless its status is 200, `TooLong` if it
    has more than ``limit`` bytes.
    """
    if response.status != http.client.OK:
        raise BadStatus(response.status)
    pieces: list[bytes] = []
    length = 0
    while length <= limit:
        piece = response.read(min(PIECE, limit + 1 - length))
        if not piece:
            if response.length:
                raise http.client.IncompleteRead(b"", response.length)
            return b"".join(pieces)
        pieces.append(piece)
        length += len(piece)
    raise TooLong(limit)
