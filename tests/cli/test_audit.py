"""``gantt audit``: what it lists, its exit status, a dry run, and repairs; in process
and over HTTP. The host is a recorded tree whose agent lists what runs there."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import gantt
from gantt.cli.main import gantt as program
from gantt.engine.commit.committer import Committer
from gantt.errors import Unavailable
from gantt.model.commands import Repair
from tests import inprocess
from tests.agent.trees import Tree
from tests.cli.conftest import Program

A, B = (f"0000000{n}-aaaa-4000-8000-000000000000" for n in (1, 2))
NOW = ("audit", "--grace", "0")


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    tree = Tree(tmp_path / "tree")
    run(tree, A)
    return tree


@pytest.fixture(params=["in process", "over http"])
def cli(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Program]:
    url = f"sqlite:///{tmp_path / 'gantt.db'}"
    gantt.connect(url, create=True).close()
    if request.param == "in process":
        yield Program(program, url)
        return
    with inprocess.service(tmp_path, url) as address:
        yield Program(program, address)


def run(tree: Tree, instance: str) -> None:
    tree.write("proc/20/environ", f"GANTT_INSTANCE={instance}\0GANTT_VCPUS=2\0")
    tree.write("proc/20/status", "Name:\tit\nCpus_allowed_list:\t0-15\n")


def report(cli: Program, tree: Tree) -> None:
    words = ("--root", str(tree.root), "--host", "far", "--workloads", "processes")
    cli.do("agent", "--once", *words)


def allocate(cli: Program, instance: str) -> None:
    (host,) = [one for one in cli.ask("host", "list") if one["host"] == "far"]
    provider = cli.ask("provider", "list")[0]["uuid"]
    assert host["instances"] <= 1
    cli.do(
        "allocation",
        "set",
        instance,
        f"{provider}:VCPU=2",
        "--project",
        "blue",
        "--user",
        "ann",
    )


def test_an_orphan_is_found_and_healed(cli: Program, tree: Tree) -> None:
    report(cli, tree)
    allocate(cli, A)
    assert cli.ask(*NOW)["findings"] == [], "what is claimed runs"
    shutil.rmtree(tree.root / "proc/20")
    report(cli, tree)
    cli.do("audit")  # not yet: it may be about to start
    result = cli.run(*NOW)
    assert result.exit_code == 1
    assert "no_workload" in result.stdout and A in result.stdout
    assert "known of 1 of 1 host" in result.stderr

    dry = cli.run(*NOW, "--heal")
    assert dry.exit_code == 1 and "Nothing was changed" in dry.stderr
    assert cli.run(*NOW).exit_code == 1, "a dry run repairs nothing"

    healed = cli.run(*NOW, "--heal", "--yes")
    assert (healed.exit_code, A in healed.stdout) == (0, True)
    assert "1 of 1 finding repaired" in healed.stderr
    assert cli.do(*NOW)
    assert "2" not in [str(one) for one in cli.ask("usage", "show", "far")]
    told = cli.run("explain", A)
    if cli.url.startswith("http"):
        assert "Repaired (no_workload of host far" in told.stdout
        assert "VCPU" in told.stdout


def test_what_runs_unclaimed_is_found_and_stays(cli: Program, tree: Tree) -> None:
    report(cli, tree)
    run(tree, B)
    report(cli, tree)
    found = cli.run(*NOW, "-o", "json")
    assert found.exit_code == 1 and '"no_claim"' in found.stdout
    assert cli.run(*NOW, "--kind", "inventory_drift").exit_code == 0
    near = cli.run(*NOW, "--host", "near")
    assert (near.exit_code, "host 'near' is not known here" in near.stderr) == (1, True)
    assert cli.run(*NOW, "--host", "near", "--kind", "inventory_drift").exit_code == 1
    assert cli.run(*NOW, "--host", "far", "--kind", "no_claim").exit_code == 1
    healed = cli.run(*NOW, "--heal", "--yes")
    assert (healed.exit_code, "0 of 1 finding " in healed.stderr) == (1, True)


def test_what_could_not_be_compared_is_told(cli: Program, tree: Tree) -> None:
    words = ("--root", str(tree.root), "--host", "far", "--workloads", "none")
    cli.do("agent", "--once", *words)
    found = cli.run("audit")
    why = "known of 0 of 1 host; not of 1 (neither an agent nor a cell tells all"
    assert (found.exit_code, why in found.stderr) == (3, True)
    assert cli.ask("audit", "--kind", "inventory_drift")["audit"]["silent"] == {
        "no_list": 1
    }


def test_hosts_that_are_gone_are_repaired_where_named_alone(
    cli: Program, tree: Tree
) -> None:
    """A provider without a host may be one of a compute that does not report here."""
    report(cli, tree)
    pool = cli.ask("provider", "create", "compute9")["uuid"]
    cli.do("inventory", "set", pool, "VCPU=4")
    words = ("--project", "blue", "--user", "ann")
    cli.do("allocation", "set", B, f"{pool}:VCPU=2", *words)
    found = cli.run(*NOW, "--kind", "host_gone")
    assert (found.exit_code, B in found.stdout) == (1, True)
    left = cli.run(*NOW, "--heal", "--yes")
    assert (left.exit_code, "name --kind host_gone" in left.stderr) == (1, True)
    assert B not in left.stdout
    assert cli.run(*NOW, "--kind", "host_gone").exit_code == 1, "nothing was removed"
    cli.run(*NOW, "--kind", "host_gone", "--heal", "--yes")
    assert cli.run(*NOW, "--kind", "host_gone").exit_code == 0


@pytest.fixture
def orphans(cli: Program, tree: Tree) -> Program:
    """A and B have allocations on the host, and it lists neither."""
    report(cli, tree)
    for one in (A, B):
        allocate(cli, one)
    shutil.rmtree(tree.root / "proc/20")
    report(cli, tree)
    return cli


def test_what_is_beyond_the_limit_is_no_success(orphans: Program) -> None:
    assert orphans.run(*NOW, "--limit", "1", "--heal").exit_code == 1
    one = orphans.run(*NOW, "--limit", "1", "--heal", "--yes")
    assert (one.exit_code, "1 of 1 finding " in one.stderr) == (1, True)
    rest = orphans.run(*NOW, "--limit", "1", "--heal", "--yes")
    assert (rest.exit_code, "1 of 1 finding " in rest.stderr) == (0, True)


def test_what_was_repaired_before_the_service_went_is_told(
    orphans: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = Committer.submit
    repairs: list[object] = []

    def submit(committer: Any, command: Any, *more: Any) -> Any:
        if isinstance(command, Repair):
            repairs.append(command)
            if len(repairs) > 1:
                raise Unavailable("The store is away.")
        return kept(committer, command, *more)

    monkeypatch.setattr(Committer, "submit", submit)
    result = orphans.run(*NOW, "--heal", "--yes")
    assert (result.exit_code, "Error: The s" in result.stderr) == (1, True)
    assert (A in result.stdout, B in result.stdout) == (True, False)
    assert "1 of 2 findings repaired" in result.stderr


def test_odd_words_are_refused(cli: Program) -> None:
    assert "--heal" in cli.fail("audit", "--yes", status=2)
    cli.fail("audit", "--grace", "-1", status=2)
    cli.fail("audit", "--limit", "0", status=2)
    cli.fail("audit", "--kind", "colour", status=2)
