"""Signing in, names and landmarks of all pages, and the clock that Shadow goes by."""

from __future__ import annotations

import pytest

from tests.ui.browser import Window

pytestmark = pytest.mark.server("chromium")

# What a reader of the screen would not name, or not find.
UNNAMED = """return [...document.querySelectorAll(
    "[role=img], [role=group], [role=toolbar], button, input, select, a")]
  .filter((one) => !(one.getAttribute("aria-label") || one.textContent.trim()
    || one.labels?.length)).map((one) => one.outerHTML)"""
OUTSIDE = """return [...document.querySelectorAll(
    "h1, h2, h3, h4, p, label, table, dl")]
  .filter((one) => !one.closest("main, header, nav"))
  .map((one) => one.outerHTML)"""
# Headings whose level is more than one below the heading before.
STEPS = """const all = [...document.querySelectorAll("h1, h2, h3, h4, h5, h6")];
return all.filter((one, at) => one.tagName[1] - (all[at - 1]?.tagName[1] ?? 0) > 1)
  .map((one) => one.outerHTML)"""
DRAWN = """const main = document.querySelector("main");
return main?.childElementCount > 1 && !/Loading …/.test(main.innerText)"""
PAGES = {
    "": "main canvas",
    "#/decisions": "main table",
    "#/try": "main form",
    "#/capacity": "main .bar",
    "#/shadow": "main .note",
    "#/health": "main .tile",
}
# A browser seven days ahead, and how far from its right time it asks for records.
FAST = """const right = Date.now;
Date.now = () => right() + 7 * 24 * 3600 * 1000;
const fetched = window.fetch;
window.since = [];
window.fetch = (url, about) => {
  const found = /shadow.report.*since=(\\d+)/.exec(String(url));
  if (found) window.since.push(Number(found[1]) / 1000 - right());
  return fetched(url, about);
};"""


def sign_in(window: Window, token: str) -> None:
    window.open(token=None)
    window.wait("return document.querySelector('main form #token')")
    window.run("document.getElementById('token').value = arguments[0]", token)
    window.run("document.querySelector('form.login').requestSubmit()")


def test_names_landmarks_and_headings(window: Window) -> None:
    for page, part in PAGES.items():
        window.open(page)
        window.wait(f"return document.querySelector({part!r})")
        window.wait(DRAWN)
        for wrong in (UNNAMED, OUTSIDE, STEPS):
            assert window.run(wrong) == [], page
        assert window.count("main") == 1


def test_the_form_has_names_and_landmarks(window: Window) -> None:
    window.open(token=None)
    window.wait("return document.querySelector('main form #token')")
    for wrong in (UNNAMED, OUTSIDE, STEPS):
        assert window.run(wrong) == []


def test_what_cannot_be_seen_in_a_token_is_left_out(window: Window) -> None:
    sign_in(window, "\u200bad\u00admin\ufeff ")
    window.wait("return document.querySelector('.live')?.dataset.state === 'live'")
    assert window.run("return sessionStorage.getItem('gantt.token')") == "admin"


@pytest.mark.parametrize("token", ["\u200b", " \u2060\ufeff", "admin\u4e00"])
def test_a_token_that_no_header_holds_is_told(window: Window, token: str) -> None:
    """One letter less would be another token, and nothing at all none."""
    sign_in(window, token)
    window.wait(
        "return /Copy it again/.test(document.querySelector('[role=alert]')"
        "?.textContent)"
    )
    assert window.run("return sessionStorage.getItem('gantt.token')") is None
    assert not window.run("return document.querySelector('nav')")


def test_the_shadow_page_goes_by_the_clock_of_the_service(window: Window) -> None:
    """From its first question on, also where the page is the first that is opened."""
    script = {
        "cmd": "Page.addScriptToEvaluateOnNewDocument",
        "params": {"source": FAST},
    }
    window.driver.execute("executeCdpCommand", script)
    window.open("#/shadow?since=hour")
    asked = window.wait("return window.since.length && window.since")
    assert all(-3_630_000 < one < -3_590_000 for one in asked), asked
