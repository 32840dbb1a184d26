"""Files of reports, and the page and the tables that show them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from unittest import mock
from xml.etree import ElementTree

import msgspec
import pytest
from click.testing import CliRunner

from bench import __main__ as program
from bench import document
from bench.report import Kept, Row, kept, timed
from gantt import __version__
from gantt.bench import bench_report as reports
from gantt.bench.bench_report import BenchReport, ComparisonResult, LeftOut
from gantt.bench.comparison import Comparison, Measured, TimeRatio
from gantt.bench.machine_facts import BenchMachine
from gantt.bench.page import page
from gantt.bench.path_profile import PathProfile
from gantt.bench.paths import profiles
from gantt.cli.bench_text import paragraphs
from gantt.cli.main import gantt
from gantt.errors import Invalid

EVIL = '<script>alert("1")</script>'


def measured(side: str, median_s: float) -> Measured:
    times = (median_s, median_s / 2, median_s * 2, median_s / 3, median_s * 3)
    return Measured(side, 9, 9, *times, 1 / median_s, median_s, "fleet", "asked")


def result(size: int, refused: str = "") -> ComparisonResult:
    times = None if refused else 50.0
    return ComparisonResult(
        f"flat, {size} hosts",
        Comparison("flat", size, "stream", ("gantt", "nova"), 3, 3),
        [measured("gantt", 0.001), measured("nova", 0.05 * size / 1000)],
        [TimeRatio("nova", "gantt", times, times, times, refused)],
        [LeftOut("plain", EVIL)],
    )


def report(**changes: object) -> BenchReport:
    made = BenchReport(
        version="1.2.3",
        command=f"gantt bench {EVIL}",
        began="2026-01-01T00:00:00+00:00",
        machine=BenchMachine(2, EVIL, 24, "Linux", "3.11", "3.40", {"numpy": "2.0"}),
        load_before=(0.1, 0.2, 0.3),
        load_after=(1.0, 2.0, 3.0),
        left_out=[LeftOut("placement", "not installed")],
        results=[result(1_000), result(10_000, refused="they held different fleets")],
        paths=[PathProfile("select", 9, 0.002, 0.001, {"commit": 0.002, "x": 0.0})],
    )
    return msgspec.structs.replace(made, **changes)


def test_a_report_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "report.json"
    reports.write(report(), path)
    assert reports.read(path) == report()


def test_a_newer_format_names_the_version_that_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    reports.write(report(format=99, version="9.9"), path)
    with pytest.raises(Invalid, match=r"format 99.*Gantt 9\.9 or newer"):
        reports.read(path)


@pytest.mark.parametrize("text", ["", "{}", '{"kind": "gantt bench"}', "\xff"])
def test_other_files_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "report.json"
    path.write_text(text)
    with pytest.raises(Invalid, match=r"report\.json"):
        reports.read(path)
    with pytest.raises(Invalid, match="cannot be read"):
        reports.read(tmp_path / "none.json")
    with pytest.raises(Invalid, match="cannot be written"):
        reports.write(report(), tmp_path / "report.json" / "in.json")


def test_the_page_needs_nothing_from_elsewhere_and_runs_nothing() -> None:
    text = page(report())
    assert "<script" not in text
    assert "&lt;script&gt;" in text
    assert "src=" not in text
    assert "href=" not in text
    assert text.replace("http://www.w3.org/2000/svg", "").count("://") == 0
    for part in text.split("<svg")[1:]:
        ElementTree.fromstring("<svg" + part.split("</svg>")[0] + "</svg>")
    # A bar chart of each comparison, a curve over both sizes, the stages.
    assert text.count("<svg") == 4
    assert "50× gantt" in text
    assert "they held different fleets" in text


def test_text_says_what_has_no_ratio_and_what_was_left_out() -> None:
    text = "\n".join(paragraphs(report()))
    assert "50× gantt (50× – 50×)" in text
    assert "No ratio of nova to gantt: they held different fleets." in text
    assert "Left out: placement (not installed)." in text
    assert "commit 2 ms" in text


def test_figures_in_documents_are_those_of_the_reports() -> None:
    old = [
        path.name
        for path in document.documents()
        if document.renewed(path.read_text()) != path.read_text()
    ]
    assert old == [], "run `.venv/bin/python -m bench.document`"
    blocks = [document.BLOCK.search(path.read_text()) for path in document.documents()]
    assert any(blocks), "no document has the figures"


def test_rows_of_suites_are_kept_and_shown(tmp_path: Path) -> None:
    rows = [Row("claims", "≥ 10/s", "12/s", is_met=True), Row("reads", "", "9/s")]
    loads = (0.5, 1.0, 2.0)
    found = Kept(
        command="python -m bench books",
        machine="two processors",
        load_before=loads,
        load_after=loads,
        rows=rows,
    )
    reports.write(found, tmp_path / "books.json")
    assert kept(tmp_path / "books.json") == found
    text = document.rows_of(found)
    assert "`python -m bench books`. two processors. " in text
    assert "| claims | ≥ 10/s | 12/s |  |  | met |" in text
    assert "| reads |  | 9/s |  |  |  |" in text


def test_a_timed_run_says_what_was_run_and_when(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.argv", ["/x/bench/__main__.py", "books", "--out", "a b"])
    rows = [Row("reads", "", "9/s")]
    found = timed("python -m bench", lambda: rows)
    assert found.command == "python -m bench books --out 'a b'"
    assert (found.rows, found.version) == (rows, __version__)
    assert datetime.now(UTC) - datetime.fromisoformat(found.began) < timedelta(hours=1)
    assert found.machine
    assert 0 <= found.took_s < 60


def test_documents_name_what_a_comparison_did_without() -> None:
    text = document.block(report())
    assert f"- stream; flat, 1000 hosts: Left out: plain ({EVIL})." in text


def test_pages_beside_reports_are_theirs() -> None:
    pages = sorted(document.KEPT.glob("*.html"))
    assert pages
    for path in pages:
        found = reports.read(path.with_suffix(".json"))
        assert found.command.startswith("gantt bench ")
        assert path.read_text() == page(found)


def run(*words: str) -> tuple[int, str]:
    found = CliRunner().invoke(gantt, ["bench", *words])
    return found.exit_code, found.output


def test_the_command_measures_and_shows(tmp_path: Path) -> None:
    out, html = tmp_path / "a.json", tmp_path / "a.html"
    given = ("--hosts", "5", "--fleet", "nested", "--profile", "--profile-hosts", "100")
    small = Comparison("nested", 5, "stream", ("gantt", "plain"), 2, 2)
    few = partial(profiles, requests=5)
    with (
        mock.patch("gantt.bench.plan.both", return_value=[small]),
        mock.patch("gantt.bench.runner.profiles", lambda *given: few(*given[:3])),
    ):
        status, text = run(*given, "--out", str(out), "--html", str(html))
    assert status == 0, text
    assert "stream; nested, uniform, 5 hosts" in text
    status, shown = run("--show", str(out))
    assert (status, shown) == (0, text)
    status, raw = run("--show", str(out), "-o", "json")
    assert msgspec.json.decode(raw)["format"] == reports.FORMAT
    assert "<svg" in html.read_text()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("--workload stream", "--workload: only for plans of --hosts"),
        ("--fleet nested", "--fleet: only for plans of --hosts"),
        ("--full --fleet flat --mixed", "--fleet and --mixed: only for plans of"),
        ("--full --hosts 5", "--full and --hosts: each is a plan"),
        ("--short --hosts 5", "--hosts and --short: each is a plan"),
        ("--short --full", "--full and --short: each is a plan"),
        ("--hosts 5 --profile-hosts 100", "--profile-hosts: only for --profile"),
        ("--profile --profile-hosts 99", "99 is not in the range 100"),
        ("--show a --profile", "--profile: --show measures nothing"),
        ("--show a --hosts 5 --mixed", "--hosts and --mixed: --show measures nothing"),
    ],
)
def test_options_that_would_do_nothing_are_refused(words: str, told: str) -> None:
    with mock.patch("gantt.bench.runner.measure"):
        status, text = run(*words.split())
    assert (status, told in text) == (2, True), text


def unwritable(option: str, path: Path) -> str:
    """What is told of a file before anything is measured."""
    with mock.patch("gantt.bench.runner.measure") as measured:
        status, text = run("--hosts", "5", option, str(path))
    measured.assert_not_called()
    assert status == 1, text
    return " ".join(text.split())


@pytest.mark.parametrize("option", ["--out", "--html"])
def test_a_file_that_cannot_be_written_is_told_at_once(
    option: str, tmp_path: Path
) -> None:
    told = unwritable(option, tmp_path)
    assert f"{option} {tmp_path} is a folder: name a file in it" in told
    file = tmp_path / "file"
    file.write_text("")
    told = unwritable(option, file / "in" / "report.json")
    assert f"{file} is no folder; name another" in told
    with mock.patch("os.access", return_value=False):
        told = unwritable(option, tmp_path / "none" / "report.json")
    assert f"{tmp_path} may not be written; name another" in told
    told = unwritable(option, tmp_path / ("long" * 100))
    assert "cannot be written: File name too long." in told
    assert list(tmp_path.iterdir()) == [file]


def test_two_reports_go_into_two_files(tmp_path: Path) -> None:
    file = tmp_path / "report"
    reports.write(report(), file)
    before = file.read_bytes()
    for other in ("--out", "--show"):
        status, text = run(
            other, str(file), "--html", f"{tmp_path}/../{tmp_path.name}/report"
        )
        assert (status, f"{other} and --html are both" in text) == (1, True), text
    assert file.read_bytes() == before


def suites(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    """The status of ``python -m bench``, which must not measure."""
    monkeypatch.setattr("sys.argv", ["bench", "books", *words])
    monkeypatch.setattr(program, "_run", mock.Mock(side_effect=AssertionError))
    with pytest.raises(SystemExit) as ended:
        program.main()
    return int(ended.value.code or 0)


def test_suites_refuse_what_they_cannot_do_at_once(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for words, told in (
        (("--out", str(tmp_path)), "is a folder: name a file in it"),
        (("--json", "--markdown"), "not allowed with argument"),
        (("--scale", "0"), "0 is no share: give one above 0"),
        (("--scale", "nan"), "nan is no share"),
    ):
        assert suites(monkeypatch, *words) == 2
        assert told in capsys.readouterr().err
