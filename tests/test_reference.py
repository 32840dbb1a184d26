"""The generated parts of docs/reference: nothing that there is is missing from them."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

import gantt
from gantt import EngineOptions, errors
from gantt.conf import list_opts
from gantt.model.operations import OPERATIONS
from gantt.model.protocol import GanttProtocol
from gantt.observe.metrics import Meters
from scripts import reference
from scripts.reference import committed, links, placement, signatures
from scripts.reference.markdown import escaped
from scripts.reference.samples import samples
from tests.shown import document
from tests.tidy.source import ROOT

LIBRARY = document("docs/reference/library.md")
INCLUDING = ("contributing", "explanation/architecture")
RENEW = "python -m scripts.reference.committed"


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What is written, by name."""
    folder = tmp_path_factory.mktemp("generated")
    reference.write(folder)
    return {file.stem: file.read_text(encoding="utf-8") for file in folder.iterdir()}


def test_every_page_is_included_by_a_document(pages: dict[str, str]) -> None:
    written = "\n".join(document(f"docs/{name}.md") for name in INCLUDING)
    assert set(re.findall(r"_generated/(\w+)\.txt", written)) == set(pages)


def test_what_is_committed_of_the_reference_is_as_the_code_says() -> None:
    pages = {page: page.read_text("utf-8") for page in committed.FOLDER.glob("*.md")}
    stale = [
        page.name for page, text in pages.items() if committed.renewed(text) != text
    ]
    assert stale == [], f"they are not what {RENEW} writes: run it, and commit them"
    shown = [name for text in pages.values() for name in committed.parts_of(text)]
    assert sorted(shown) == sorted(committed.PARTS)


def test_nothing_of_this_machine_is_committed() -> None:
    for page in committed.FOLDER.glob("*.md"):
        assert str(ROOT) not in page.read_text("utf-8"), page.name


def test_every_metric_of_a_service_is_there_with_its_help() -> None:
    text = document("docs/reference/metrics.md")
    for line in Meters(dict, lambda: ({}, {})).exposition().decode().splitlines():
        found = re.match(r"# HELP (gantt_\w+) (.+)", line)
        if found and not found[1].endswith("_created"):
            assert f"| `{found[1]}` | " in text, line


def test_every_operation_of_placement_has_a_sample_that_succeeded() -> None:
    since = placement.routes()
    assert since.keys() == placement.SUMMARIES.keys()
    shown = samples(since)
    assert {(one.method, one.path) for one in shown} == since.keys()
    assert [one for one in shown if not one.status.startswith("2")] == []


def test_a_sample_is_shown_again_where_the_answer_changes() -> None:
    page = document("docs/reference/placement-api.md")
    _, _, text = page.partition("### GET `/allocation_candidates`")
    text, _, _ = text.partition("\n### ")
    told = re.findall(r"^Sample, (.*):$", text, re.M)
    assert told[0] == "1.10 to 1.11" and told[-1].startswith("since 1.")
    assert '"mappings"' in text.rpartition("Sample, ")[2]


def test_every_operation_of_our_own_is_there() -> None:
    page = document("docs/reference/http.md")
    missing = [
        one.path for one in OPERATIONS if f"### `{one.method} {one.path}`\n" not in page
    ]
    assert missing == []


def test_every_option_is_there_with_its_help() -> None:
    page = document("docs/reference/options.md")
    for group, opts in list_opts():
        _, _, text = page.partition(f"## \\[{group}]\n")
        text, _, _ = text.partition("\n## ")
        for one in opts:
            row = re.search(rf"^\| `{one.dest}` \| .* \| .* \| (.*) \|$", text, re.M)
            assert row and row[1], f"[{group}] {one.dest}"


def test_all_of_the_public_library_is_described() -> None:
    for name in set(gantt.__all__) - {"__version__", "Gantt"}:  # one GanttProtocol
        thing = getattr(gantt, name)
        assert inspect.getdoc(thing), name
        if inspect.ismodule(thing):
            assert f"### {escaped(f'gantt.{name}.')}" in LIBRARY, name
        else:
            assert f"### {escaped(f'gantt.{name}')}\n" in LIBRARY, name


def test_every_method_and_error_says_what_it_is() -> None:
    methods = [
        (name, one)
        for name, one in inspect.getmembers(GanttProtocol, inspect.isfunction)
        if not name.startswith("_")
    ]
    assert len(methods) > 50
    for name, one in methods:
        text = inspect.getdoc(one) or ""
        assert text and not text.startswith("Raises"), name
        assert f"#### {escaped(name)}\n" in LIBRARY, name
    for name, kind in inspect.getmembers(errors, inspect.isclass):
        assert inspect.getdoc(kind), name
        assert f"### gantt.errors.{name}\n" in LIBRARY, name


def test_a_value_is_shown_by_its_fields() -> None:
    shown = signatures.lines_of_struct(gantt.Inventory)
    assert shown.startswith("class Inventory:\n    total: int\n    reserved: int = 0\n")


def test_a_long_call_has_a_line_for_each_parameter() -> None:
    def called(url: str, *, options: EngineOptions | None = None, of: str = "") -> None:
        """Only its signature is looked at."""

    assert signatures.lines_of_call("called", called).startswith("called(url: str, *, ")
    assert signatures.lines_of_call("connected_to_the_books_at", called) == (
        "connected_to_the_books_at(\n"
        "    url: str,\n"
        "    *,\n"
        "    options: EngineOptions | None = None,\n"
        "    of: str = '',\n"
        ") -> None"
    )


def test_links_that_lead_nowhere_are_found(tmp_path: Path) -> None:
    (tmp_path / "one.html").write_text(
        '<p id="here"><a href="#here">a</a><a href="#gone">b</a>'
        '<a href="two.html#there">c</a><a href="three.html">d</a>'
        '<a href="https://example.org/x">e</a><img src="none.png">'
    )
    (tmp_path / "two.html").write_text('<h1 id="there">')
    assert links.broken(tmp_path) == [
        "one.html: #gone",
        "one.html: three.html",
        "one.html: none.png",
    ]
