"""Records from when bookings were called claims can still be read."""

from __future__ import annotations

from msgspec import Raw

from gantt.model.record import Rows
from gantt.model.rows import BOOKINGS, TARGET, BookingRow
from gantt.replay.recorded_changes import change_of, read_rows

CLAIM = b'[1,"c","i",1,2,3,4,null,null,null,null,5,null,null,null,null]'


def test_claims_of_an_older_record_are_bookings() -> None:
    found = read_rows(Rows("gantt_claims", Raw(b"[" + CLAIM + b"]")), "here")
    assert [*found] == [BOOKINGS]
    (row,) = found[BOOKINGS].values()
    assert isinstance(row, BookingRow)
    assert (row.claim, row.role, row.name) == ("c", TARGET, "")
    changed = change_of("here", "gantt_claims", 1, Raw(CLAIM))
    assert (changed.table, changed.new) == (BOOKINGS, row)
