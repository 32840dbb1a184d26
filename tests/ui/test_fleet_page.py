"""The page Fleet, in a browser: it shows what the API says, as text."""

from __future__ import annotations

import pytest

from tests.live import Live
from tests.ui.browser import Chromium, Window
from tests.ui.conftest import FEW, MANY

pytestmark = pytest.mark.server("chromium")

SHOWN = "return document.querySelector('.tile b')?.textContent"


def test_ten_thousand_hosts_are_on_the_map(chromium: Chromium, many: Live) -> None:
    with chromium.window(many.url) as window:
        window.open()
        assert window.wait(SHOWN) == f"{MANY:,}"
        colours = window.run(
            """const canvas = document.querySelector("canvas");
            const { width, height } = canvas;
            const data = new Uint32Array(
                canvas.getContext("2d").getImageData(0, 0, width, height).data.buffer);
            return new Set(data).size;"""
        )
        assert colours > 20
        assert "VCPU" in window.text()
        assert window.faults() == []
        assert window.elsewhere() == []


def test_a_token_signs_in(window: Window) -> None:
    window.open(token=None)
    assert "believes every token" in window.wait(
        "return document.querySelector('.hint')?.textContent"
    )
    window.driver.find_element("id", "token").send_keys("admin\n")
    assert window.wait(SHOWN) == str(FEW)
    assert window.run("return document.cookie") == ""
    assert not [one for one in window.asked() if "admin" in one]
