"""A crawl over every page and every question with names that are made to do harm.

Nothing may execute in the browser, no answer is 500 or more or markup, and no page has
the token in it. GANTT_CRAWL_NAMES: how many of the names (a few; 0: all).
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from urllib.parse import quote, urlencode

import pytest

import gantt
from gantt.api.ui.dashboard import STATIC
from gantt.errors import NoValidHost
from gantt.model.hosts import Service as HostService
from gantt.model.operations import OPERATIONS
from gantt.model.spec import Flavor, RequestSpec, ScheduleRequest
from tests.attacks.service import ADMIN, Service, attacked
from tests.ui import fleets
from tests.ui.browser import Chromium, Window

pytestmark = pytest.mark.server("chromium")

NAMES = (
    "<script>window.__pwned = 1</script>",
    "\"'><img src=x onerror=window.__pwned=2>\u202e\U0001f525",
    "javascript:window.__pwned=3",
    "';window.__pwned=4;//${window.__pwned=4}{{__pwned=4}}",
    "</textarea></option></svg><svg onload=window.__pwned=5>",
    "\u202egnp.\u202c\u2066\u200b\u200f",
    "\U0001f525" * 20,
    "l" * 180,
    '=HYPERLINK("x")&amp;%3Cscript%3E',
    "../../etc/passwd%00\\..\\",
)
LONG = "l" * 255
COUNT = int(os.environ.get("GANTT_CRAWL_NAMES", "3")) or len(NAMES) + 1
ASKED = (*NAMES, LONG)[:COUNT]
HOSTS = 40
STREAMS = ("GET /gantt/watch", "GET /gantt/snapshot")
READ = [one for one in OPERATIONS if one.method == "GET" and one.at not in STREAMS]
PLACEMENT = (
    "resource_providers?name={}", "resource_providers?member_of={}",
    "resource_providers?resources={}", "resource_providers/{}", "allocations/{}",
    "resource_providers/{}/inventories/{}", "traits?name={}", "traits/{}",
    "resource_classes/{}", "usages?project_id={}", "allocation_candidates?{}={}",
)  # fmt: skip
PAGES = {
    "fleet": "q host node group colour size sort view",
    "instances": "q limit sort",
    "decisions": "q request at show limit sort",
    "try": "vcpus count more required within zone group given_up spec colour by",
    "capacity": "class zone period flavors",
    "shadow": "since verdict request",
    "health": "any",
}
# Fetches that are under way, to wait for.
COUNTING = """window.__asking = 0;
const fetched = window.fetch;
window.fetch = (...asked) => {
  window.__asking += 1;
  return fetched(...asked).finally(() => { window.__asking -= 1; });
};"""
HARM = """const wrong = [...document.querySelectorAll(
    "script, img, iframe, object, embed, base, meta[http-equiv], svg svg, textarea *")]
  .filter((one) => !one.closest("head") || one.matches("base, meta"));
const odd = [...document.querySelectorAll("*")].filter((one) =>
  [...one.attributes].some(({ name, value }) => name.startsWith("on")
    || (/^(href|src|action)$/.test(name) && /^\\s*(javascript|data):/i.test(value))));
const told = [...wrong, ...odd].map((one) => one.outerHTML.toWellFormed());
return [window.__pwned ?? null, told]"""


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Hosts, zones, racks, providers, projects, flavors, findings and decisions that
    all have such names."""
    fleet = tmp_path_factory.mktemp("fleet") / "gantt.db"
    names = [f"{name}{turn or ''}" for turn in range(3) for name in NAMES]
    fleets.write(fleet, HOSTS, names=names, zones=NAMES[: fleets.ZONES])
    with closing(gantt.connect(f"sqlite:///{fleet}")) as books:
        books.update_service(
            HostService(names[0], disabled=True, disabled_reason=NAMES[0])
        )
    # Nova lets any hint through.
    more = ("[scheduler]", "names_are_checked = true")
    folder = tmp_path_factory.mktemp("crawl")
    with attacked(folder, fleet=fleet, more=more) as found:
        with closing(gantt.connect(found.live.url, token=ADMIN)) as books:
            for number, name in enumerate(NAMES):
                for vcpus in (1, 9000):
                    spec = RequestSpec(
                        Flavor(vcpus, 512, 1, name=name, flavorid=name),
                        project_id=name,
                        scheduler_hints={name: (name,)},
                    )
                    request = ScheduleRequest(
                        spec,
                        (fleets.uuid(7, number * 2 + (vcpus > 1)),),
                        request_id=f"req-{name}",
                    )
                    try:
                        books.schedule(request)
                    except NoValidHost:
                        assert vcpus > 1
        yield found


def ask(service: Service, path: str, token: str = ADMIN) -> tuple[int, str, str]:
    """Status, kind and body."""
    connection = HTTPConnection("127.0.0.1", service.port, timeout=60)
    try:
        headers = {"x-auth-token": token, "openstack-api-version": "placement 1.39"}
        connection.request("GET", f"/{path.lstrip('/')}", headers=headers)
        answer = connection.getresponse()
        kind = answer.getheader("content-type", "")
        return answer.status, kind, answer.read().decode("utf-8", "replace")
    finally:
        connection.close()


def questions(name: str) -> list[str]:
    """Every question there is, with ``name`` wherever something can be put."""
    text = quote(name, safe="")
    found = [f"gantt/ui/{text}", f"gantt/ui?{text}", f"gantt/{text}", text]
    found += [f"gantt/ui/{one.name}?{text}" for one in STATIC.iterdir()]
    found += [one.replace("{}", text) for one in PLACEMENT]
    for one in READ:
        found.append(re.sub(r"\{\w+\}", text, one.path))
        fields = getattr(one.query, "__struct_fields__", ("unknown",))
        found += [f"{one.path}?{urlencode({key: name})}" for key in fields]
    return found


@pytest.mark.parametrize("name", ASKED)
def test_every_question_is_answered_as_data(service: Service, name: str) -> None:
    for path in questions(name):
        for token in (ADMIN, name.encode("ascii", "ignore").decode()):
            status, kind, body = ask(service, path, token)
            assert status < 500, path
            assert ADMIN not in body and "tokens.yaml" not in body, path
            if "html" in kind:
                assert body == (STATIC / "index.html").read_text(), path
            elif "javascript" not in kind and "css" not in kind and body:
                assert kind.startswith(
                    ("application/json", "text/plain", "image/svg")
                ), (
                    path,
                    kind,
                )


def calm(window: Window) -> None:
    """Until nothing is asked for any more, also a few frames later."""
    for _ in range(2):
        window.wait("return window.__asking === 0")
        window.await_("await new Promise((go) => setTimeout(go, 60))")


def check(window: Window, place: str) -> None:
    executed, wrong = window.run(HARM)
    assert (executed, wrong) == (None, []), place
    script = """const page = document.documentElement.outerHTML + location.href;
    return [page.includes(arguments[0]), page.isWellFormed()];"""
    assert window.run(script, ADMIN) == [False, True], place


def test_no_page_executes_a_name(chromium: Chromium, service: Service) -> None:
    with chromium.window(service.live.url) as window:
        window.open(token=None)
        window.run("sessionStorage.setItem('gantt.token', arguments[0])", ADMIN)
        window.driver.refresh()
        window.wait("return document.querySelector('nav a')")
        window.run(COUNTING)
        for page, fields in PAGES.items():
            for name in ("", *ASKED):
                given = dict.fromkeys(fields.split(), name) if name else {}
                place = f"#/{page}?{urlencode(given)}"
                window.run("location.hash = arguments[0]", place)
                calm(window)
                check(window, place)
        for name in NAMES[:COUNT]:  # what a user opens: one host, and its decisions
            place = f"#/fleet?{urlencode({'host': name, 'view': 'table'})}"
            window.run("location.hash = arguments[0]", place)
            window.wait("return document.querySelector('aside dl, aside .wrong')")
            check(window, place)
            window.run("location.hash = arguments[0]", f"#/{quote(name)}")
            calm(window)
            found = json.loads(ask(service, "gantt/decisions?limit=500")[2])
            for one in found["decisions"]:
                if one["request_id"] == f"req-{name}":
                    given = {"request": one["request_id"], "at": one["at"]}
                    place = f"#/decisions?{urlencode(given)}"
                    window.run("location.hash = arguments[0]", place)
                    window.wait("return document.querySelector('aside dl')")
                    check(window, place)
        # That nonsense is refused is no fault; a policy that had to step in would be.
        told = [one for one in window.faults() if "Failed to load resource" not in one]
        assert told == []
        assert window.elsewhere() == []
        assert not [one for one in window.asked() if ADMIN in one]
