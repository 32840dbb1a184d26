"""Processes with a wrong clock: the time of day is off, by a library loaded before all
else.

Made here, since libfaketime takes the monotonic clock along, or else ``time.sleep``.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Final

from tests.guides.wsgi_servers import Compiler

_SOURCE: Final = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

static long off(void) { return atol(getenv("AHEAD_S")); }

int clock_gettime(clockid_t clock, struct timespec *at) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");
    int failed = real(clock, at);
    if (!failed && clock == CLOCK_REALTIME) at->tv_sec += off();
    return failed;
}

int gettimeofday(struct timeval *at, void *zone) {
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    at->tv_sec = now.tv_sec, at->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *at) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (at) *at = now.tv_sec;
    return now.tv_sec;
}
"""


def environ(folder: Path, ahead_s: int) -> dict[str, str]:
    """For a process whose clock is ahead by so much; made in ``folder``."""
    source, library = folder / "wrong_clock.c", folder / "wrong_clock.so"
    source.write_text(_SOURCE)
    words = (Compiler.find(), "-shared", "-fPIC", "-o", library, source, "-ldl")
    subprocess.run(words, check=True)
    return {"LD_PRELOAD": str(library), "AHEAD_S": str(ahead_s)}
