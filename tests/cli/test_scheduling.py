"""``gantt select``, ``explain``, ``capacity``, ``host`` and ``claim``."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from msgspec.structs import replace

from gantt.cli.flavor import flavor
from gantt.cli.main import gantt
from gantt.client.remote import RemoteGantt
from gantt.model.hosts import HostAggregate
from gantt.store import schema
from tests import inprocess
from tests.cli.conftest import Program

SIZE = "vcpus=2,memory_mb=4096,disk_gb=20"
REPORT = (
    "vcpus=8",
    "memory_mb=16384",
    "local_gb=100",
    "vcpus_used=0",
    "memory_mb_used=0",
    "local_gb_used=0",
    "free_ram_mb=16384",
    "free_disk_gb=100",
    "hypervisor_type=QEMU",
    'supported_instances=[["x86_64", "kvm", "hvm"]]',
    "cpu_allocation_ratio=1.0",
)


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Program]:
    """The program against a service of its own with two hosts."""
    with inprocess.service(tmp_path) as url:
        program = Program(gantt, url)
        for host in ("one", "two"):
            program.do("host", "update", host, *REPORT)
        yield program


def test_select_claims_for_new_instances(fleet: Program) -> None:
    lines = fleet.do("select", "--flavor", SIZE, "--count", "2").splitlines()
    assert lines[0].split() == [
        "instance", "choice", "host", "node", "availability_zone", "claim", "age_s",
    ]  # fmt: skip
    assert {line.split()[2] for line in lines[1:]} == {"one", "two"}
    assert {line.split()[1] for line in lines[1:]} == {"chosen"}
    hosts = fleet.ask("host", "list")
    assert [one["claimed"]["vcpus"] for one in hosts] == [2, 2]


def test_select_for_given_instances(fleet: Program) -> None:
    uuids = [str(uuid4()) for _ in range(2)]
    given = [word for uuid in uuids for word in ("--instance", uuid)]
    found = fleet.ask("select", "--flavor", SIZE, *given)
    assert [one["instance"] for one in found] == uuids
    assert found[0]["selections"][0]["claim"]
    text = fleet.do("select", "--flavor", SIZE, "--no-alternates", "-o", "csv")
    (row,) = csv.DictReader(io.StringIO(text))
    assert row["choice"] == "chosen"
    assert row["host"] in {"one", "two"}


def test_claims_are_confirmed_and_released(fleet: Program) -> None:
    found = fleet.ask("select", "--flavor", SIZE, "--lease", "60")
    claim = found[0]["selections"][0]["claim"]
    assert fleet.do("claim", "confirm", claim) == ""
    fleet.do("claim", "release", claim)
    assert "holds nothing" in fleet.fail("claim", "release", claim)
    assert "holds nothing" in fleet.fail("claim", "confirm", claim)


@pytest.mark.parametrize("lease", ["nan", "inf", "0", "-1", "1e400", "86401"])
@pytest.mark.parametrize("is_far", [True, False])
def test_invalid_lease_is_refused(
    fleet: Program, tmp_path: Path, lease: str, is_far: bool
) -> None:
    program = fleet
    if not is_far:
        program = Program(gantt, f"sqlite:///{tmp_path}/own.db")
        schema.sync(program.url)
    told = program.fail("select", "--flavor", SIZE, f"--lease={lease}")
    assert "lease must be a number of seconds above 0 and at most 86400" in told


def test_dry_run_shows_filters_and_scores(fleet: Program) -> None:
    text = fleet.do("select", "--flavor", SIZE, "--dry-run")
    assert "dry run: nothing is claimed" in text
    assert "ComputeFilter" in text
    assert "RAMWeigher" in text
    assert fleet.ask("select", "--flavor", SIZE, "--dry-run")["is_dry_run"] is True
    scores = fleet.do("select", "--flavor", SIZE, "--dry-run", "-o", "csv")
    assert {row["host"] for row in csv.DictReader(io.StringIO(scores))} == {
        "one",
        "two",
    }
    assert all(one["claimed"] == {} for one in fleet.ask("host", "list"))


def test_no_valid_host_is_printed_with_reasons(fleet: Program) -> None:
    huge = "vcpus=2,memory_mb=99999,disk_gb=20"
    said = fleet.fail("select", "--flavor", huge)
    assert said.startswith("Error: No valid host was found.\n\nfilter")
    assert "0 of 16 GiB MEMORY_MB in use (97.7 GiB asked)" in said
    assert "This would help: ask for 16 GiB instead of 97.7 GiB MEMORY_MB." in said
    result = fleet.run("select", "--flavor", huge, "-o", "json")
    assert result.exit_code == 1
    why = json.loads(result.stdout)["why"]
    assert {near["host"] for near in why["nearest"]} == {"one", "two"}
    assert "This would help" in fleet.do("select", "--flavor", huge, "--dry-run")


def test_request_is_read_from_a_file(fleet: Program, tmp_path: Path) -> None:
    file = tmp_path / "spec.json"
    size = {"vcpus": 1, "memory_mb": 512, "root_gb": 1}
    file.write_text(json.dumps({"flavor": size, "num_instances": 2}))
    assert len(fleet.ask("select", "--spec", str(file), "--project", "blue")) == 2
    file.write_text(json.dumps({"instance_type": size}))
    assert len(fleet.ask("select", "--spec", str(file))) == 1
    file.write_text("[]")
    assert "must hold a JSON object" in fleet.fail("select", "--spec", str(file))
    file.write_text('{"flavor": {}, "colour": 1}')
    assert "colour" in fleet.fail("select", "--spec", str(file))
    assert "cannot be read" in fleet.fail("select", "--spec", str(tmp_path / "none"))


def test_select_in_a_zone(fleet: Program) -> None:
    zone = HostAggregate(
        str(uuid4()), "z", 1, frozenset({"two"}), {"availability_zone": "z2"}
    )
    RemoteGantt(fleet.url).set_host_aggregates([zone])
    (found,) = fleet.ask("select", "--flavor", SIZE, "--zone", "z2")
    (only,) = found["selections"]
    assert (only["service_host"], only["availability_zone"]) == ("two", "z2")


@pytest.mark.parametrize(
    "words",
    [
        ["--flavor", SIZE, "--spec", "-"],
        [],
        ["--flavor", "vcpus"],
        ["--flavor", "vcpus=two"],
        ["--flavor", "colour=1"],
        ["--flavor", SIZE, "--count", "0"],
        ["--flavor", SIZE, "--count", "1", "--instance", "x"],
        ["--flavor", f"vcpus={2**31}"],
        ["--flavor", "vcpus=1", "--count", str(2**31)],
    ],
)
def test_select_usage_errors(cli: Program, words: list[str]) -> None:
    cli.fail("select", *words, status=2)


def test_flavor_may_have_extra_specs() -> None:
    found = flavor("vcpus=1,ram=2,ephemeral_gb=3,swap=4,name=tiny,hw:cpu_policy=shared")
    assert (found.vcpus, found.memory_mb, found.root_gb) == (1, 2, 0)
    assert (found.ephemeral_gb, found.swap, found.name) == (3, 4, "tiny")
    assert found.extra_specs == {"hw:cpu_policy": "shared"}


def test_explain_by_instance_and_by_request(fleet: Program) -> None:
    uuid = str(uuid4())
    fleet.do("select", "--flavor", SIZE, "--instance", uuid)
    (record,) = fleet.ask("explain", uuid)
    text = fleet.do("explain", record["request_id"])
    assert record["request_id"] in text
    assert uuid in text
    assert "ComputeFilter" in text
    (row,) = csv.DictReader(io.StringIO(fleet.do("explain", uuid, "-o", "csv")))
    assert row["instances"] == uuid
    assert "no record of a decision" in fleet.fail("explain", "nobody")


def test_dry_run_can_be_explained(fleet: Program) -> None:
    said = fleet.ask("select", "--flavor", SIZE, "--dry-run")
    (record,) = fleet.ask("explain", said["request_id"])
    assert record["is_dry_run"] is True
    assert record == said
    text = fleet.do("explain", said["request_id"])
    assert "(dry run: nothing is claimed)" in text


def test_capacity_of_several_flavors(fleet: Program) -> None:
    text = fleet.do("capacity", SIZE, "vcpus=99")
    row = text.splitlines()[1].split()
    assert row == [SIZE, "8", "2", *"MEMORY_MB on 2, VCPU on 2".split()]
    assert "This would help: " in text
    found = fleet.ask("capacity", SIZE)
    assert found[0]["flavor"] == SIZE
    assert found[0]["hosts"] == {"one": 4, "two": 4}
    assert found[0]["limits"] == {"MEMORY_MB": 2, "VCPU": 2}
    assert len(fleet.do("capacity", SIZE).splitlines()) == 2, "one number, one line"
    whole = fleet.do("capacity", SIZE, "--hosts").splitlines()
    assert [line.split() for line in whole[3:6]] == [
        ["host", "more"],
        ["one", "4"],
        ["two", "4"],
    ]
    assert any("ComputeFilter" in line for line in whole)
    for wrong in ("--fair", "--price", "--runs-out"):
        said = fleet.fail("capacity", SIZE, "--hosts", wrong, status=2)
        assert "--hosts goes with the plain count alone" in said


NAMED = """
[gantt]
usual_flavors = 9xname=small,vcpus=2,memory_mb=4096,disk_gb=20
usual_flavors = name=large,vcpus=8,memory_mb=16384
usual_flavors = vcpus=1
"""


@pytest.fixture
def naming(tmp_path: Path) -> Iterator[Program]:
    """The program against a service with a host and flavors of its configuration."""
    with inprocess.service(tmp_path, configured=NAMED) as url:
        program = Program(gantt, url)
        program.do("host", "update", "one", *REPORT)
        yield program


def test_capacity_of_flavors_that_the_configuration_names(naming: Program) -> None:
    found = naming.ask("capacity", "--flavor", "small", "--flavor", "large")
    assert [(one["flavor"], one["hosts"]) for one in found] == [
        ("small", {"one": 4}),
        ("large", {"one": 1}),
    ]
    assert naming.ask("capacity", "small")[0]["hosts"] == {"one": 4}
    both = naming.ask("capacity", "--fair", "large", SIZE)["splits"][0]["shares"]
    assert [one["flavor"] for one in both] == ["large", SIZE]
    (place,) = naming.ask("select", "--flavor", "small")
    assert place["selections"][0]["service_host"] == "one"
    assert naming.ask("host", "list")[0]["claimed"]["vcpus"] == 2


@pytest.mark.parametrize("question", [[], ["--fair"], ["--runs-out"]])
def test_a_what_if_takes_flavors_by_name(
    naming: Program, tmp_path: Path, question: list[str]
) -> None:
    """From its copy, which gets its history afterwards."""
    file = tmp_path / "what-if.toml"
    file.write_text("")
    words = ("capacity", *question, "--flavor", "large", "--what-if", str(file))
    assert "large" in naming.do(*words)


def test_an_unknown_name_of_a_flavor_is_answered_by_those_that_there_are(
    naming: Program, cli: Program
) -> None:
    for words in (["capacity"], ["select"], ["launch"]):
        last = ["--", "true"] if words == ["launch"] else []
        said = naming.fail(*words, "--flavor", "huge", *last, status=2)
        assert (
            "'huge' is not a flavor of the configuration: there are small, large."
            in (" ".join(said.split()))
        )
    assert "names none" in cli.fail("capacity", "small", status=2)


def test_capacity_of_a_zone(fleet: Program) -> None:
    north = HostAggregate("1" * 8 + "-1111-4111-8111-" + "1" * 12, "north", 1)
    facts = {"availability_zone": "north"}
    books = RemoteGantt(fleet.url, token="admin")
    books.set_host_aggregates(
        [replace(north, hosts=frozenset({"one"}), metadata=facts)]
    )
    (found,) = fleet.ask("capacity", SIZE, "--zone", "north")
    assert found["hosts"] == {"one": 4}
    (share,) = fleet.ask("capacity", SIZE, "--zone", "north", "--fair")["splits"][0][
        "shares"
    ]
    assert share["more"] == 4
    assert fleet.ask("capacity", SIZE, "--zone", "north", "--price")[0]["total"] == 4
    said = fleet.fail("capacity", "--runs-out", "--zone", "north", status=2)
    assert "--by zone" in said


def test_capacity_as_csv(fleet: Program) -> None:
    rows = list(csv.reader(io.StringIO(fleet.do("capacity", SIZE, "-o", "csv"))))
    assert rows == [["flavor", "host", "more"], [SIZE, "one", "4"], [SIZE, "two", "4"]]


def test_hosts_are_listed_shown_updated_and_deleted(
    fleet: Program, tmp_path: Path
) -> None:
    lines = fleet.do("host", "list").splitlines()
    assert lines[1].split()[:4] == ["one", "one", "no", "service"]
    assert "0/8" in lines[1]
    file = tmp_path / "stats.json"
    file.write_text('{"running_vms": 3, "vcpus_used": 6}')
    words = ["host", "update", "one", "--stats", str(file), "host_ip=192.0.2.1"]
    found = fleet.ask(*words)
    assert found["stats"]["running_vms"] == 3
    assert found["stats"]["host_ip"] == "192.0.2.1"
    assert "stats.vcpus_used" in fleet.do("host", "show", "one", "one")
    assert fleet.ask("host", "show", "one") == found
    fleet.do("host", "update", "one", "vcpus=4", "--node", "second")
    assert "several nodes" in fleet.fail("host", "show", "one")
    fleet.do("host", "delete", "one", "second")
    fleet.do("host", "delete", "one")
    assert "There is no host 'one'" in fleet.fail("host", "delete", "one")
    assert "node 'x'" in fleet.fail("host", "show", "two", "x")


def test_invalid_reports_name_the_field(fleet: Program) -> None:
    assert "colour" in fleet.fail("host", "update", "one", "colour=red")
    assert "stats.vcpus" in fleet.fail("host", "update", "one", "vcpus=many")
    fleet.fail("host", "update", "one", status=2)
    fleet.fail("host", "update", "one", "vcpus", status=2)


def test_what_hosts_are_to_report(fleet: Program) -> None:
    lines = fleet.do("host", "needs")
    assert "IoOpsWeigher" in lines and "vcpus_used" in lines
    found = fleet.ask("host", "needs")
    assert found["readers"]["IoOpsWeigher"] == ["stats.io_workload"]
    assert set(found) == {"columns", "everything", "readers", "digest"}


def test_flavors_counted_together(fleet: Program) -> None:
    flavors = (f"name=a,{SIZE}", f"name=b,{SIZE}")
    found = fleet.ask("capacity", "--fair", *flavors, "--mix", "a=3")
    shares = {one["flavor"]: one for one in found["splits"][0]["shares"]}
    alone = shares["a"]["alone"]
    assert shares["a"]["more"] + shares["b"]["more"] == alone
    assert shares["a"]["more"] > shares["b"]["more"]
    text = fleet.do("capacity", "--fair", *flavors, "--by", "zone")
    assert "zone nova:" in text and "blocked by, on hosts" in text
    rows = list(csv.reader(io.StringIO(fleet.do("capacity", "--fair", SIZE, "-ocsv"))))
    assert rows[0] == ["by", "flavor", "more", "alone", "weight", "blocked_by"]
    assert rows[1][2:4] == [str(alone)] * 2
    for wrong in (("--by", "zone"), ("--mix", "a=1"), ("--fair", "--runs-out")):
        assert "--fair" in fleet.fail("capacity", SIZE, *wrong, status=2)
    assert "Name a flavor" in fleet.fail("capacity", status=2)
    for mix in ("c=1", "a=x"):
        refusal = fleet.fail("capacity", "--fair", *flavors, "--mix", mix, status=2)
        assert f"--mix '{mix}'" in refusal


def test_prices_of_rules(fleet: Program) -> None:
    asked = f"name=a,{SIZE},trait:COMPUTE_NODE=required"
    (found,) = fleet.ask("capacity", "--price", asked)
    prices = {one["name"]: one for one in found["prices"]}
    assert (found["flavor"], found["total"]) == ("a", 0)
    assert prices["required"]["more"] == fleet.ask("capacity", SIZE)[0]["total"]
    text = fleet.do("capacity", "--price", asked)
    assert "a: 0 fit" in text and "ask without trait COMPUTE_NODE" in text
    rows = list(
        csv.reader(io.StringIO(fleet.do("capacity", "--price", asked, "-ocsv")))
    )
    assert rows[0] == ["flavor", "kind", "rule", "more"]


def test_days_ahead_are_for_forecasts(fleet: Program) -> None:
    for words in ((), ("--fair",), ("--price",)):
        said = fleet.fail("capacity", f"name=a,{SIZE}", *words, "--days", "9", status=2)
        assert "--days: how far --runs-out looks ahead; add --runs-out." in said


def test_when_it_runs_out(fleet: Program) -> None:
    (found,) = fleet.ask("capacity", "--runs-out", f"name=a,{SIZE}")["outlooks"]
    assert (found["name"], found["state"]) == ("a", "too little history")
    text = fleet.do("capacity", "--runs-out", f"name=a,{SIZE}", "--by", "zone")
    assert "0.0 days of the usage history" in text and "nova" in text
    rows = list(csv.reader(io.StringIO(fleet.do("capacity", "--runs-out", "-ocsv"))))
    assert rows[0][:4] == ["where", "kind", "name", "left"]
