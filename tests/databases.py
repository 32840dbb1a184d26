"""PostgreSQL and MariaDB servers of the tests' own, each in a folder of its own.

Programs of the distribution, on a free loopback port; nothing of the machine's own
servers is touched. Neither program serves root, so root starts it as the user of its
package, or as an unprivileged one. By default it does not sync its files: a killed
server loses nothing by that, only a killed machine would.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

from sqlalchemy import URL, create_engine, exc, make_url

from gantt.store import StoreOptions, schema
from gantt.store.database import database_at
from tests import small_disk
from tests.guarded import GuardedServer, Missing
from tests.live import free_port
from tests.programs import printed
from tests.waiting import until

START_S = 60.0
EMPTY = "empty"


def execute(url: str, *statements: str) -> list[Any]:
    """Send statements, each committed by itself; the rows of the last."""
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    try:
        with engine.connect() as connection:
            rows: list[Any] = []
            for statement in statements:
                result = connection.exec_driver_sql(statement)
                rows = list(result) if result.returns_rows else []
            return rows
    finally:
        engine.dispose()


def migrate(url: str, revision: str) -> None:
    """Make the tables as they were at ``revision``, or those of a later one so again.
    These begin as format and log of this release have them."""
    with database_at(url, StoreOptions(create=True)) as database:
        is_made = schema.look(database).revision is not None
        schema._migrate_to(database, "downgrade" if is_made else "upgrade", revision)


class DatabaseServer(GuardedServer, ABC):
    """One server; ``start`` again after ``kill``. Raises Missing, AssertionError."""

    package: ClassVar[str]
    program: ClassVar[str]
    owner: ClassVar[str]

    def __init__(self, *, is_durable: bool = False, folder: Path | None = None) -> None:
        """``is_durable``: files are synced; ``folder``: where to make its own."""
        self.programs = self.find()
        self._is_durable = is_durable
        self._user = _account(self.owner)
        super().__init__(folder)
        self.port = free_port()
        self._disk_full: Path | None = None
        self._count = 0
        with self._whole():
            self._own(self.folder)
            self._prepare()
            self.start()

    @classmethod
    def find(cls) -> Path:
        """The folder with the programs. Raises Missing."""
        places = [*sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)]
        places += map(Path, os.environ["PATH"].split(os.pathsep))
        places += [Path("/usr/sbin"), Path("/usr/local/sbin")]
        for place in places:
            if os.access(place / cls.program, os.X_OK):
                return (place / cls.program).resolve().parent
        raise Missing(f"{cls.name}: no {cls.program} here; install {cls.package}")

    @abstractmethod
    def _prepare(self) -> None:
        """Make the files of an empty server."""

    @abstractmethod
    def _command(self) -> list[str]:
        """What serves them."""

    @abstractmethod
    def url(self, database: str) -> str:
        """The URL of a database of this server."""

    # -- its life -----------------------------------------------------------------

    def start(self, *, disk_full: Path | None = None) -> None:
        """Start, and return when it answers. ``disk_full``: while this file is there,
        the disk has no room for it."""
        self._disk_full = disk_full
        deadline = time.monotonic() + START_S
        self._spawn(**self._beginning())
        while not self._answers():
            assert time.monotonic() < deadline, f"{self.name}:\n{self.log[-4000:]}"
            time.sleep(0.05)
            if not self.is_running:
                # What is left of one that was killed may still hold its memory.
                time.sleep(0.5)
                self._spawn(**self._beginning())

    def _beginning(self) -> dict[str, Any]:
        """What to start, and as whom."""
        command, identity = self._command(), self._identity
        if self._disk_full is None:
            return {"args": command, **identity}
        # Only who started the tests may be able to read this Python.
        who = identity.pop("user", -1), identity.pop("group", -1)
        disk = small_disk.command(self.folder / "data", self._disk_full, *who)
        return {"args": [*disk, *command], **identity}

    def stand_still(self) -> None:
        """It answers nothing and refuses nothing, as on a disk that hangs."""
        stopped = self._send(signal.SIGSTOP)
        # A signal stops threads one after another; until then they may still answer.
        until(lambda: all(map(_is_stopped, stopped)), 10)

    def go_on(self) -> None:
        """As if nothing had been."""
        self._send(signal.SIGCONT)

    def _send(self, what: signal.Signals) -> list[int]:
        """To it and, if it has any, the processes that serve its sessions; all these
        processes."""
        assert self._process is not None
        pid = self._process.pid
        os.kill(pid, what)  # first, so that it begins no others
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text()
        found = [pid, *map(int, children.split())]
        for child in found[1:]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, what)
        return found

    # -- its databases ------------------------------------------------------------

    def new(self, *, is_furnished: bool = True) -> str:
        """The URL of a new database; furnished: with empty tables of this release."""
        self._count += 1
        name = f"books{self._count}"
        if is_furnished:
            self._copy(EMPTY, name)
        else:
            self.execute(f"CREATE DATABASE {name}")
        return self.url(name)

    def copy(self, url: str) -> str:
        """The URL of a copy of an unused database."""
        self._count += 1
        name = f"books{self._count}"
        self._clone(str(make_url(url).database), name)
        return self.url(name)

    def drop(self, url: str) -> None:
        """Remove a database, even while it is in use."""
        self.execute(f"DROP DATABASE IF EXISTS {make_url(url).database}")

    def _copy(self, name: str, copy: str) -> None:
        """Another database like ``name``, which is made when there is none yet."""
        if not (self.folder / name).exists():
            self.execute(f"CREATE DATABASE {name}")
            schema.sync(self.url(name))
            (self.folder / name).touch()
        self._clone(name, copy)

    @abstractmethod
    def _clone(self, name: str, copy: str) -> None:
        """Copy an unused database."""

    def execute(self, *statements: str, url: str | None = None) -> list[Any]:
        """As ``execute``, by default beside all databases of its own."""
        return execute(url or self._administration, *statements)

    @property
    @abstractmethod
    def _administration(self) -> str:
        """A URL that is always there."""

    def _answers(self) -> bool:
        try:
            self.execute("SELECT 1")
        except exc.DBAPIError:
            return False
        return True

    # -- its user -----------------------------------------------------------------

    @property
    def _identity(self) -> dict[str, Any]:
        """How to start a program as its user."""
        if self._user is None:
            return {}
        return {
            "user": self._user.pw_uid,
            "group": self._user.pw_gid,
            "extra_groups": [],
            "env": {**os.environ, "HOME": str(self.folder)},
        }

    def _own(self, path: Path) -> None:
        if self._user is not None:
            os.chown(path, self._user.pw_uid, self._user.pw_gid)

    def _run(self, *command: str) -> None:
        printed(command, cwd=self.folder, **self._identity)


def _is_stopped(pid: int) -> bool:
    """Whether each of its threads is stopped; also of a process that has ended."""
    try:
        states = [one.read_text() for one in Path(f"/proc/{pid}/task").glob("*/stat")]
    except OSError:
        return not Path(f"/proc/{pid}").exists()
    return all(text.rpartition(")")[2].split()[0] in "TZ" for text in states)


def _account(name: str) -> pwd.struct_passwd | None:
    """The account that a server runs as; None: the current one."""
    if os.getuid() != 0:
        return None
    try:
        return pwd.getpwnam(name)
    except KeyError:
        return pwd.getpwnam("nobody")


class Postgres(DatabaseServer):
    """Trusts every connection to its port."""

    name = "postgresql"
    package = "postgresql"
    program = "postgres"
    owner = "postgres"
    stop_signal = signal.SIGINT  # a fast shutdown: clients are sent away

    def _prepare(self) -> None:
        self._run(
            str(self.programs / "initdb"),
            "--pgdata",
            str(self.folder / "data"),
            "--username",
            "gantt",
            "--auth",
            "trust",
            "--encoding",
            "UTF8",
            "--locale",
            "C.UTF-8",
            "--no-sync",
        )

    def _command(self) -> list[str]:
        given = {
            "listen_addresses": "127.0.0.1",
            "port": self.port,
            "unix_socket_directories": "",
            "fsync": "on" if self._is_durable else "off",
            "max_connections": 200,
            "shared_buffers": "64MB",
        }
        pairs = (f"{name}={value}" for name, value in given.items())
        settings = [part for pair in pairs for part in ("-c", pair)]
        data = str(self.folder / "data")
        return [str(self.programs / "postgres"), "-D", data, *settings]

    def url(self, database: str) -> str:
        return f"postgresql+psycopg://gantt@127.0.0.1:{self.port}/{database}"

    @property
    def _administration(self) -> str:
        return self.url("postgres")

    def drop(self, url: str) -> None:
        name = make_url(url).database
        self.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")

    def _clone(self, name: str, copy: str) -> None:
        self.execute(f"CREATE DATABASE {copy} TEMPLATE {name}")


class Mariadb(DatabaseServer):
    """Has one user beside root, who may do everything from this machine."""

    name = "mariadb"
    package = "mariadb-server"
    program = "mariadbd"
    owner = "mysql"

    def _prepare(self) -> None:
        # By database and table: what makes it.
        self._definitions: dict[str, dict[str, str]] = {}
        installer = shutil.which("mariadb-install-db")
        if installer is None:
            raise Missing(f"{self.name}: no mariadb-install-db; install {self.package}")
        self._run(
            installer,
            "--no-defaults",
            f"--datadir={self.folder / 'data'}",
            "--auth-root-authentication-method=normal",
            "--skip-test-db",
            # A server that starts removes temporary tables of others in its folder.
            f"--tmpdir={self.folder}",
        )

    def _command(self) -> list[str]:
        unsynced = ("--debug-no-sync", "--innodb-flush-method=nosync")
        return [
            str(self.programs / "mariadbd"),
            "--no-defaults",
            f"--datadir={self.folder / 'data'}",
            "--bind-address=127.0.0.1",
            f"--port={self.port}",
            f"--socket={self.folder / 'socket'}",
            f"--tmpdir={self.folder}",
            f"--pid-file={self.folder / 'pid'}",
            "--innodb-buffer-pool-size=64M",
            "--max-connections=200",
            # As Debian's own configuration has them.
            "--character-set-server=utf8mb4",
            "--skip-name-resolve",
            "--collation-server=utf8mb4_general_ci",
            *(() if self._is_durable else unsynced),
        ]

    def url(self, database: str) -> str:
        return URL.create(
            "mysql+pymysql",
            username="root",
            host="127.0.0.1",
            port=self.port,
            database=database,
            query={"charset": "utf8mb4"},
        ).render_as_string(hide_password=False)

    @property
    def _administration(self) -> str:
        return self.url("mysql")

    def _clone(self, name: str, copy: str) -> None:
        if name not in self._definitions:
            url = self.url(name)
            tables = [row[0] for row in self.execute("SHOW TABLES", url=url)]
            self._definitions[name] = {
                one: self.execute(f"SHOW CREATE TABLE {one}", url=url)[0][1]
                for one in tables
            }
        made = self._definitions[name]
        self.execute(
            f"CREATE DATABASE {copy}",
            f"USE {copy}",
            "SET foreign_key_checks = 0",
            "SET sql_mode = 'NO_AUTO_VALUE_ON_ZERO'",
            *made.values(),
            *(f"INSERT INTO {one} SELECT * FROM {name}.{one}" for one in made),
        )


SERVERS: dict[str, type[DatabaseServer]] = {
    Postgres.name: Postgres,
    Mariadb.name: Mariadb,
}


class Databases:
    """The servers of one test run, each started when it is first asked for."""

    def __init__(self, *, is_durable: bool = False) -> None:
        self._is_durable = is_durable
        self._running: dict[str, DatabaseServer] = {}

    def __enter__(self) -> Databases:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def server(self, name: str) -> DatabaseServer:
        """Raises Missing."""
        if name not in self._running:
            self._running[name] = SERVERS[name](is_durable=self._is_durable)
        return self._running[name]

    @contextlib.contextmanager
    def database(self, name: str, *, is_furnished: bool = True) -> Iterator[str]:
        """The URL of a new database for one test."""
        server = self.server(name)
        url = server.new(is_furnished=is_furnished)
        try:
            yield url
        finally:
            server.drop(url)

    def close(self) -> None:
        """Stop all servers."""
        for server in self._running.values():
            server.close()
        self._running.clear()
