"""A real libvirt daemon of the tests' own, with QEMU's own processor: no KVM, no root.

It runs in session mode with folders of its own, as an unprivileged user. Guests boot
nothing: they have no disk to boot from.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import sys
import time
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from tests.guarded import GuardedServer, Missing

START_S: Final = 30.0
# QEMU becomes a child of process 1, which may reap it late; a zombie counts as running.
_REAPER: Final = """
import ctypes, os, signal, sys
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
child = os.fork()
if child == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
signal.signal(signal.SIGTERM, lambda *_: os.kill(child, signal.SIGTERM))
while True:
    try:
        os.wait()
    except ChildProcessError:
        break
"""
_CONFIG: Final = 'listen_tls = 0\nauth_unix_rw = "none"\n'
_QEMU: Final = (
    'security_driver = "none"\ncgroup_controllers = []\nstdio_handler = "file"\n'
)
_DOMAIN: Final = """
<domain type='qemu'><name>{name}</name><uuid>{uuid}</uuid>
<memory unit='MiB'>{mb}</memory><vcpu current='1'>{vcpus}</vcpu>
<cputune>{pins}</cputune>
<os><type arch='x86_64' machine='pc'>hvm</type></os>
<devices><emulator>/usr/bin/qemu-system-x86_64</emulator>{disk}
<controller type='usb' model='none'/><memballoon model='none'/>
<video><model type='none'/></video></devices></domain>
"""
_DISK: Final = (
    "<disk type='file' device='disk'><driver name='qemu' type='raw'/>"
    "<source file='{path}'/><target dev='vda' bus='virtio'/></disk>"
)


class LibvirtDaemon(GuardedServer):
    """``url``: of its socket; ``library``: libvirt's own."""

    name = "libvirt"

    @classmethod
    def find(cls) -> Path:
        """The daemon. Raises Missing."""
        for program in ("qemu-system-x86_64", "libvirtd"):
            found = shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin")
            if found is None:
                raise Missing(
                    f"libvirt: no {program} here; install libvirt-daemon "
                    "libvirt-daemon-driver-qemu qemu-system-x86 seabios"
                )
        if find_spec("libvirt") is None:
            raise Missing("libvirt: no libvirt-python; install it with libvirt-dev")
        return Path(found or "")

    def __init__(self) -> None:
        self.library: Any = import_module("libvirt")
        self.library.registerErrorHandler(lambda *_: None, None)
        super().__init__(None)
        with self._whole():
            self._start(self.find())

    @property
    def url(self) -> str:
        socket = self.folder / "run" / "libvirt" / "libvirt-sock"
        return f"qemu+unix:///session?socket={socket}"

    def _start(self, program: Path) -> None:
        for name in ("run", "config/libvirt", "cache", "data"):
            (self.folder / name).mkdir(parents=True)
        (self.folder / "run").chmod(0o700)
        (self.folder / "libvirtd.conf").write_text(_CONFIG)
        (self.folder / "config/libvirt/qemu.conf").write_text(_QEMU)
        identity: dict[str, Any] = {}
        if os.getuid() == 0:  # it would be the system's
            user = pwd.getpwnam("nobody")
            for one in (self.folder, *self.folder.rglob("*")):
                os.chown(one, user.pw_uid, user.pw_gid)
            identity = {
                "user": user.pw_uid,
                "group": user.pw_gid,
                "extra_groups": [],
            }
        environ = {f"XDG_{key}_HOME": str(self.folder / key.lower()) for key in _HOMES}
        environ |= {
            "PATH": "/usr/sbin:/usr/bin:/bin",
            "HOME": str(self.folder),
            "XDG_RUNTIME_DIR": str(self.folder / "run"),
        }
        config, pid = self.folder / "libvirtd.conf", self.folder / "pid"
        daemon = [str(program), "-f", str(config), "-p", str(pid)]
        # Only who started the tests may be able to read this Python.
        python = sys.executable if not identity else "/usr/bin/python3"
        self._spawn(args=[python, "-c", _REAPER, *daemon], env=environ, **identity)
        deadline = time.monotonic() + START_S
        while True:
            try:
                self.library.open(self.url).close()
                return
            except self.library.libvirtError as error:
                assert time.monotonic() < deadline, f"{error}\n{self.log}"
                time.sleep(0.1)

    def define(
        self,
        uuid: str,
        *,
        vcpus: int = 1,
        mb: int = 64,
        pin: int | None = None,
        disk_gb: int = 0,
        starts: bool = False,
    ) -> None:
        """A domain; with ``pin`` its first vCPU runs there alone."""
        disk = ""
        if disk_gb:
            path = self.folder / "data" / f"{uuid}.img"
            with path.open("wb") as file:
                file.truncate(disk_gb * 1024**3)
            path.chmod(0o666)
            disk = _DISK.format(path=path)
        pins = "" if pin is None else f"<vcpupin vcpu='0' cpuset='{pin}'/>"
        xml = _DOMAIN.format(
            name=f"vm-{uuid[:8]}", uuid=uuid, mb=mb, vcpus=vcpus, pins=pins, disk=disk
        )
        connection = self.library.open(self.url)
        try:
            found = connection.defineXML(xml)
            if starts:
                found.create()
        finally:
            connection.close()

    def pause(self, *, is_on: bool) -> None:
        """It answers nothing, or does again."""
        pid = int((self.folder / "pid").read_text())
        os.kill(pid, signal.SIGSTOP if is_on else signal.SIGCONT)

    def close(self) -> None:
        """Its guests outlive it: they go first."""
        for file in (self.folder / "run/libvirt/qemu/run").glob("*.pid"):
            if file.name != "driver.pid":
                os.kill(int(file.read_text()), signal.SIGKILL)
        super().close()


_HOMES: Final = ("CONFIG", "CACHE", "DATA")
