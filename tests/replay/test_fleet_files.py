"""Fleets from words and files."""

from __future__ import annotations

from pathlib import Path

import pytest

from gantt.errors import Invalid
from gantt.model.answers import Inventory
from gantt.replay.fleet_files import fleet_of
from gantt.replay.machines import Machine, build


def test_words_describe_hosts_that_are_alike() -> None:
    found = fleet_of(
        ("2xvcpus=8,memory_mb=1024,zone=a,cpu_ratio=4", "1xvcpus=2,CUSTOM_X=3,trait=T")
    )
    assert [one.name for one in found] == ["host-1", "host-2", "host-3"]
    assert found[0].inventories["VCPU"].allocation_ratio == 4
    assert found[0].inventories["MEMORY_MB"].total == 1024
    assert (found[0].zone, found[2].zone) == ("a", None)
    assert found[2].inventories["CUSTOM_X"].total == 3
    assert found[2].traits == ("T",)


def test_a_file_lists_machines_with_parts(tmp_path: Path) -> None:
    path = tmp_path / "fleet.json"
    path.write_text(
        '[{"name": "a", "inventories": {"VCPU": 4}, "parts": '
        '[{"name": "gpu0", "inventories": {"CUSTOM_GPU": {"total": 1}}}]}]'
    )
    (found,) = fleet_of((str(path),))
    assert found.inventories["VCPU"].total == 4
    assert found.parts[0].inventories["CUSTOM_GPU"].total == 1


@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("3xvcpus=none", "needs a number"),
        ("3xvcpus=0", "needs a number"),
        ("3xvcpus=nan", "needs a number"),
        ("3xcores=4", "'cores=4' is not known"),
        ("9999999xvcpus=1", "at most 1,000,000"),
        ("fleet.json", "no file that can be read"),
    ],
)
def test_words_that_mean_nothing_are_refused(word: str, told: str) -> None:
    with pytest.raises(Invalid, match=told):
        fleet_of((word,))


@pytest.mark.parametrize("text", ["{}", "[1]", '[{"name": 1}]', "[", '[{"name": "a"}]'])
def test_a_file_of_another_kind_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "fleet.json"
    path.write_text(text)
    with pytest.raises(Invalid, match="must hold a list of machines"):
        fleet_of((str(path),))


def test_two_machines_of_one_name_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "fleet.json"
    path.write_text('[{"name": "host-1", "inventories": {}}]')
    with pytest.raises(Invalid, match="Machine 2 of the fleet is called 'host-1'"):
        fleet_of(("1xvcpus=1", str(path)))


@pytest.mark.parametrize(
    ("second", "told"),
    [
        ('{"name": "b"}', "[1] 'b': Object missing required field `inventories`"),
        ('{"name": 1, "inventories": {}}', "[1] 1: Expected `str`"),
        (
            '{"name": "b", "inventories": {"VCPU": "4"}}',
            "[1] 'b': inventories[\"VCPU\"] is '4'",
        ),
        (
            '{"name": "b", "inventories": {}, "parts": [{"name": "gpu", "inventories": '
            '{"CUSTOM_GPU": {"totl": 1}}}]}',
            "[1] 'b': inventories[\"CUSTOM_GPU\"] is {'totl': 1}",
        ),
        ('{"name": "b", "inventories": {}, "parts": 3}', "[1] 'b': "),
    ],
)
def test_a_file_that_is_wrong_names_the_machine(
    tmp_path: Path, second: str, told: str
) -> None:
    path = tmp_path / "fleet.json"
    path.write_text(f'[{{"name": "a", "inventories": {{}}}}, {second}]')
    with pytest.raises(Invalid, match="Write|must hold a list") as refused:
        fleet_of((str(path),))
    assert f"fleet.json: {told}" in refused.value.message


@pytest.mark.parametrize(
    ("machine", "told"),
    [
        (Machine("m", {"FOO": Inventory(1)}), "m: No such resource class FOO: name"),
        (Machine("m", {}, ("NO",)), "m: No such trait NO: name one that there is"),
        (Machine("m", {"VCPU": Inventory(-1)}), "m: Invalid inventory for 'VCPU'"),
    ],
)
def test_a_machine_that_cannot_be_is_named(machine: Machine, told: str) -> None:
    with pytest.raises(Invalid) as refused:
        build((Machine("first", {"VCPU": Inventory(1)}), machine))
    assert refused.value.message.startswith(told)
