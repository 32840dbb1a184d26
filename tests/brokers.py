"""A RabbitMQ of the tests' own, in a folder of its own, on free loopback ports.

Debian's programs, but not its wrapper in the PATH, which changes user and folder. The
name server of Erlang (epmd) is a private one too and ends with the broker; the
machine's own broker, cookie and settings are not touched. Works as any user.
"""

from __future__ import annotations

import contextlib
import os
import socket
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import amqp

from tests.guarded import GuardedServer, Missing
from tests.live import free_port
from tests.programs import printed

START_S = 120.0
HANDSHAKE = b"AMQP\x00\x00\x09\x01"
# The name server ends with the group that both are in.
COMMAND = 'epmd -port "$ERL_EPMD_PORT" & exec "$0/rabbitmq-server"'
CERTIFICATE = (
    "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost "
    "-addext subjectAltName=DNS:localhost,IP:127.0.0.1 -keyout {key} -out {cert}"
)
TCP = "listeners.tcp.local = 127.0.0.1:{port}\n"
TLS = """\
listeners.tcp = none
listeners.ssl.local = 127.0.0.1:{port}
ssl_options.certfile = {folder}/cert.pem
ssl_options.keyfile = {folder}/key.pem
"""
CONFIGURATION = """\
log.console = true
log.console.level = warning
log.file = false
disk_free_limit.absolute = 50MB
"""


class Rabbitmq(GuardedServer):
    """One broker; ``start`` again after ``stop`` or ``kill``, on the same port.

    Raises Missing, AssertionError with its log.
    """

    name: ClassVar[str] = "rabbitmq"
    programs: ClassVar[Path] = Path("/usr/lib/rabbitmq/bin")

    def __init__(self, folder: Path | None = None, *, has_tls: bool = False) -> None:
        """``folder``: where to make its own; ``has_tls``: it listens with TLS, and
        ``authority`` is the certificate of who signs for it."""
        self.find()
        super().__init__(folder)
        self.port = free_port()
        self.has_tls = has_tls
        self.authority = self.folder / "cert.pem"
        with self._whole():
            self.start()

    @classmethod
    def find(cls) -> Path:
        """The folder with the programs. Raises Missing."""
        if not os.access(cls.programs / "rabbitmq-server", os.X_OK):
            raise Missing(
                f"rabbitmq: no {cls.programs}/rabbitmq-server here; "
                "install rabbitmq-server"
            )
        return cls.programs

    @property
    def url(self) -> str:
        """For oslo.messaging's ``transport_url``; the virtual host is /."""
        host = "localhost" if self.has_tls else "127.0.0.1"
        return f"rabbit://guest:guest@{host}:{self.port}/"

    def start(self) -> None:
        """Start, and return when it greets clients."""
        self._env = self._environment()
        command = ["/bin/sh", "-c", COMMAND, str(self.programs)]
        self._spawn(args=command, env=self._env)
        self._until_it_answers(START_S)

    def _environment(self) -> dict[str, str]:
        wanted = (TLS if self.has_tls else TCP) + CONFIGURATION
        text = wanted.format(port=self.port, folder=self.folder)
        (self.folder / "rabbitmq.conf").write_text(text)
        if self.has_tls and not self.authority.exists():
            key = self.folder / "key.pem"
            command = CERTIFICATE.format(key=key, cert=self.authority).split()
            subprocess.run(command, check=True, capture_output=True)
        (self.folder / "plugins").write_text("[].\n")
        return {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "HOME": str(self.folder),  # has the cookie
            "ERL_EPMD_PORT": str(free_port()),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "RABBITMQ_CONF_ENV_FILE": "/dev/null",
            "RABBITMQ_CONFIG_FILE": str(self.folder / "rabbitmq.conf"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(self.folder / "plugins"),
            "RABBITMQ_NODENAME": f"gantt{self.port}@localhost",
            "RABBITMQ_NODE_PORT": str(self.port),
            "RABBITMQ_DIST_PORT": str(free_port()),
            "RABBITMQ_MNESIA_BASE": str(self.folder / "mnesia"),
            "RABBITMQ_LOG_BASE": str(self.folder),
            "RABBITMQ_PID_FILE": str(self.folder / "pid"),
            "RABBITMQ_GENERATED_CONFIG_DIR": str(self.folder / "generated"),
            # Idle threads of Erlang otherwise spin for work.
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": (
                "-kernel inet_dist_use_interface {127,0,0,1} "
                "+S 2:2 +sbwt none +sbwtdcpu none +sbwtdio none"
            ),
        }

    def _answers(self) -> bool:
        """Whether it answers the first bytes of the protocol."""
        try:
            with self._connected() as probe:
                probe.sendall(HANDSHAKE)
                return probe.recv(1) == b"\x01"
        except OSError:
            return False

    def _connected(self) -> socket.socket:
        plain = socket.create_connection(("127.0.0.1", self.port), 5.0)
        if not self.has_tls:
            return plain
        trust = ssl.create_default_context(cafile=self.authority)
        return trust.wrap_socket(plain, server_hostname="localhost")

    def consumers(self, queue: str) -> int:
        """How many take messages from ``queue`` of the virtual host /."""
        tls = {"ca_certs": str(self.authority), "server_hostname": "localhost"}
        with amqp.Connection(
            f"localhost:{self.port}", ssl=tls if self.has_tls else False
        ) as connection:
            try:
                found = connection.channel().queue_declare(queue, passive=True)
            except amqp.exceptions.NotFound:
                return 0
            return int(found.consumer_count)

    def control(self, command: str) -> str:
        """What ``rabbitmqctl …`` answers; as a shell reads it."""
        return printed(
            ["/bin/sh", "-c", command],
            cwd=self.folder,
            env={**self._env, "PATH": f"{self.programs}:{self._env['PATH']}"},
        )


@contextlib.contextmanager
def start_rabbitmq(
    folder: Path | None = None, *, has_tls: bool = False
) -> Iterator[Rabbitmq]:
    """A broker that answers; stopped and removed at the end. Raises Missing."""
    broker = Rabbitmq(folder, has_tls=has_tls)
    try:
        yield broker
    finally:
        broker.close()
