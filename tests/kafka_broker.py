"""A Kafka of the tests' own: the released broker in KRaft mode, one node, on free
loopback ports. Its jars come from Maven's repository, once for each version and user.

``python -m tests.kafka_broker`` fetches them, so that no test waits for a download.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar, Final

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from tests.guarded import GuardedServer, Missing
from tests.live import free_port

VERSION: Final = "4.2.0"
START_S: Final = 120.0
FETCH_S: Final = 600.0
# The library that the broker logs with is not among its dependencies.
DEPENDENCIES: Final = (
    ("org.apache.kafka", "kafka_2.13", VERSION),
    ("org.apache.logging.log4j", "log4j-slf4j-impl", "2.25.3"),
)
PROJECT: Final = """\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>gantt.tests</groupId>
  <artifactId>kafka</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>{dependencies}</dependencies>
</project>
"""
DEPENDENCY: Final = (
    "<dependency><groupId>{}</groupId><artifactId>{}</artifactId>"
    "<version>{}</version></dependency>"
)
# One replica of everything, few partitions of the broker's own topics, and nothing
# that is not closed at once: a test restarts it and waits. One that was killed may
# register again once its session is over.
SETTINGS: Final = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
inter.broker.listener.name=PLAINTEXT
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs={folder}/data
auto.create.topics.enable=false
num.partitions=1
default.replication.factor=1
min.insync.replicas=1
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.num.partitions=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
broker.session.timeout.ms=3000
broker.heartbeat.interval.ms=500
group.min.session.timeout.ms=1000
log.cleaner.dedupe.buffer.size=4194304
log.cleaner.backoff.ms=200
log.initial.task.delay.ms=200
offsets.topic.segment.bytes=1048576
num.network.threads=2
num.io.threads=2
"""
MEMORY: Final = ("-Xms96m", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


class Kafka(GuardedServer):
    """One broker; ``start`` again after ``stop`` or ``kill``, on the same port and with
    what it holds.

    Raises Missing, AssertionError with its log.
    """

    name: ClassVar[str] = "kafka"
    programs: ClassVar[tuple[tuple[str, str], ...]] = (
        ("java", "default-jre-headless"),
        ("mvn", "maven"),
    )

    def __init__(self, folder: Path | None = None) -> None:
        """``folder``: where to make its own."""
        self.find()
        self._jars = jars()
        super().__init__(folder)
        self.port = free_port()
        try:
            self._format()
            self.start()
        except BaseException:
            self.close()
            raise

    @classmethod
    def find(cls) -> None:
        """Raises Missing."""
        for program, package in cls.programs:
            if shutil.which(program) is None:
                raise Missing(f"{cls.name}: no {program} here; install {package}")

    @property
    def servers(self) -> str:
        """For ``bootstrap_servers``."""
        return f"127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start, and return when it answers clients."""
        main = "kafka.Kafka"
        self._spawn(args=self._java(*MEMORY, main, str(self.folder / "kafka.conf")))
        deadline = time.monotonic() + START_S
        while not self._answers():
            assert self.is_running, f"kafka ended:\n{self.log[-4000:]}"
            assert time.monotonic() < deadline, f"kafka:\n{self.log[-4000:]}"
            time.sleep(0.1)

    def pause(self) -> None:
        """Let it answer nothing, with its connections open, until ``resume``."""
        assert self._process is not None
        os.killpg(self._process.pid, signal.SIGSTOP)

    def resume(self) -> None:
        """Let it go on."""
        assert self._process is not None
        os.killpg(self._process.pid, signal.SIGCONT)

    def _format(self) -> None:
        settings = self.folder / "kafka.conf"
        text = SETTINGS.format(
            port=self.port, controller=free_port(), folder=self.folder
        )
        settings.write_text(text)
        main = "kafka.tools.StorageTool"
        cluster = str(uuid.uuid4())
        command = self._java(
            "-Xmx64m", main, "format", "-t", cluster, "-c", "kafka.conf"
        )
        done = subprocess.run(
            command, cwd=self.folder, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr

    def _java(self, *arguments: str) -> list[str]:
        return ["java", "-cp", f"{self._jars}/*", *arguments]

    def _answers(self) -> bool:
        """Whether it answers a client; the port alone is open before it can."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), 1.0):
                pass
            admin = AdminClient({"bootstrap.servers": self.servers, "log_level": 0})
            return bool(admin.list_topics(timeout=5.0).brokers)
        except (OSError, KafkaException):
            return False


def jars() -> Path:
    """The folder with the broker's jars, fetched if they are not there. Raises Missing,
    AssertionError with what Maven says."""
    Kafka.find()
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / "gantt-tests" / f"kafka-{VERSION}"
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as place:
            _fetch(Path(place))
            with contextlib.suppress(OSError):  # another process was quicker
                (Path(place) / "jars").rename(folder)
    return folder


def _fetch(place: Path) -> None:
    wanted = "".join(DEPENDENCY.format(*one) for one in DEPENDENCIES)
    (place / "pom.xml").write_text(PROJECT.format(dependencies=wanted))
    goal = ["dependency:copy-dependencies", "-DincludeScope=runtime"]
    done = subprocess.run(
        ["mvn", "-B", "-q", *goal, f"-DoutputDirectory={place / 'jars'}"],
        cwd=place,
        capture_output=True,
        text=True,
        check=False,
        timeout=FETCH_S,
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]


@contextlib.contextmanager
def start_kafka(folder: Path | None = None) -> Iterator[Kafka]:
    """A broker that answers; stopped and removed at the end. Raises Missing."""
    broker = Kafka(folder)
    try:
        yield broker
    finally:
        broker.close()


if __name__ == "__main__":
    print(jars())
