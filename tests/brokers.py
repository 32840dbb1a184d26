"""A RabbitMQ of the tests' own, in a folder of its own, on free loopback ports.

Debian's programs, but not its wrapper in the PATH, which changes user and folder. The
name server of Erlang (epmd) is a private one too and ends with the broker; the
machine's own broker, cookie and settings are not touched. Works as any user.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import amqp

from tests.databases import GUARD, Missing
from tests.live import free_port

START_S = 120.0
STOP_S = 30.0
HANDSHAKE = b"AMQP\x00\x00\x09\x01"
# The name server ends with the group that both are in.
COMMAND = 'epmd -port "$ERL_EPMD_PORT" & exec "$0/rabbitmq-server"'
CONFIGURATION = """\
listeners.tcp.local = 127.0.0.1:{port}
log.console = true
log.console.level = warning
log.file = false
disk_free_limit.absolute = 50MB
"""


class Rabbitmq:
    """One broker; ``start`` again after ``stop`` or ``kill``, on the same port.

    Raises Missing, AssertionError with its log.
    """

    name: ClassVar[str] = "rabbitmq"
    programs: ClassVar[Path] = Path("/usr/lib/rabbitmq/bin")

    def __init__(self, folder: Path | None = None) -> None:
        """``folder``: where to make its own."""
        self.find()
        self.folder = Path(tempfile.mkdtemp(prefix="gantt-rabbitmq-", dir=folder))
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self._guard = subprocess.Popen(
            [sys.executable, "-c", GUARD, str(self.folder)],
            stdin=subprocess.PIPE,
            start_new_session=True,
            text=True,
        )
        try:
            self.start()
        except BaseException:
            self.close()
            raise

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
        return f"rabbit://guest:guest@127.0.0.1:{self.port}/"

    @property
    def log(self) -> str:
        """What it has said so far."""
        return (self.folder / "log").read_text(errors="replace")

    @property
    def is_running(self) -> bool:
        """Whether its process is there."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start, and return when it greets clients."""
        self._env = self._environment()
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                ["/bin/sh", "-c", COMMAND, str(self.programs)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                cwd=self.folder,
                env=self._env,
            )
        self._tell_guard(self._process.pid)
        deadline = time.monotonic() + START_S
        while not self._answers():
            assert self.is_running, f"rabbitmq ended:\n{self.log[-4000:]}"
            assert time.monotonic() < deadline, f"rabbitmq:\n{self.log[-4000:]}"
            time.sleep(0.1)

    def _environment(self) -> dict[str, str]:
        (self.folder / "rabbitmq.conf").write_text(CONFIGURATION.format(port=self.port))
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
            with socket.create_connection(("127.0.0.1", self.port), 5.0) as probe:
                probe.sendall(HANDSHAKE)
                return probe.recv(1) == b"\x01"
        except OSError:
            return False

    def consumers(self, queue: str) -> int:
        """How many take messages from ``queue`` of the virtual host /."""
        with amqp.Connection(f"127.0.0.1:{self.port}") as connection:
            try:
                found = connection.channel().queue_declare(queue, passive=True)
            except amqp.exceptions.NotFound:
                return 0
            return int(found.consumer_count)

    def control(self, command: str) -> str:
        """What ``rabbitmqctl …`` answers; as a shell reads it."""
        done = subprocess.run(
            ["/bin/sh", "-c", command],
            cwd=self.folder,
            env={**self._env, "PATH": f"{self.programs}:{self._env['PATH']}"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def stop(self) -> None:
        """Ask it to end, and wait until it has; queues that are not durable go."""
        if self._process is not None and self.is_running:
            self._process.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(STOP_S)
        self.kill()

    def kill(self) -> None:
        """SIGKILL to all of it."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(STOP_S)

    def close(self) -> None:
        """Stop and remove it, whatever state it is in."""
        self.stop()
        self._tell_guard(0)
        shutil.rmtree(self.folder, ignore_errors=True)
        self._guard.communicate()

    def _tell_guard(self, pid: int) -> None:
        assert self._guard.stdin is not None
        self._guard.stdin.write(f"{pid}\n")
        self._guard.stdin.flush()


@contextlib.contextmanager
def start_rabbitmq(folder: Path | None = None) -> Iterator[Rabbitmq]:
    """A broker that answers; stopped and removed at the end. Raises Missing."""
    broker = Rabbitmq(folder)
    try:
        yield broker
    finally:
        broker.close()
