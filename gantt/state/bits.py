"""Which provider bears which label, as a matrix of bits.

One matrix serves traits and another aggregates: a question about labels is then one
pass over whole words instead of a walk over sets.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from gantt.state.column import Bools, Int64s, Words

_WORD = 64


class BitMatrix:
    """rows x labels; word ``label // 64`` of a row holds the bit ``label % 64``."""

    def __init__(self) -> None:
        # Word-major, so that one label's column is contiguous over the rows.
        self._words: Words = np.zeros((1, 16), np.uint64)
        # Moves when a row gets or loses a label.
        self.moves = 0

    def set(self, row: int, label: int, is_set: bool) -> None:
        """Give or take one label."""
        self._reserve(row, label)
        self.moves += 1
        bit = np.uint64(1 << (label % _WORD))
        if is_set:
            self._words[label // _WORD, row] |= bit
        else:
            self._words[label // _WORD, row] &= ~bit

    def has_any(self, row: int, labels: Iterable[int]) -> bool:
        """Whether ``row`` bears at least one of ``labels``."""
        words, rows = self._words.shape
        if row >= rows:
            return False
        for label in labels:
            word = label // _WORD
            if word < words and int(self._words[word, row]) >> (label % _WORD) & 1:
                return True
        return False

    def labels_of(self, row: int) -> list[int]:
        """The labels of ``row``, ascending."""
        if row >= self._words.shape[1]:
            return []
        found = []
        for word, value in enumerate(self._words[:, row].tolist()):
            while value:
                low = value & -value
                found.append(word * _WORD + low.bit_length() - 1)
                value ^= low
        return found

    def any_like(self, rows: Int64s, height: int) -> Bools:
        """bool[height]: which bear a label that one of ``rows`` bears."""
        return self._bearing(self._labels_of_all(rows), height)

    def pairs(self, rows: Int64s) -> tuple[Int64s, Int64s]:
        """What each of ``rows`` bears: a row and a label for each such pair."""
        rows = rows[rows < self._words.shape[1]]
        found = [_pairs(word, one[rows]) for word, one in enumerate(self._words)]
        places, labels = (np.concatenate(one) for one in zip(*found, strict=True))
        return rows[places], labels

    def bearers_like(self, rows: Int64s, height: int) -> tuple[Int64s, Int64s]:
        """The ``pairs`` of all rows below ``height``, of labels that one of ``rows``
        has."""
        empty = np.empty(0, np.int64)
        found = [(empty, empty)]
        for word, wanted in self._labels_of_all(rows).items():
            found.append(_pairs(word, self._words[word, :height] & wanted))
        bearers, labels = (np.concatenate(one) for one in zip(*found, strict=True))
        return bearers, labels

    def patterns(self, rows: Sequence[int]) -> list[bytes]:
        """What each of ``rows`` bears, as a key: equal labels make equal keys."""
        words, height = self._words.shape
        block = np.zeros((len(rows), words), np.uint64)
        places = np.asarray(rows, np.intp)
        is_known = places < height
        block[is_known] = self._words[:, places[is_known]].T
        width = words * block.itemsize
        raw = block.tobytes()
        return [raw[start : start + width] for start in range(0, len(raw), width)]

    def any_of(self, labels: Iterable[int], height: int, start: int = 0) -> Bools:
        """bool[height - start]: rows from ``start`` below ``height`` that bear at least
        one of ``labels``."""
        return self._bearing(self._masks(labels), height, start)

    def all_of(self, labels: Iterable[int], height: int) -> Bools:
        """bool[height]: rows that bear every one of ``labels``."""
        found = np.ones(height, np.bool_)
        for word, mask in self._masks(labels).items():
            if word >= self._words.shape[0]:
                return np.zeros(height, np.bool_)
            column = self._words[word, :height] & np.uint64(mask)
            found[: len(column)] &= column == np.uint64(mask)
            found[len(column) :] = False
        return found

    def is_used(self, label: int) -> bool:
        return bool(self.any_of((label,), self._words.shape[1]).any())

    @staticmethod
    def _masks(labels: Iterable[int]) -> dict[int, int]:
        masks: dict[int, int] = {}
        for label in labels:
            word, bit = divmod(label, _WORD)
            masks[word] = masks.get(word, 0) | 1 << bit
        return masks

    def _bearing(
        self, masks: Mapping[int, int | np.uint64], height: int, start: int = 0
    ) -> Bools:
        """bool[height - start]: rows with one of the bits of ``masks``, by word."""
        found = np.zeros(height - start, np.bool_)
        for word, mask in masks.items():
            if word < self._words.shape[0]:
                column = self._words[word, start:height]
                found[: len(column)] |= (column & np.uint64(mask)) != 0
        return found

    def _labels_of_all(self, rows: Int64s) -> dict[int, np.uint64]:
        """The words in which any of ``rows`` has a bit, with all of these bits."""
        rows = rows[rows < self._words.shape[1]]
        wanted = np.bitwise_or.reduce(self._words[:, rows], axis=1)
        return {word: wanted[word] for word in np.flatnonzero(wanted).tolist()}

    def _reserve(self, row: int, label: int) -> None:
        words, rows = self._words.shape
        if row < rows and label // _WORD < words:
            return
        shape = (
            max(words, label // _WORD + 1),
            rows if row < rows else max(2 * rows, row + 1),
        )
        grown = np.zeros(shape, np.uint64)
        grown[:words, :rows] = self._words
        self._words = grown


def _pairs(word: int, column: Words) -> tuple[Int64s, Int64s]:
    """The bits of one word of some rows: a place in ``column`` and a label for each."""
    places = np.flatnonzero(column != 0)  # of booleans it is quickest
    left = column[places]
    found, labels = [places[:0]], [places[:0]]
    while len(places):
        rest = left & (left - 1)  # without the lowest bit
        bits = np.bitwise_count((left ^ rest) - 1).astype(np.int64)
        found.append(places)
        labels.append(bits + word * _WORD)
        places, left = places[rest != 0], rest[rest != 0]
    return np.concatenate(found), np.concatenate(labels)
