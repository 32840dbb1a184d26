"""What is no service is in records and told to watchers as services, as it ever was."""

from __future__ import annotations

from pathlib import Path

from gantt.model.hosts import Service
from gantt.replay.snapshots import of_file
from tests.replay.recorded import add_hosts, ask, flush, played, service, text_of

WORD = Service("h0", "gantt-operator", disabled=True, disabled_reason="memory")
AGENT = Service("h1", "gantt-agent", forced_down=True, last_seen_up=5)


def test_a_record_has_facts_as_services_and_a_replay_knows_them(
    tmp_path: Path,
) -> None:
    with service(tmp_path) as gantt:
        add_hosts(gantt, "h0", "h1", "h2", "h3")
        gantt.update_service(Service("h3", "nova-conductor"))
        gantt.update_service(WORD)
        gantt.update_service(AGENT)
    for file in (tmp_path / "record").iterdir():
        file.unlink()
    # The facts are in the snapshot that the next file begins with.
    with service(tmp_path) as gantt:
        assert ask(gantt, 1) in (("h2",), ("h3",))
        gantt.delete_service("h0", "gantt-operator")
        gantt.delete_service("h3", "nova-conductor")
        gantt.update_service(Service("h2", "gantt-operator", disabled=True))
        for number in range(2, 8):
            assert ask(gantt, number) in (("h0",), ("h3",))
        flush(gantt)
        told = gantt.list_services()
    text = text_of(tmp_path)
    assert "gantt_facts" not in text
    assert '"gantt-operator"' in text and '"gantt-agent"' in text
    counts, found = played(tmp_path / "record")
    assert counts.decisions == len(found) == 7
    assert [one.differs_in for one in found] == [()] * 7
    (file,) = (tmp_path / "record").iterdir()
    with of_file(file).engine() as again:
        assert again.list_services() == told
        kinds = again.read(lambda s: [one.kind for one in s.fleet.facts.rows()])
        assert kinds == ["agent", "switch", "operator"]


def test_watchers_are_told_of_services(tmp_path: Path) -> None:
    with service(tmp_path) as gantt:
        since = gantt.revision
        gantt.update_service(WORD)
        gantt.delete_service("h0", "gantt-operator")
        made, gone = (one.changes[0] for one in gantt.events(since).events)
        assert made.table == gone.table == "gantt_services"
        assert made.key == gone.key
        assert made.row is not None and gone.row is None
        assert made.row["binary"] == "gantt-operator"
        assert (made.row["host"], made.row["disabled_reason"]) == ("h0", "memory")
        assert made.row["version"] is None
