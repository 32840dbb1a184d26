"""Which names a collation of MariaDB considers equal, learned from the server.

Apart from the dialect, because it is a table and not SQL: each character has a weight,
and names of equal weights are equal. Rules compare names without asking the database,
so the weights are fetched once, when the store is opened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

Weight = tuple[int, str]

# Ideographs and syllables between these differ from all others in every collation.
_LIMITS = (0x3400, 0xF900)
_UNIT = 4  # hexadecimal digits of one weight
_OWN = 0xF0000  # weights that no ASCII character has; private characters stand for them

_DIGIT = " UNION ALL ".join(f"SELECT {n} AS d" for n in range(16))


def column_query(table: str, column: str) -> str:
    """Selects the character set and the collation of a column."""
    return (
        "SELECT character_set_name, collation_name FROM information_schema.columns "  # noqa: S608 - our constants
        f"WHERE table_schema = database() AND table_name = '{table}' "
        f"AND column_name = '{column}'"
    )


def weights_query(charset: str, collation: str) -> str:
    """Selects (code point, weight in hexadecimal) of characters that may be equal."""
    low, high = _LIMITS
    return (
        f"SELECT n, hex(weight_string(convert(char(n USING utf32) USING {charset}) "  # noqa: S608 - names from the server
        f"COLLATE {collation})) FROM (SELECT a.d * 4096 + b.d * 256 + c.d * 16 + e.d "
        f"AS n FROM ({_DIGIT}) a, ({_DIGIT}) b, ({_DIGIT}) c, ({_DIGIT}) e) AS points "
        f"WHERE n < {low} OR n >= {high}"
    )


def folding(collation: str, weights: Iterable[Weight]) -> Callable[[str], str]:
    """Maps a name to what ``collation`` compares."""
    table = _table(weights)
    # Standard SQL compares as if the shorter name were padded with blanks.
    is_padded = "nopad" not in collation and "0900" not in collation

    def fold(name: str) -> str:
        return (name.rstrip(" ") if is_padded else name).translate(table)

    return fold


def _table(weights: Iterable[Weight]) -> dict[int, str]:
    """Maps each character to the first with its weight; ASCII stays ASCII, for which
    ``str.translate`` is fast."""
    found = sorted((int(point), weight) for point, weight in weights)
    stands_for: dict[str, str] = {}
    for point, weight in found:
        if point < 0x80 and len(weight) <= _UNIT:
            stands_for.setdefault(weight, chr(point))
    return {
        point: "".join(_letter(unit, stands_for) for unit in _units(weight))
        for point, weight in found
    }


def _units(weight: str) -> list[str]:
    """A character can weigh as much as several do: ``ß`` as two of ``s``."""
    if len(weight) % _UNIT:
        return [weight]
    return [weight[at : at + _UNIT] for at in range(0, len(weight), _UNIT)]


def _letter(unit: str, stands_for: dict[str, str]) -> str:
    if unit not in stands_for:
        stands_for[unit] = chr(_OWN + len(stands_for))
    return stands_for[unit]
