"""A way to a server on loopback that can be cut: connections end, new ones are refused
at once, and the server itself goes on for everyone else."""

from __future__ import annotations

import contextlib
import socket
import threading


class Forwarder:
    """Forwards connections to ``port`` of loopback from a ``port`` of its own."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._is_cut = False
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """End all connections, and every new one before its first byte."""
        with self._lock:
            self._is_cut = True
            for one in self._open:
                _end(one)

    def mend(self) -> None:
        """Forward again."""
        with self._lock:
            self._is_cut = False

    def close(self) -> None:
        self.cut()
        _end(self._listener)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            try:
                far = socket.create_connection(("127.0.0.1", self._target), 5.0)
            except OSError:
                near.close()
                continue
            far.settimeout(None)
            with self._lock:
                self._open |= {near, far}
                if self._is_cut:
                    _end(near)
                    _end(far)
            for pair in ((near, far), (far, near)):
                threading.Thread(target=self._pump, args=pair, daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)
        _end(source)
        _end(sink)
        with self._lock:
            self._open -= {source}
        source.close()


def _end(one: socket.socket) -> None:
    with contextlib.suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
