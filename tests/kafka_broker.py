"""A Kafka of the tests' own: the released broker in KRaft mode, one node unless others
join it, on free loopback ports. Its jars, and those of Kafka's commands, come from
Maven's repository, once for each list of them and user.

``python -m tests.kafka_broker`` fetches them, so that no test waits for a download.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import socket
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar, Final

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from tests.guarded import GuardedServer, Missing
from tests.live import free_port
from tests.programs import printed

VERSION: Final = "4.2.0"
START_S: Final = 120.0
FETCH_S: Final = 600.0
# The library that the broker logs with is not among its dependencies.
DEPENDENCIES: Final = (
    ("org.apache.kafka", "kafka_2.13", VERSION, ""),
    ("org.apache.logging.log4j", "log4j-slf4j-impl", "2.25.3", ""),
    # Those of its commands that tests use need nothing but what the broker has.
    ("org.apache.kafka", "kafka-tools", VERSION, "*"),
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
    "<version>{}</version><exclusions>{}</exclusions></dependency>"
)
EXCLUSION: Final = (
    "<exclusion><groupId>{0}</groupId><artifactId>{0}</artifactId></exclusion>"
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
# Of what is set twice, the second counts.
JOINING: Final = """\
process.roles=broker
node.id={node}
listeners=PLAINTEXT://127.0.0.1:{port}
"""
# No time is spent on what would pay after minutes.
QUICK: Final = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
MEMORY: Final = ("-Xms96m", "-Xmx256m")


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

    def __init__(
        self,
        folder: Path | None = None,
        *,
        settings: str = "",
        first: Kafka | None = None,
        node: int = 1,
    ) -> None:
        """``folder``: where to make its own; ``settings``: more of them, for format
        with ``port`` and ``controller``; ``first``: whose cluster it joins as
        ``node``."""
        self.find()
        self._jars = jars()
        super().__init__(folder)
        self.port = free_port()
        self.controller: int = first.controller if first else free_port()
        self.cluster: str = first.cluster if first else str(uuid.uuid4())
        self._node = node
        self._settings = SETTINGS + (JOINING if first else "") + settings
        with self._whole():
            self._format()
            self.start()

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
        words = ("kafka.Kafka", str(self.folder / "kafka.conf"))
        self._spawn(args=self._java(*QUICK, *MEMORY, *words))
        self._until_it_answers(START_S)

    def _format(self) -> None:
        text = self._settings.format(
            port=self.port,
            controller=self.controller,
            folder=self.folder,
            node=self._node,
        )
        (self.folder / "kafka.conf").write_text(text)
        main = "kafka.tools.StorageTool"
        words = ("format", "-t", self.cluster, "-c", "kafka.conf")
        command = self._java(*QUICK, "-Xmx64m", main, *words)
        printed(command, cwd=self.folder)

    def _java(self, *arguments: str) -> list[str]:
        return ["java", "-cp", f"{self._jars}/*", *arguments]

    def _answers(self) -> bool:
        """Whether it answers a client; the port alone is open before it can."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), 1.0):
                pass
            admin = AdminClient({"bootstrap.servers": self.servers, "log_level": 0})
            return self._node in admin.list_topics(timeout=5.0).brokers
        except (OSError, KafkaException):
            return False


def jars() -> Path:
    """The folder with the jars, fetched if they are not there. Raises Missing,
    AssertionError with what Maven says."""
    Kafka.find()
    wanted = hashlib.sha256(_project().encode()).hexdigest()[:8]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / "gantt-tests" / f"kafka-{VERSION}-{wanted}"
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as place:
            _fetch(Path(place))
            with contextlib.suppress(OSError):  # another process was quicker
                (Path(place) / "jars").rename(folder)
    return folder


def _project() -> str:
    """What Maven is told."""
    wanted = [
        DEPENDENCY.format(group, name, version, EXCLUSION.format(left) if left else "")
        for group, name, version, left in DEPENDENCIES
    ]
    return PROJECT.format(dependencies="".join(wanted))


def _fetch(place: Path) -> None:
    (place / "pom.xml").write_text(_project())
    goal = ["dependency:copy-dependencies", "-DincludeScope=runtime"]
    printed(
        ["mvn", "-B", "-q", *goal, f"-DoutputDirectory={place / 'jars'}"],
        cwd=place,
        timeout=FETCH_S,
    )


@contextlib.contextmanager
def start_kafka(
    folder: Path | None = None,
    *,
    settings: str = "",
    first: Kafka | None = None,
    node: int = 1,
) -> Iterator[Kafka]:
    """A broker that answers, as Kafka has it; stopped and removed at the end. Raises
    Missing."""
    broker = Kafka(folder, settings=settings, first=first, node=node)
    try:
        yield broker
    finally:
        broker.close()


if __name__ == "__main__":
    print(jars())
