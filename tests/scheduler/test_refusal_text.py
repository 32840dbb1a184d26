"""What a person reads of a refusal: hosts by what they lack, in words and in GiB."""

from __future__ import annotations

import uuid as uuids
from collections.abc import Iterator

import pytest

from gantt.cli.decision import decision_text
from gantt.cli.refusal import why_text
from gantt.engine.gantt import Gantt
from gantt.errors import NoValidHost
from gantt.model import commands as c
from gantt.model.quantities import less_text, quantity
from gantt.model.selection import Why
from gantt.model.spec import Flavor, RequestSpec, ScheduleRequest
from tests.scheduler.test_capacity import opened, report, spec_of


@pytest.fixture
def engine() -> Iterator[Gantt]:
    """The more memory, the later in the alphabet."""
    with opened() as found:
        for number, gib in enumerate((64, 128, 384)):
            report(found, f"h{number}", f"h{number}", 8, gib * 1024)
        yield found


def refused(engine: Gantt, spec: RequestSpec, request_id: str = "req-1") -> NoValidHost:
    with pytest.raises(NoValidHost) as no:
        engine.schedule(
            ScheduleRequest(spec, (str(uuids.uuid4()),), request_id=request_id)
        )
    return no.value


HUGE = RequestSpec(flavor=Flavor(vcpus=2, memory_mb=400 * 1024, root_gb=20))


def test_one_list_has_the_hosts_by_what_they_lack(engine: Gantt) -> None:
    why = refused(engine, HUGE).why
    assert isinstance(why, Why)
    assert [one.host for one in why.nearest] == ["h2", "h1", "h0"]
    text = why_text(why)
    assert text.count("Nearest") == 1 and "misses" not in text
    assert "free resources" in text and "allocation candidates" not in text


def test_memory_is_in_gib(engine: Gantt) -> None:
    found = refused(engine, HUGE)
    assert "0 of 384 GiB MEMORY_MB in use (400 GiB asked)" in str(found)
    assert "393216" not in str(found) and "409600" not in str(found)


def test_as_text_a_refusal_is_its_explanation_in_a_few_lines(engine: Gantt) -> None:
    lines = str(refused(engine, HUGE)).splitlines()
    assert lines[0] == "No valid host was found."
    assert lines[1] == "h2: 0 of 384 GiB MEMORY_MB in use (400 GiB asked)."
    assert lines[-1] == "This would help: ask for 384 GiB instead of 400 GiB MEMORY_MB."
    assert len(lines) <= 5


def test_on_a_full_fleet_nothing_is_advised_that_is_no_instance() -> None:
    """Without CPUs or memory it would fit, and be of no use."""
    with opened() as engine:
        report(engine, "h0", "h0", 2, 4096)
        some = tuple(str(uuids.uuid4()) for _ in range(2))
        small = RequestSpec(flavor=Flavor(vcpus=1, memory_mb=512))
        engine.schedule(ScheduleRequest(small, some))
        said = refused(engine, small)
        assert isinstance(said.why, Why)
        assert (said.why.change, said.why.is_truncated) == (None, False)
        assert (
            str(said).splitlines()[-1] == "No single change of the request would help."
        )
        assert "h0: 2 of 2 VCPU in use (1 asked)." in str(said)
        found = engine.capacity(small)
        assert (found.total, found.change) == (0, None)


def test_what_would_help_is_in_words(engine: Gantt) -> None:
    gone = spec_of(extra_specs={"trait:HW_CPU_X86_VMX": "required"})
    assert "This would help: ask without trait HW_CPU_X86_VMX." in str(
        refused(engine, gone)
    )


def test_a_record_shows_what_was_asked(engine: Gantt) -> None:
    refused(engine, HUGE, "req-7")
    (record,) = engine.decisions(request_id="req-7")
    asked = "Asked: 1 instance of 2 VCPU, 400 GiB memory, 20 GB disk."
    assert asked in decision_text(record)


def test_the_provider_that_is_full_speaks_for_its_tree(engine: Gantt) -> None:
    """Not its host, which never had the class."""
    engine.create_resource_class("CUSTOM_MAGIC")
    (root,) = [one.uuid for one in engine.list_providers() if one.name == "h1"]
    child = str(uuids.uuid4())
    engine.create_provider("h1-child", uuid=child, parent_uuid=root)
    engine.set_inventories(child, {"CUSTOM_MAGIC": c.Inventory(total=3)})
    spec = spec_of(extra_specs={"resources:CUSTOM_MAGIC": "1"})
    for _ in range(3):
        engine.schedule(ScheduleRequest(spec, (str(uuids.uuid4()),)))
    lines = str(refused(engine, spec)).splitlines()
    assert lines[1] == "h1: h1-child: 3 of 3 CUSTOM_MAGIC in use (1 asked)."
    assert "h0: has no CUSTOM_MAGIC (1 asked)." in lines


@pytest.mark.parametrize(
    ("name", "amount", "text"),
    [
        ("MEMORY_MB", 385024, "376 GiB"),
        ("MEMORY_MB", 512, "512 MiB"),
        ("MEMORY_MB", 1025, "1025 MiB"),
        ("MEMORY_MB", 999999, "976.6 GiB"),
        ("MEMORY_MB", 0, "0"),
        ("VCPU", 4.0, "4"),
        ("VCPU", 4.5, "4.50"),
    ],
)
def test_quantities(name: str, amount: float, text: str) -> None:
    assert quantity(name, amount) == text


def test_what_is_to_be_asked_is_not_rounded() -> None:
    assert quantity("MEMORY_MB", 24_090) == "23.5 GiB"
    assert quantity("MEMORY_MB", 24_090, is_exact=True) == "24090 MiB"


def test_what_was_asked_and_what_to_ask_have_one_unit() -> None:
    """Memory that is no whole number of GiB is to be asked to the MiB."""
    assert less_text("MEMORY_MB", 24105, 99_999_999) == (
        "24105 MiB instead of 99999999 MiB"
    )
    assert less_text("MEMORY_MB", 16384, 100_000) == "16 GiB instead of 97.7 GiB"
    assert less_text("VCPU", 2, 8) == "2 instead of 8"
