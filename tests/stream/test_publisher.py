"""Each revision is published once and in order; a snapshot bridges what is missing."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable

import msgspec
import pytest
from msgspec.structs import replace

from gantt.errors import Gone, Unavailable
from gantt.model.watching import Events
from gantt.stream.changes.change_topic import Fenced
from gantt.stream.changes.copy import Copy
from gantt.stream.changes.messages import Begin, End, Message, Revision, SnapshotRows
from gantt.stream.changes.publisher import Publisher, TransactionLimits, place_after
from tests.stream.change_fakes import Books, Broker, Producer, shown

LIMITS = TransactionLimits(messages=5, snapshot_s=0)
DAY = 86_400 * 1_000_000


class Watch:
    """A clock for publishers."""

    now = 1_000_000

    def __call__(self) -> int:
        return self.now


def publisher(
    books: Books,
    broker: Broker,
    limits: TransactionLimits = LIMITS,
    now: Watch | None = None,
) -> Publisher:
    return Publisher(books, Producer(broker), limits, now or Watch())


def settle(one: Publisher, books: Books) -> None:
    """Step until all is published."""
    while one.reached is None or one.reached < books.revision:
        one.step(0.0)
    one.step(0.0)


def revisions(messages: list[Message]) -> list[int]:
    return [one.revision for one in messages if isinstance(one, Revision)]


def kinds(broker: Broker) -> str:
    """``r`` for a revision; a snapshot is ``b``, its rows ``*``, ``e``."""
    letters: dict[type[Message], str] = {
        Revision: "r",
        Begin: "b",
        SnapshotRows: "*",
        End: "e",
    }
    return "".join(letters[type(one)] for one in broker.messages())


def copied(broker: Broker) -> dict[object, object]:
    """The table, by the topic alone."""
    copy = Copy()
    for value in broker.committed:
        copy.take(value)
    return {key: row["value"] for key, row in copy.tables.get("t", {}).items()}


def test_revisions_in_order_in_bounded_transactions() -> None:
    books, broker = Books(), Broker()
    one = publisher(books, broker)
    books.write(12)
    settle(one, books)
    assert revisions(broker.messages()) == list(range(1, 13))
    assert all(count <= LIMITS.messages + books.page for count in broker.transactions)
    assert max(broker.transactions) <= LIMITS.messages
    assert sum(broker.transactions) == 12
    assert (one.revisions, one.snapshots, one.reached) == (12, 0, 12)


def test_nothing_is_published_where_nothing_is_new() -> None:
    books, broker = Books(), Broker()
    one = publisher(books, broker)
    one.step(0.0)
    assert broker.transactions == []
    books.write()
    settle(one, books)
    one.step(0.0)
    assert broker.transactions == [1]


def test_a_message_has_what_a_watcher_is_told() -> None:
    books, broker = Books(), Broker()
    books.write()
    settle(publisher(books, broker), books)
    value = msgspec.json.decode(broker.committed[0])
    beside = {name: value.pop(name) for name in ("type", "books", "part", "parts")}
    assert beside == {"type": "revision", "books": books.books, "part": 1, "parts": 1}
    assert value.pop("base_at") == Watch.now
    assert value == shown(books.log[0])


@pytest.mark.parametrize("is_kept", [True, False])
@pytest.mark.parametrize("failing", range(5))
def test_a_crash_loses_and_repeats_nothing(failing: int, is_kept: bool) -> None:
    books, broker = Books(), Broker()
    books.write(17)
    broker.failing, broker.is_kept = failing, is_kept
    first = publisher(books, broker)
    with pytest.raises(Unavailable):
        settle(first, books)
    settle(publisher(books, broker), books)
    assert revisions(broker.messages()) == list(range(1, 18))


def test_after_a_failure_the_same_publisher_goes_on_from_the_topic() -> None:
    books, broker = Books(), Broker()
    one = publisher(books, broker)
    books.write(2)
    settle(one, books)
    books.write(2)
    broker.failing, broker.is_kept = 0, True
    with pytest.raises(Unavailable):
        one.step(0.0)
    one.close()
    assert one.reached is None
    books.write()
    settle(one, books)
    assert revisions(broker.messages()) == [1, 2, 3, 4, 5]


def test_of_two_leaders_the_first_is_fenced() -> None:
    books, broker = Books(), Broker()
    first, second = publisher(books, broker), publisher(books, broker)
    books.write(3)
    settle(first, books)
    books.write(3)
    second.step(0.0)
    books.write(3)
    with pytest.raises(Fenced):
        settle(first, books)
    settle(second, books)
    assert revisions(broker.messages()) == list(range(1, 10))


def test_a_log_compacted_past_the_topic_is_bridged_by_a_snapshot() -> None:
    books, broker = Books(), Broker()
    books.write(3)
    settle(publisher(books, broker), books)
    books.write(6, rows=8)
    books.compact(2)
    one = publisher(books, broker)
    settle(one, books)
    books.write(2)
    settle(one, books)
    assert kinds(broker) == "rrrb***err"
    begin = broker.messages()[3]
    assert isinstance(begin, Begin)
    assert (begin.revision, begin.id) == (9, "9-aaaaaaaa")
    assert "3-aaaaaaaa is not in the log" in begin.reason
    end = broker.messages()[-3]
    assert isinstance(end, End)
    assert (end.revision, end.rows) == (9, 8)
    assert copied(broker) == books.table
    assert (one.revisions, one.snapshots) == (2, 1)


def test_a_topic_that_begins_after_compaction_begins_with_a_snapshot() -> None:
    books, broker = Books(), Broker()
    books.write(6)
    books.compact(2)
    settle(publisher(books, broker), books)
    assert kinds(broker) == "b*e"
    assert copied(broker) == books.table


def test_compaction_while_publishing() -> None:
    books, broker = Books(), Broker()
    one = publisher(books, broker)
    books.write(3)
    settle(one, books)
    books.write(5)
    books.compact(1)
    settle(one, books)
    assert kinds(broker) == "rrrb*e"
    assert copied(broker) == books.table


class Vanishing(Books):
    """Its log is compacted behind the first page."""

    def events(self, since: str | int | None = None, *, wait_s: float = 0.0) -> Events:
        found = super().events(since, wait_s=wait_s)
        if found.events:
            self.compact(1)
        return found


def test_what_was_read_before_a_compaction_is_published() -> None:
    books, broker = Vanishing(), Broker()
    books.write(9)
    settle(publisher(books, broker), books)
    assert kinds(broker) == "rrrb*e"
    assert copied(broker) == books.table


def restored(books: Books) -> Books:
    """A backup of revision 2, in which other commands followed."""
    found = Books(batch="bbbbbbbb")
    found.log = books.log[:2]
    found.table = {0: 2}
    found.write(4)
    return found


def other(books: Books) -> Books:
    """Another database, whose log has the same positions."""
    found = Books(batch=books.batch)
    found.books = "other"
    found.write(7, rows=2)
    return found


@pytest.mark.parametrize("replaced", [restored, other])
def test_another_history_begins_with_a_snapshot(
    replaced: Callable[[Books], Books],
) -> None:
    books, broker = Books(), Broker()
    books.write(5)
    settle(publisher(books, broker), books)
    found = replaced(books)
    one = publisher(found, broker)
    settle(one, found)
    found.write()
    settle(one, found)
    assert kinds(broker) == "rrrrrb*er"
    assert copied(broker) == found.table


def test_another_database_in_the_place_of_this_one() -> None:
    books, broker = Books(), Broker()
    one = publisher(books, broker)
    books.write(3)
    settle(one, books)
    books.books, books.batch, books.log, books.table = "new", "bbbbbbbb", [], {}
    books.write(4)
    settle(one, books)
    books.write(2)
    settle(one, books)
    assert kinds(broker) == "rrrb*err"
    assert {message.books for message in broker.messages()[3:]} == {"new"}
    assert copied(broker) == books.table


def test_messages_that_are_no_longer_kept_are_not_published_again() -> None:
    assert "no longer in the topic" in place_after(b"", "books").gap
    assert place_after(None, "books").gap == ""


@pytest.mark.parametrize("failing", range(1, 4))
def test_a_snapshot_that_was_cut_off_is_published_again(failing: int) -> None:
    books, broker = Books(page=2), Broker()
    books.write(3, rows=12)
    books.compact(1)
    broker.failing = failing
    limits = replace(LIMITS, messages=2)
    first = publisher(books, broker, limits)
    with pytest.raises(Unavailable):
        settle(first, books)
    cut = kinds(broker)
    assert cut == "b***********"[: 2 * failing]
    assert copied(broker) == {}
    settle(publisher(books, broker, limits), books)
    assert kinds(broker) == cut + "b******e"
    assert copied(broker) == books.table


def test_a_snapshot_is_due_after_a_while_and_skips_no_revision() -> None:
    books, broker, watch = Books(), Broker(), Watch()
    limits = replace(LIMITS, snapshot_s=86_400)
    one = publisher(books, broker, limits, watch)
    books.write(2)
    settle(one, books)
    watch.now += DAY - 1
    books.write()
    settle(one, books)
    assert kinds(broker) == "rrr"
    books.write(6)
    watch.now += 1
    settle(one, books)
    assert kinds(broker) == "rrrrrrrrrb*e"
    assert copied(broker) == books.table
    # Who takes over knows when the last one was.
    another = publisher(books, broker, limits, watch)
    another.step(0.0)
    books.write()
    settle(another, books)
    watch.now += DAY
    another.step(0.0)
    assert kinds(broker) == "rrrrrrrrrb*erb*e"


def test_a_large_revision_is_published_in_parts_of_one_transaction() -> None:
    books, broker = Books(), Broker()
    books.write(1)
    books.write(1, rows=50)
    books.write(1)
    limits = replace(LIMITS, message_bytes=600)
    settle(publisher(books, broker, limits), books)
    parts = [one for one in broker.messages() if isinstance(one, Revision)][1:-1]
    assert len(parts) > 5
    assert [one.part for one in parts] == list(range(1, len(parts) + 1))
    assert {(one.revision, one.parts) for one in parts} == {(2, len(parts))}
    assert sum((one.changes for one in parts), ()) == books.log[1].changes
    assert max(map(len, broker.committed)) <= 600
    assert broker.transactions == [1, len(parts), 1]
    assert copied(broker) == books.table


def test_a_reader_that_begins_within_a_revision_waits_for_a_snapshot() -> None:
    books, broker = Books(), Broker()
    books.write(1, rows=50)
    limits = replace(LIMITS, message_bytes=600)
    settle(publisher(books, broker, limits), books)
    assert copied(broker) == books.table
    del broker.committed[0]  # what retention leaves
    assert copied(broker) == {}


def test_a_row_larger_than_a_message_is_a_message_of_its_own() -> None:
    books, broker = Books(), Broker()
    books.write(1, rows=2)
    limits = replace(LIMITS, message_bytes=10)
    settle(publisher(books, broker, limits), books)
    assert [len(o.changes) for o in broker.messages() if isinstance(o, Revision)] == [
        1,
        1,
    ]


def test_bytes_bound_a_transaction() -> None:
    books, broker = Books(), Broker()
    books.write(4)
    size = 400
    settle(publisher(books, broker, replace(LIMITS, transaction_bytes=size)), books)
    assert max(map(len, broker.committed)) <= size < 2 * min(map(len, broker.committed))
    assert broker.transactions == [1, 1, 1, 1]


def test_what_is_not_ours_at_the_end_of_the_topic_is_followed_by_a_snapshot() -> None:
    books, broker = Books(), Broker()
    books.write(2)
    broker.committed.append(b"not ours")
    one = publisher(books, broker)
    settle(one, books)
    del broker.committed[0]
    assert kinds(broker) == "b*e"
    begin = broker.messages()[0]
    assert isinstance(begin, Begin)
    assert "not ours" in begin.reason


def test_a_reader_notices_a_missing_revision() -> None:
    books, broker = Books(), Broker()
    books.write(3)
    settle(publisher(books, broker), books)
    copy = Copy()
    copy.take(broker.committed[0])
    with pytest.raises(Gone, match="Revision 2 of b0000000"):
        copy.take(broker.committed[2])


def test_a_reader_who_comes_late_waits_for_a_snapshot() -> None:
    books, broker, watch = Books(), Broker(), Watch()
    one = publisher(books, broker, replace(LIMITS, snapshot_s=10), watch)
    books.write(3)
    settle(one, books)
    watch.now += 10_000_000
    books.write()
    settle(one, books)
    books.write()
    settle(one, books)
    del broker.committed[:2]  # what retention leaves
    assert copied(broker) == books.table


@pytest.mark.parametrize("seed", range(40))
def test_whatever_happens_a_reader_has_a_copy(seed: int) -> None:
    """Writes, crashes, a second leader, compaction, restored backups: in any order."""
    rng = random.Random(seed)
    books, broker, watch = Books(page=rng.randint(1, 4)), Broker(), Watch()
    limits = TransactionLimits(
        messages=rng.randint(1, 6), message_bytes=rng.choice((300, 9000)), snapshot_s=60
    )
    leaders = [publisher(books, broker, limits, watch) for _ in range(2)]
    backups = [(list(books.log), dict(books.table))]
    for number in range(200):
        match rng.choice(("write", "step", "step", "step", "crash", "rare")):
            case "write":
                books.write(rng.randint(1, 5), rows=rng.randint(1, 5))
            case "step":
                one = rng.choice(leaders)
                try:
                    one.step(0.0)
                except (Fenced, Unavailable):
                    one.close()
            case "crash":
                broker.failing, broker.is_kept = rng.randint(0, 2), rng.random() < 0.5
            case "rare":
                watch.now += rng.randint(0, 30) * 1_000_000
                if rng.random() < 0.2:
                    books.compact(rng.randint(1, 3))
                elif rng.random() < 0.2:
                    backups.append((list(books.log), dict(books.table)))
                elif rng.random() < 0.1:
                    log, table = rng.choice(backups)
                    books.log, books.table = list(log), dict(table)
                    books.first = min(books.first, len(log) or 1)
                    books.batch = f"{number:08x}"
    broker.failing = None
    books.write()
    settle(publisher(books, broker, limits, watch), books)
    assert copied(broker) == books.table
    found = [one for one in broker.messages() if isinstance(one, Revision)]
    for before, after in itertools.pairwise(found):
        is_next = after.part == before.part + 1 and after.id == before.id
        assert is_next or (after.part == 1 and before.part == before.parts)
