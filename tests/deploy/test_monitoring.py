"""Alert rules and dashboards: their metrics exist, every alert fires when it should."""

from __future__ import annotations

import json
import re
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from gantt.observe import agent_signs
from gantt.observe.launch_signs import LaunchSigns
from gantt.observe.metrics import Meters
from gantt.openstack.meters import CloudMeters
from tests import live
from tests.api.test_metrics import told_by_a_day
from tests.deploy.alerts import FAULTS, HEALTHY, TOGETHER
from tests.deploy.promtool import expect, run
from tests.tidy.source import ROOT

RULES = ROOT / "deploy" / "prometheus" / "gantt.rules.yaml"
BOARDS = sorted((ROOT / "deploy" / "grafana").glob("*.json"))
DOCUMENT = ROOT / "docs" / "how-to" / "monitoring.md"
NAMED = re.compile(r"\b(?:gantt_[a-z0-9_]*[a-z0-9]|up)\b(?=[\s`{\[)]|$)")
# Counters that documents name in full; other words of this kind are files and options.
COUNTERS = re.compile(r"\bgantt_[a-z0-9_]+_total\b")
# What Prometheus itself makes of every address.
ITS_OWN = frozenset({"up"})
WAIT_S = 30.0
ENDINGS = {"counter": ("_total",), "histogram": ("_bucket", "_sum", "_count")}

each_board = pytest.mark.parametrize("path", BOARDS, ids=lambda path: path.stem)
needs_promtool = pytest.mark.server("promtool")


def alerts() -> dict[str, dict[str, Any]]:
    """The rules, by name."""
    groups = yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"]
    listed = [rule for group in groups for rule in group["rules"]]
    found = {rule["alert"]: rule for rule in listed}
    assert len(found) == len(listed), "two alerts have one name"
    return found


def panels(path: Path) -> list[dict[str, Any]]:
    """Of a dashboard, the rows left out."""
    return [one for one in json.loads(path.read_text())["panels"] if "targets" in one]


def expressions(path: Path) -> list[str]:
    return [target["expr"] for one in panels(path) for target in one["targets"]]


def named_in(expression: str) -> set[str]:
    """The metrics of a PromQL expression; labels and strings left out."""
    return set(
        NAMED.findall(re.sub(r'"[^"]*"|\b(by|without)\s*\([^)]*\)', "", expression))
    )


def names_of(exposition: str) -> set[str]:
    """What can be asked for of these families, those without a sample included."""
    return {
        family.name + ending
        for family in text_string_to_metric_families(exposition)
        for ending in ENDINGS.get(family.type, ("",))
    }


def _read(service: live.Live) -> str:
    """What the service answers to Prometheus."""
    with urllib.request.urlopen(f"{service.url}/metrics", timeout=WAIT_S) as answer:
        text: str = answer.read().decode()
        return text


@pytest.fixture(scope="module")
def scraped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """/metrics of ``gantt serve`` with two workers, once one of them leads."""
    folder = tmp_path_factory.mktemp("service")
    options = ("--auth", "noauth2", "--workers", "2")
    service = live.start(
        f"sqlite:///{folder}/gantt.db", folder / "log", options=options
    )
    try:
        deadline = time.monotonic() + WAIT_S
        while not re.search(r"^gantt_leader\{.*\} 1\.0$", text := _read(service), re.M):
            assert time.monotonic() < deadline, "no worker leads"
            time.sleep(0.1)
        yield text
    finally:
        service.kill()


def _labelled() -> set[str]:
    """Metrics of a service that have no series until there is something to count."""
    declared = Meters(dict, lambda: ({}, {})).exposition().decode()
    return {
        family.name + ending
        for family in text_string_to_metric_families(declared)
        if not family.samples
        for ending in ENDINGS.get(family.type, ("",))
    }


@pytest.fixture(scope="module")
def existing(scraped: str) -> set[str]:
    """The metrics of all programs."""
    kept = {**agent_signs.COUNTERS, **agent_signs.GAUGES}
    agent = agent_signs.AgentSigns(lambda: dict.fromkeys(kept, 0.0))
    cloud = CloudMeters(dict)
    others = (agent.metrics(), cloud.exposition(), LaunchSigns().metrics())
    found = names_of(scraped) | _labelled()
    return found.union(*(names_of(one.decode()) for one in others))


@needs_promtool
def test_promtool_accepts_the_rules() -> None:
    run("check", "rules", str(RULES))


def test_every_alert_says_what_is_wrong_and_what_to_do() -> None:
    for name, rule in alerts().items():
        assert rule["labels"]["severity"] in {"critical", "warning"}, name
        assert set(rule["annotations"]) == {"summary", "runbook"}, name
        assert all(text.endswith(".") for text in rule["annotations"].values()), name


def test_every_alert_has_a_case_and_every_metric_a_healthy_series() -> None:
    assert set(alerts()) == set(FAULTS)
    named = set().union(*(named_in(rule["expr"]) for rule in alerts().values()))
    assert named == {series.partition("{")[0] for series in HEALTHY}


@needs_promtool
@pytest.mark.parametrize("name", FAULTS)
def test_an_alert_fires_alone(name: str, tmp_path: Path) -> None:
    firing = {name, *TOGETHER.get(name, ())}
    fires = 'count(count by (alertname) (ALERTS{alertname="%s",alertstate="firing"}))'
    expected = {fires % one: True for one in firing}
    others = "|".join(sorted(firing))
    expected[f'ALERTS{{alertname!~"{others}"}}'] = False
    expect(tmp_path, RULES, {**HEALTHY, **FAULTS[name]}, expected)


@needs_promtool
def test_no_alert_fires_where_all_is_well(tmp_path: Path) -> None:
    expect(tmp_path, RULES, HEALTHY, {"ALERTS": False, "count(up)": True})


@needs_promtool
def test_no_alert_fires_on_a_running_service(scraped: str, tmp_path: Path) -> None:
    named = set().union(*(named_in(rule["expr"]) for rule in alerts().values()))
    series = {
        _series(sample.name, sample.labels): f"{sample.value:g}x60"
        for family in text_string_to_metric_families(scraped)
        for sample in family.samples
        if sample.name in named
    }
    assert len(series) > 20
    expect(tmp_path, RULES, series, {"ALERTS": False, "count(gantt_queue_limit)": True})


def _series(name: str, labels: dict[str, str]) -> str:
    told = {**labels, "job": "gantt", "instance": "here"}
    return name + "{" + ",".join(f"{k}={json.dumps(v)}" for k, v in told.items()) + "}"


def test_every_metric_of_the_alerts_exists(existing: set[str]) -> None:
    for name, rule in alerts().items():
        missing = named_in(rule["expr"]) - existing - ITS_OWN
        assert not missing, f"{name}: {missing}"


@each_board
def test_every_metric_of_a_dashboard_exists(path: Path, existing: set[str]) -> None:
    for expression in expressions(path):
        named = named_in(expression)
        assert named and named <= existing | ITS_OWN, expression


def test_every_value_of_a_label_that_is_asked_for_is_told() -> None:
    """Of alerts and dashboards: an alert on a state that never comes would be mute."""
    told = {
        (sample.name, *label)
        for family in text_string_to_metric_families(told_by_a_day())
        for sample in family.samples
        for label in sample.labels.items()
    }
    asked = {
        (name, label, value)
        for one in (
            *(rule["expr"] for rule in alerts().values()),
            *(each for path in BOARDS for each in expressions(path)),
        )
        for name, within in re.findall(r"(\w+)\{([^}]*)\}", one)
        for label, value in re.findall(r'(\w+)="([^"]*)"', within)
    }
    assert ("gantt_schedule_total", "outcome", "no_valid_host") in asked
    assert asked <= told


@each_board
def test_a_dashboard_has_its_ids_and_asks_the_chosen_source(path: Path) -> None:
    board = json.loads(path.read_text())
    variables = {one["name"]: one for one in board["templating"]["list"]}
    assert variables["datasource"]["type"] == "datasource"
    assert variables["datasource"]["query"] == "prometheus"
    chosen = {"type": "prometheus", "uid": "${datasource}"}
    asking = [one for one in variables.values() if one["type"] == "query"]
    assert all(one["datasource"] == chosen for one in (*panels(path), *asking))
    ids = [one["id"] for one in board["panels"]]
    assert len(ids) == len(set(ids))
    assert all(one["title"] and one["description"] for one in panels(path))
    assert not _overlapping(board["panels"])


def _overlapping(listed: list[dict[str, Any]]) -> list[str]:
    """Titles of panels that take a cell of the grid that another has."""
    taken: set[tuple[int, int]] = set()
    found = []
    for one in listed:
        at = one["gridPos"]
        rows = range(at["y"], at["y"] + at["h"])
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in rows}
        if cells & taken or at["x"] + at["w"] > 24:
            found.append(one["title"])
        taken |= cells
    return found


def test_dashboards_have_names_of_their_own() -> None:
    boards = [json.loads(path.read_text()) for path in BOARDS]
    for key in ("uid", "title"):
        assert len({one[key] for one in boards}) == len(boards) > 0


@needs_promtool
def test_promtool_accepts_the_configuration_of_the_document(tmp_path: Path) -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    found = re.findall(r"^```yaml\n(.*?)^```", text, re.M | re.S)
    assert len(found) == 1
    there = "/etc/prometheus/gantt.rules.yaml"
    assert there in found[0]
    file = tmp_path / "prometheus.yml"
    file.write_text(found[0].replace(there, str(RULES)))
    run("check", "config", str(file))
    jobs = yaml.safe_load(found[0])["scrape_configs"]
    assert all(one["job_name"].startswith("gantt") for one in jobs)


@needs_promtool
def test_promtool_accepts_every_expression_of_the_dashboards(tmp_path: Path) -> None:
    filled = [
        re.sub(r"\$__rate_interval", "5m", one).replace("$job", ".*")
        for path in BOARDS
        for one in expressions(path)
    ]
    rules = [
        {"record": f"panel:{number}", "expr": one} for number, one in enumerate(filled)
    ]
    file = tmp_path / "panels.yaml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}))
    run("check", "rules", str(file))


def test_every_counter_that_a_document_names_exists(existing: set[str]) -> None:
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))):
        text = path.read_text(encoding="utf-8")
        missing = set(COUNTERS.findall(text)) - existing
        assert not missing, f"{path.name}: {missing}"
        shortened = {
            one for one in NAMED.findall(text) if f"{one}_total" in existing - {one}
        }
        assert not shortened, f"{path.name}: {shortened} lack _total"


def test_what_pages_at_night_is_what_the_guide_says() -> None:
    text = (ROOT / "docs/how-to/run-in-production.md").read_text(encoding="utf-8")
    table = text.split("| pages | first of all |\n")[1].split("\n\n")[0]
    critical = {
        name
        for name, one in alerts().items()
        if one["labels"]["severity"] == "critical"
    }
    assert set(re.findall(r"`(Gantt\w+)`", table)) == critical
    block = text.split("```yaml\n")[1].split("```")[0]
    (way,) = yaml.safe_load(block)["route"]["routes"]
    pattern, severity = (one.split('"')[1] for one in way["matchers"])
    assert way["receiver"] == "pager"
    woken = {
        name
        for name, one in alerts().items()
        if re.fullmatch(pattern, name) and one["labels"]["severity"] == severity
    }
    assert woken == critical


def test_the_document_has_every_alert_and_every_dashboard() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(Gantt\w+)` \| (\w+) \| .+ \| (.+) \|$", text, re.M)
    assert rows == [
        (name, rule["labels"]["severity"], rule["annotations"]["runbook"])
        for name, rule in alerts().items()
    ]
    for path in BOARDS:
        assert f"`{path.name}`" in text
