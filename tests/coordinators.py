"""Servers for coordination of the tests' own: Redis, memcached, etcd and ZooKeeper.

Debian's programs, each in a folder of its own, on free loopback ports; none keeps
anything when it is killed but ZooKeeper and etcd, which have a log.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import socket
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar, Final

from tests.guarded import GuardedServer, Missing
from tests.live import free_port

START_S = 60.0


class Coordinator(GuardedServer, ABC):
    """One server; ``start`` again after ``stop`` or ``kill``, on the same port. Raises
    Missing, AssertionError with its log."""

    package: ClassVar[str]
    program: ClassVar[Path]
    greeting: ClassVar[tuple[bytes, bytes]]

    def __init__(self) -> None:
        self.find()
        super().__init__(None)
        self.port = free_port()
        with self._whole():
            self.start()

    @classmethod
    def find(cls) -> Path:
        """The program. Raises Missing."""
        if not os.access(cls.program, os.R_OK):
            raise Missing(f"{cls.name}: no {cls.program} here; install {cls.package}")
        return cls.program

    @abstractmethod
    def command(self) -> list[str]:
        """What serves on ``port``."""

    def url(self, port: int) -> str:
        """For tooz, by way of ``port``."""
        return f"{self.name}://127.0.0.1:{port}"

    def start(self) -> None:
        """Start, and return when it greets clients."""
        self._spawn(args=self.command())
        self._until_it_answers(START_S)

    def _answers(self) -> bool:
        said, heard = self.greeting
        try:
            with socket.create_connection(("127.0.0.1", self.port), 5.0) as probe:
                probe.sendall(said)
                return probe.recv(64).startswith(heard)
        except OSError:
            return False


class Redis(Coordinator):
    name = "redis"
    package = "redis-server"
    program = Path("/usr/bin/redis-server")
    greeting = (b"PING\r\n", b"+PONG")

    def command(self) -> list[str]:
        bind = ["--bind", "127.0.0.1", "--port", str(self.port)]
        return [str(self.program), *bind, "--save", "", "--appendonly", "no"]


class Memcached(Coordinator):
    name = "memcached"
    package = "memcached"
    program = Path("/usr/bin/memcached")
    greeting = (b"version\r\n", b"VERSION")

    def command(self) -> list[str]:
        user = ["-u", pwd.getpwuid(os.getuid()).pw_name]
        return [str(self.program), "-l", "127.0.0.1", "-p", str(self.port), *user]


class Etcd(Coordinator):
    name = "etcd"
    package = "etcd-server"
    program = Path("/usr/bin/etcd")
    greeting = (b"GET /health HTTP/1.0\r\n\r\n", b"HTTP/1.0 200")

    def command(self) -> list[str]:
        here = f"http://127.0.0.1:{self.port}"
        peer = f"http://127.0.0.1:{free_port()}"
        return [
            str(self.program),
            "--data-dir",
            str(self.folder / "data"),
            "--listen-client-urls",
            here,
            "--advertise-client-urls",
            here,
            "--listen-peer-urls",
            peer,
            "--initial-advertise-peer-urls",
            peer,
            "--initial-cluster",
            f"default={peer}",
        ]

    def url(self, port: int) -> str:
        return f"etcd3+http://127.0.0.1:{port}"


class Zookeeper(Coordinator):
    name = "zookeeper"
    package = "zookeeperd"
    program = Path("/usr/share/java/zookeeper.jar")
    greeting = (b"ruok", b"imok")

    def command(self) -> list[str]:
        lines = (
            f"clientPort={self.port}",
            "clientPortAddress=127.0.0.1",
            f"dataDir={self.folder}/data",
            "tickTime=300",
            "admin.enableServer=false",
            "4lw.commands.whitelist=ruok",
            "maxClientCnxns=0",
        )
        (self.folder / "zoo.cfg").write_text("\n".join(lines) + "\n")
        main = "org.apache.zookeeper.server.ZooKeeperServerMain"
        return [
            "java",
            "-Xmx128m",
            "-cp",
            str(self.program),
            main,
            str(self.folder / "zoo.cfg"),
        ]


COORDINATORS: Final = {one.name: one for one in (Redis, Memcached, Etcd, Zookeeper)}


@contextlib.contextmanager
def coordinator(name: str) -> Iterator[Coordinator]:
    """A server that answers; stopped and removed at the end. Raises Missing."""
    server: Coordinator = COORDINATORS[name]()
    try:
        yield server
    finally:
        server.close()
