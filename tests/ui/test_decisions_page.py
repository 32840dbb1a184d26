"""The page Decisions, in a browser: it shows what was decided and why, as text."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pytest
from msgspec.structs import replace
from selenium.webdriver.common.keys import Keys

from gantt.errors import NoValidHost
from gantt.model.protocol import GanttProtocol
from gantt.model.selection import Decision, Why
from gantt.model.spec import Flavor, RequestSpec, ScheduleRequest
from tests.live import Live
from tests.ui import fleets
from tests.ui.browser import Chromium, Window
from tests.ui.conftest import HOSTILE
from tests.ui.looking_glass import admin_of, serving

pytestmark = pytest.mark.server("chromium")

HOSTS = 40
PLACED, REFUSED, ALIKE = "req-placed", "req-refused", "req-<b>&amp;\u202e"
ROWS = "return document.querySelectorAll('table.long tbody button').length"
PANEL = "return document.querySelector('aside.decision dl')?.parentElement.innerText"
TITLE = "return document.querySelector('aside.decision h2')?.textContent"
TERM = """return [...document.querySelectorAll('aside.decision dt')].find(
    (one) => one.textContent === arguments[0]).nextElementSibling.textContent"""


def request(name: str, number: int, vcpus: int, *only: str) -> ScheduleRequest:
    """For one instance, of so many CPUs; ``only``: on these hosts."""
    flavor = Flavor(
        vcpus=vcpus, memory_mb=1024, root_gb=10, name="<i>m1</i>", flavorid="1"
    )
    spec = RequestSpec(
        flavor=flavor,
        project_id=fleets.PROJECT,
        user_id=fleets.PROJECT,
        availability_zone=None if only else "az1",
        force_hosts=only,
    )
    return ScheduleRequest(spec, (fleets.uuid(5, number),), request_id=name)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """A service whose hosts have hostile names, with a few decisions."""
    with serving(tmp_path_factory.mktemp("decisions"), HOSTS, names=HOSTILE) as live:
        with admin_of(live) as books:
            books.schedule(request(PLACED, 1, 2))
            with pytest.raises(NoValidHost):
                books.schedule(request(REFUSED, 2, 4000))
            for number, host in enumerate(HOSTILE):
                books.schedule(request(ALIKE, 10 + number, 1, host))
        yield live


def record(books: GanttProtocol, name: str) -> Decision:
    return books.decisions(request_id=name)[0]


def address(decision: Decision) -> str:
    return f"#/decisions?request={decision.request_id}&at={decision.at}"


def cells(window: Window, caption: str) -> list[list[str]]:
    """The rows of a short table."""
    found: list[list[str]] = window.run(
        """const table = [...document.querySelectorAll("aside table")]
          .find((one) => one.caption.textContent === arguments[0]);
        return [...(table?.tBodies[0].rows ?? [])].map((row) =>
          [...row.cells].map((cell) => cell.innerText.trim()));""",
        caption,
    )
    return found


def test_a_placed_decision_as_a_funnel(window: Window, books: GanttProtocol) -> None:
    placed = record(books, PLACED)
    window.open(address(placed))
    text = window.wait(PANEL)
    host = placed.chosen[0][0].service_host
    assert window.run(TITLE).startswith("On ")
    assert fleets.uuid(5, 1) in text and PLACED in text
    funnel = cells(window, "Filters, in order")
    assert funnel[0][0] == "all hosts" and funnel[0][2] == str(HOSTS)
    assert [(one[0], one[2]) for one in funnel[1:]] == [
        (one.name, str(one.after)) for one in placed.steps
    ]
    alone = {one.name: one.removed_alone for one in placed.steps}
    assert any(alone.values()), "the zone alone removes some"
    for name, *_, told in funnel[1:]:
        assert told == (str(alone[name]) if alone[name] else "–")
    scores = cells(window, "Scores of the best hosts")
    assert len(scores) == len(placed.scores) > 1
    assert [float(one[2]) for one in scores] == pytest.approx(
        [one.weight for one in placed.scores], abs=1e-4
    )
    chosen = window.run(
        "return document.querySelector('aside td .badge').parentElement.innerText"
    )
    assert host[:6] in chosen or host.startswith("\u202e")
    choice = cells(window, "Choice")
    assert choice[0][0] == fleets.uuid(5, 1)
    assert choice[0][4] == placed.chosen[0][0].claim


def test_which_weigher_made_the_difference(window: Window) -> None:
    """Weights without each weigher, one of which changes what is first."""
    window.open(token=None)
    script = """
    const { without } = await import("./ui/ranking.js");
    const host = (name, ram, disk) => ({ host: name, node: name, weight: ram + disk,
      parts: { RAM: [ram * 9, ram], Disk: [disk * 9, disk], Off: [3, 0] } });
    const told = (scores) => without(scores).map((one) =>
      [one.weigher, one.first.host, one.isSame, Math.round(one.ahead * 100) / 100]);
    return [
      told([host("a", 1, 0.2), host("b", 0.4, 0.6), host("c", 0, 0.7)]),
      told([host("a", 0.5, 0.5), host("b", 0.25, 0.5)]),
      told([host("a", 1, 1)]),
    ];"""
    assert window.await_(script) == [
        [["RAM", "c", False, 0.5], ["Disk", "a", True, 0]],
        [["RAM", "a", True, 0], ["Disk", "a", True, 0]],
        [],
    ]


def test_the_difference_is_told_as_it_is_recorded(
    window: Window, books: GanttProtocol
) -> None:
    placed = record(books, PLACED)
    names = list(placed.scores[0].parts)
    first = {
        name: max(
            placed.scores, key=lambda one: round(one.weight - one.parts[name][1], 9)
        )
        for name in names
        if any(one.parts[name][1] for one in placed.scores)
    }
    assert first
    window.open(address(placed))
    window.wait(PANEL)
    told = window.run("return document.querySelector('.changes').innerText")
    for name, one in first.items():
        if one is not placed.scores[0]:
            assert f"Without {name}, host " in told
        else:
            assert f"without {name}" in told


def test_a_refusal_and_what_would_help(window: Window, books: GanttProtocol) -> None:
    refused = record(books, REFUSED)
    assert refused.why is not None and refused.why.change is not None
    window.open(address(refused))
    text = window.wait(PANEL)
    assert window.run(TITLE) == "No valid host"
    assert refused.failure in text
    assert window.run("return document.querySelector('.help').textContent") == (
        refused.why.change
    )
    near = cells(window, "Nearest hosts")
    assert [one[1] for one in near] == [
        ", ".join(one.removed_by) for one in refused.why.nearest
    ]
    assert near


def test_the_list_says_what_was_asked_what_it_lacked_and_why(
    window: Window, books: GanttProtocol
) -> None:
    refused, placed = record(books, REFUSED), record(books, PLACED)
    assert refused.why is not None
    for one, expected in (
        (refused, ("4,000 VCPU", str(refused.why.nearest[0].lacks))),
        (placed, ("2 VCPU", "az1")),
    ):
        window.open(f"#/decisions?q={one.request_id}")
        assert window.wait(ROWS) == 1
        line = window.run(
            "return document.querySelector('table.long tr[aria-rowindex]').innerText"
        )
        assert "<i>m1</i>: " in line
        assert all(text in line for text in expected)
        window.click("table.long tbody button")
        window.wait(PANEL)
        assert window.run(TERM, "Flavor").startswith("<i>m1</i>: ")
        assert window.run(TERM, "Zone") == "az1"
        if one is refused:
            why = window.run(TERM, "Why")
            assert why.endswith(f"would help: {refused.why.change}") and why in line
            assert expected[1] in window.run(TERM, "Lacked")


def test_what_a_request_is_about_in_words(window: Window) -> None:
    window.open(token=None)
    script = """
    const { wanted } = await import("./ui/request.js");
    const { lacked, reason } = await import("./ui/ranking.js");
    const spec = { flavor: { name: "m1", vcpus: 2, memory_mb: 4096, root_gb: 10,
        ephemeral_gb: 5, extra_specs: { "trait:GPU": "required", "hw:x": "1",
        "trait_1:SLOW": "forbidden" } }, availability_zone: "az1",
        instance_group: { uuid: "u-1", policy: "anti-affinity" },
        requested_destination: { host: "h1" } };
    const refused = { failure: "No valid host was found.", steps: [], why: {
        steps: [{ name: "free", before: 4, after: 2 }, { name: "Zone", before: 2,
        after: 0 }], nearest: [{ host: "h", removed_by: ["Zone"], lacks: null }],
        change: "ask less" } };
    const bare = { ...refused, why: { steps: refused.why.steps } };
    return [wanted(spec), wanted({ flavor: { name: "vcpus=1", vcpus: 1 } }),
      lacked(refused), reason(refused), lacked(bare), reason(bare)];"""
    assert window.await_(script) == [
        [
            ["Flavor", "m1: 2 VCPU, 4 GiB, 15 GiB"],
            ["Zone", "az1"],
            ["Traits", "GPU, not SLOW"],
            ["Group", "anti-affinity u-1"],
            ["Host", "h1"],
        ],
        [["Flavor", "1 VCPU, 0 GiB, 0 GiB"]],
        "refused by Zone",
        "Zone left none of 2 hosts; would help: ask less",
        None,
        "Zone left none of 2 hosts",
    ]


def test_hostile_names_are_text(window: Window, books: GanttProtocol) -> None:
    window.open(f"#/decisions?q={HOSTILE[1][:8].replace('<', '%3C')}")
    assert window.wait(ROWS) >= 1
    for one in books.decisions(request_id=ALIKE):
        window.run(
            "location.hash = `#/decisions?${new URLSearchParams(arguments[0])}`",
            {"request": one.request_id, "at": str(one.at)},
        )
        host = one.chosen[0][0].service_host
        for hidden in ("\u202e", "\u202c", "\u200b"):
            host = host.replace(hidden, f"\\u{ord(hidden):04x}")
        window.wait(TITLE + " === arguments[0]", f"On {host}")
        assert window.run(TERM, "Request") == ALIKE.replace("\u202e", "\\u202e")
        asked = window.run(TERM, "Asked")
        assert 'name="<i>m1</i>"' in asked
        assert not {"\u202e", "\u202c", "\u200b"} & {*asked}
    assert window.count("script") == 1
    assert window.count("img, b b, i i") == 0


def test_the_list_is_live_and_can_be_stopped(
    window: Window, books: GanttProtocol
) -> None:
    window.open()
    window.wait("return document.querySelector('nav a[data-page=decisions]')")
    window.click("nav a[data-page=decisions]")
    before = window.wait(ROWS)
    books.decide(request("req-new", 50, 1))
    window.wait(ROWS + " === arguments[0]", before + 1)
    first = (
        "return document.querySelector('table.long tbody tr[aria-rowindex]').innerText"
    )
    assert "dry run" in window.run(first)
    window.press("p")
    assert window.run(
        "return document.querySelector('[title*=\"(p)\"]').ariaPressed"
    ) == ("true")
    asked = len([one for one in window.asked() if "gantt/decisions" in one])
    books.decide(request("req-newer", 51, 1))
    window.run("document.dispatchEvent(new Event('visibilitychange'))")
    window.press("p")
    window.wait(first + ".includes('req-newer')")
    assert len([one for one in window.asked() if "gantt/decisions" in one]) > asked


def test_a_link_shows_the_same(window: Window, books: GanttProtocol) -> None:
    window.open("#/decisions?show=refused&sort=request&limit=200")
    assert window.wait(ROWS) == 1
    chosen = "return [...document.querySelectorAll('select')].map((one) => one.value)"
    assert window.run(chosen) == ["refused", "200"]
    window.click("table.long tbody button")
    assert window.wait(TITLE) == "No valid host"
    assert f"at={record(books, REFUSED).at}" in window.run("return location.hash")
    assert window.count("tr[aria-current]") == 1
    window.press(Keys.ESCAPE)
    window.wait("return document.querySelector('aside').hidden")
    window.driver.back()
    window.wait("return !document.querySelector('aside').hidden")
    window.open("#/decisions?request=req-unknown&at=1")
    window.wait("return document.querySelector('aside').innerText.includes('not kept')")


def test_an_instance_is_looked_up(window: Window) -> None:
    """Also one that is not among the latest, of which none is asked for here."""
    window.open(token=None)
    window.run(
        """const fetched = window.fetch;
        window.fetch = (url, about) => fetched(
          String(url).replace("decisions?limit=50", "decisions?limit=0"), about);
        location.hash = arguments[0];""",
        f"#/decisions?q={fleets.uuid(5, 1)}",
    )
    window.wait("return document.getElementById('token')")
    window.driver.find_element("id", "token").send_keys("admin\n")
    assert window.wait(ROWS) == 1


def test_the_keyboard_is_enough(window: Window) -> None:
    window.open("#/decisions")
    window.wait(ROWS)
    window.press(Keys.ARROW_DOWN)
    first = window.wait("return document.getElementById('said').textContent")
    window.press(Keys.ARROW_DOWN)
    window.wait(
        "return document.getElementById('said').textContent !== arguments[0]", first
    )
    assert window.wait(PANEL)
    window.press(Keys.ESCAPE)
    window.wait("return document.querySelector('aside').hidden")
    window.press("/")
    window.press(REFUSED)
    window.wait(ROWS + " === 1")
    window.press(Keys.ENTER)
    assert window.wait(TITLE) == "No valid host"


def test_what_is_seen_is_saved(window: Window, books: GanttProtocol) -> None:
    window.open(address(record(books, PLACED)))
    window.wait(PANEL)
    saved = window.await_(
        """const texts = [];
        URL.createObjectURL = (blob) => { texts.push(blob.text()); return "blob:x"; };
        HTMLAnchorElement.prototype.click = () => {};
        const buttons = [...document.querySelectorAll("button")];
        const saving = buttons.filter((one) => one.textContent === "CSV");
        for (const one of saving) one.click();
        return Promise.all(texts);"""
    )
    heads = [one.splitlines()[0] for one in saved]
    assert heads[0].startswith("When,Outcome,Hosts,Asked,Lacked,Why,")
    assert heads[1].startswith("Instance,Host,Node,")
    assert heads[2] == "Filter,Before,Left,Removed,Alone"
    assert heads[3].startswith("Rank,Host,Weight,")
    assert len(saved[2].splitlines()) == 1 + len(record(books, PLACED).steps)


def test_a_token_without_a_role_is_told_once(chromium: Chromium, service: Live) -> None:
    with chromium.window(service.url) as window:
        window.open("#/decisions", token="ann:blue")
        note = "return document.querySelector('.note:not([hidden])')?.textContent"
        window.wait(note + "?.includes('may not list decisions')")
        view = "return document.querySelector('.live').dataset.state === 'polling'"
        window.wait(view)
        assert len([one for one in window.asked() if "gantt/decisions" in one]) == 1


def test_counts_alone_are_a_page_as_well(window: Window, books: GanttProtocol) -> None:
    """What a project sees of its own decisions has neither hosts nor scores."""
    window.open(token=None)
    bare = [
        replace(one, scores=(), chosen=(), why=one.why and Why(steps=one.why.steps))
        for one in (record(books, PLACED), record(books, REFUSED))
    ]
    bare.append(replace(bare[1], steps=(), why=Why()))
    shown = window.await_(
        """const { showDecision } = await import("./ui/decision.js");
        return JSON.parse(arguments[0]).map((one) => {
          const aside = document.createElement("aside");
          showDecision(aside, one, () => {});
          document.body.append(aside);
          return aside.innerText;
        });""",
        msgspec.json.encode(bare).decode(),
    )
    assert "Placed" in shown[0] and "No valid host" in shown[1]
    for text, one in zip(shown, bare, strict=True):
        assert all(step.name in text for step in one.steps)
        # What would help is not for its token.
        assert "No single change" not in text
        assert "0" not in text.splitlines()


def test_narrow_screens_and_names_of_everything(
    chromium: Chromium, service: Live, books: GanttProtocol
) -> None:
    with chromium.window(service.url, width=500, height=800) as window:
        for name in (PLACED, REFUSED):
            window.open(address(record(books, name)))
            window.wait(PANEL)
            assert window.is_narrow()
            assert window.nameless() == []
            assert window.count("h1") == 1
        assert window.faults() == []
