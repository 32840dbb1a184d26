"""The Azure VM trace V1 (Cortez et al., SOSP 2017) as prepared by Bergsma et al. (SOSP
2021): flavors and durations of 30 days, in bins of five minutes, by batch.

A duration is given as a bin, that is a range of seconds; where in it an instance ends
is drawn from the seed. Instances of one bin come evenly over its five minutes, in the
order of the file.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Final, NamedTuple

from gantt.errors import Invalid
from gantt.model.spec import Flavor, RequestSpec
from gantt.replay.events import Arrival, Skipped
from gantt.replay.readers.csv_lines import text_lines

_SECOND: Final = 1_000_000
_BIN_S: Final = 300
_END: Final = "|"


class _One(NamedTuple):
    at: int
    name: str
    letter: str
    until: int | None


class Azure:
    """``folder``: with ``flav_map.txt``, ``v1.interval_map.txt`` and the split's two
    files. ``split``: "test" or "dev". ``together``: instances of a batch with one
    flavor are one request; else each is one. ``skipped``: what could not be read."""

    def __init__(
        self,
        folder: Path,
        split: str = "test",
        seed: int = 0,
        *,
        together: bool = False,
    ) -> None:
        self.skipped: list[Skipped] = []
        self._flavors_file = _one(folder, f"v1.{split}.txt.xz")
        self._durations_file = _one(folder, f"v1.{split}.c*.txt.xz")
        self._flavors = _flavors(folder / "flav_map.txt")
        self._ranges = _ranges(folder / "v1.interval_map.txt")
        self._seed = seed
        self._together = together

    def arrivals(self) -> Iterator[Arrival]:
        """In the order of the file; times from the first line on. Raises Invalid where
        the two files do not go together."""
        dice = random.Random(self._seed)  # noqa: S311 - to be repeated
        start: int | None = None
        for number, lines in self._pairs():
            bins = [line.split(None, 1) for line in lines]
            times = [one[0] if one else "" for one in bins]
            if times[0] != times[1] or not times[0].isdecimal():
                raise Invalid(
                    f"{self._flavors_file}:{number}: time {times[0]!r}, "
                    f"but {times[1]!r} in {self._durations_file.name}: take "
                    "both files from one release of the trace."
                )
            second = int(times[0])
            start = second if start is None else start
            texts = [one[1] if len(one) > 1 else "" for one in bins]
            yield from self._line(number, (second - start) * _SECOND, texts, dice)

    def _pairs(self) -> Iterator[tuple[int, tuple[str, str]]]:
        """Lines of both files; "" where one has ended."""
        each = map(text_lines, (self._flavors_file, self._durations_file))
        for number, (one, other) in enumerate(zip_longest(*each, fillvalue=(0, "")), 1):
            yield number, (one[1], other[1])

    def _line(
        self, number: int, at: int, texts: list[str], dice: random.Random
    ) -> Iterator[Arrival]:
        letters, bins = (text.strip().strip(",").split(",") for text in texts)
        if len(letters) != len(bins):
            self._skip(number, "durations", f"{len(bins)} for {len(letters)} flavors")
            return
        batch: list[_One] = []
        gap = _BIN_S * _SECOND // len(letters)
        for place, (letter, token) in enumerate(zip(letters, bins, strict=True)):
            if letter == _END:
                yield from self._batch(batch)
                batch = []
            elif letter not in self._flavors:
                self._skip(number, f"flavor {place + 1}", f"unknown: {letter!r}")
            elif token[1:] not in self._ranges or token[0] not in "UC":
                self._skip(number, f"duration {place + 1}", f"unknown: {token!r}")
            else:
                came = at + gap * place
                until = came + self._drawn(token, dice) if token[0] == "U" else None
                batch.append(_One(came, f"vm-{number}-{place}", letter, until))
        yield from self._batch(batch)

    def _batch(self, batch: list[_One]) -> Iterator[Arrival]:
        if not self._together:
            for one in batch:
                spec = self._flavors[one.letter]
                yield Arrival(one.at, (one.name,), spec, (one.until,))
            return
        by_flavor: dict[str, list[_One]] = {}
        for one in batch:
            by_flavor.setdefault(one.letter, []).append(one)
        for letter, ones in by_flavor.items():
            names = tuple(one.name for one in ones)
            untils = tuple(one.until for one in ones)
            yield Arrival(batch[0].at, names, self._flavors[letter], untils)

    def _drawn(self, token: str, dice: random.Random) -> int:
        """Microseconds, any within the bin with the same chance."""
        low, high = self._ranges[token[1:]]
        return dice.randrange(low * _SECOND + 1, high * _SECOND + 1)

    def _skip(self, line: int, field: str, reason: str) -> None:
        self.skipped.append(Skipped(self._flavors_file.name, line, field, reason))


def _one(folder: Path, pattern: str) -> Path:
    found = sorted(folder.glob(pattern))
    if len(found) != 1:
        raise Invalid(
            f"{folder} has {len(found)} files {pattern}; one is needed: name the "
            "folder of the Azure trace."
        )
    return found[0]


def _flavors(path: Path) -> dict[str, RequestSpec]:
    """Letter -> a request for one instance. Raises Invalid."""
    found: dict[str, RequestSpec] = {}

    def take(line: str) -> None:
        amounts, letter = line.split()
        vcpus, memory_gb = amounts.split(",")
        memory_mb = round(float(memory_gb) * 1024)
        flavor = Flavor(int(vcpus), memory_mb, name=f"{vcpus}x{memory_gb}")
        found[letter] = RequestSpec(flavor)

    _each(path, take, "VCPUS,GB LETTER")
    return found


def _ranges(path: Path) -> dict[str, tuple[int, int]]:
    """Bin -> its seconds, from the end of the bin before up to its own. Raises
    Invalid."""
    found: dict[str, tuple[int, int]] = {}

    def take(line: str) -> None:
        second, number = line.split()
        low = found.get(number, (int(second), 0))[0]
        found[number] = low, int(second) + _BIN_S

    _each(path, take, "SECOND BIN")
    return found


def _each(path: Path, take: Callable[[str], None], form: str) -> None:
    """``take`` each line of ``form``. Raises Invalid."""
    for number, line in text_lines(path):
        if line.strip():
            try:
                take(line)
            except (ValueError, OverflowError) as error:
                raise Invalid(
                    f"{path}:{number}: {line[:80]!r} is no line {form}: {error}."
                ) from error
