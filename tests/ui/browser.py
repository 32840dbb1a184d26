"""A real browser of the tests' own: Debian's chromium, by its driver.

Without a window, and with a profile in a folder of its own. What it logs and asks for
is kept, so that a test can say that there was no error and no request elsewhere.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, ClassVar, Final
from urllib.parse import urlsplit

from selenium import webdriver
from selenium.webdriver.chrome.remote_connection import ChromeRemoteConnection
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.remote.webdriver import WebDriver

from tests.guarded import GuardedServer, Missing
from tests.live import free_port

START_S = 60.0
NAMELESS = """
const text = (one) => one?.textContent.trim();
const named = (one) => one.getAttribute("aria-label") || text(one)
  || text(one.closest("label")) || [...one.labels ?? []].some(text);
return [...document.querySelectorAll("button, input, select, textarea, canvas, "
    + "[role=img], [role=group], aside, nav, section[role]")]
  .filter((one) => !named(one)).map((one) => one.outerHTML);"""
WAIT_S = 60.0
BROWSER: Final = Path("/usr/bin/chromium")
DRIVER: Final = Path("/usr/bin/chromedriver")
_FLAGS: Final = (
    "--headless=new",
    "--no-sandbox",  # a sandbox cannot be made by root
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--hide-scrollbars",
    "--enable-precise-memory-info",
)


class Chromium(GuardedServer):
    """The driver, which starts browsers. Raises Missing, AssertionError."""

    name: ClassVar[str] = "chromium"

    def __init__(self) -> None:
        self.find()
        super().__init__(None)
        self.port = free_port()
        try:
            log = f"--log-path={self.folder / 'driver.log'}"
            self._spawn(args=[str(DRIVER), f"--port={self.port}", log])
            self._wait_until_up()
        except BaseException:
            self.close()
            raise

    @property
    def pid(self) -> int:
        """Of the driver, above all processes of its browsers."""
        assert self._process is not None
        return self._process.pid

    @classmethod
    def find(cls) -> Path:
        """The browser. Raises Missing."""
        for program, package in ((BROWSER, "chromium"), (DRIVER, "chromium-driver")):
            if not os.access(program, os.X_OK):
                raise Missing(f"chromium: no {program} here; install {package}")
        return BROWSER

    def _wait_until_up(self) -> None:
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline:
            connection = HTTPConnection("127.0.0.1", self.port, timeout=5)
            try:
                connection.request("GET", "/status")
                if json.load(connection.getresponse())["value"]["ready"]:
                    return
            except OSError:
                time.sleep(0.05)
            finally:
                connection.close()
        raise AssertionError(f"chromedriver did not come up:\n{self.log}")

    @contextmanager
    def window(
        self,
        service: str,
        *,
        width: int = 1440,
        height: int = 900,
        keeps_answers: bool = True,
    ) -> Iterator[Window]:
        """A browser of its own that looks at ``service``; closed at the end. What it
        asks for is only known where it ``keeps_answers``, in the memory of the page."""
        options = webdriver.ChromeOptions()
        options.binary_location = str(BROWSER)
        for flag in (*_FLAGS, f"--window-size={width},{height}"):
            options.add_argument(flag)
        logs = {"browser": "ALL", **({"performance": "ALL"} if keeps_answers else {})}
        options.set_capability("goog:loggingPrefs", logs)
        connection = ChromeRemoteConnection(f"http://127.0.0.1:{self.port}")
        driver = webdriver.Remote(connection, options=options)
        try:
            driver.set_script_timeout(WAIT_S)
            yield Window(driver, service)
        finally:
            driver.quit()


class Window:
    """One page of a browser. ``errors``: what was logged as wrong so far."""

    def __init__(self, driver: WebDriver, service: str) -> None:
        self.driver = driver
        self.service = service
        self.errors: list[str] = []
        self._asked: list[str] = []

    def open(self, fragment: str = "", token: str | None = "admin") -> None:
        """Open the dashboard at ``fragment``, signed in with ``token``."""
        self.driver.get(f"{self.service}/gantt/ui{fragment}")
        if token is not None:
            self.run("sessionStorage.setItem('gantt.token', arguments[0])", token)
            self.driver.refresh()

    def run(self, script: str, *arguments: Any) -> Any:
        """What ``script``, the body of a function, returns."""
        return self.driver.execute_script(script, *arguments)

    def await_(self, script: str, *arguments: Any) -> Any:
        """What the body of an async function returns; it may import modules."""
        wrapped = (
            "const done = arguments[arguments.length - 1];"
            f"(async () => {{ {script} }})().then("
            "(value) => done({ value }), (error) => done({ error: error.stack }));"
        )
        found = self.driver.execute_async_script(wrapped, *arguments)
        assert "error" not in found, found["error"]
        return found.get("value")

    def count(self, selector: str) -> int:
        """How many elements there are of these."""
        return int(
            self.run("return document.querySelectorAll(arguments[0]).length", selector)
        )

    def says(self, selector: str, text: str) -> None:
        """Wait until the first of these elements has this text and no other."""
        is_so = (
            "return document.querySelector(arguments[0])?.textContent === arguments[1]"
        )
        self.wait(is_so, selector, text)

    def is_narrow(self) -> bool:
        """Whether all of the page is as wide as the window at most."""
        return bool(
            self.run("return document.documentElement.scrollWidth <= window.innerWidth")
        )

    def nameless(self) -> list[str]:
        """What those who listen are to use or to know, and hear no name of."""
        found: list[str] = self.run(NAMELESS)
        return found

    def wait(self, script: str, *arguments: Any) -> Any:
        """What ``script`` returns, as soon as that is true; AssertionError with what
        the page shows where it never is."""
        deadline = time.monotonic() + WAIT_S
        while time.monotonic() < deadline:
            found = self.run(script, *arguments)
            if found:
                return found
            time.sleep(0.02)
        shown = self.text()
        raise AssertionError(f"never: {script}\n{shown}\n{self.faults()}")

    def text(self) -> str:
        """What is to be read on the page."""
        return str(self.run("return document.body.innerText"))

    def press(self, keys: str) -> None:
        """Type ``keys`` into what has the focus."""
        ActionChains(self.driver).send_keys(keys).perform()

    def click(self, selector: str) -> None:
        self.driver.find_element("css selector", selector).click()

    def faults(self) -> list[str]:
        """What the console has had of warnings and errors."""
        for entry in self._log("browser"):
            if entry["level"] in ("WARNING", "SEVERE"):
                self.errors.append(entry["message"])
        return self.errors

    def _log(self, kind: str) -> list[dict[str, Any]]:
        """What is new in a log of the browser."""
        found: list[dict[str, Any]] = self.driver.execute("getLog", {"type": kind})[
            "value"
        ]
        return found

    def asked(self) -> list[str]:
        """Every address that was asked for so far."""
        for entry in self._log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                self._asked.append(message["params"]["request"]["url"])
        return self._asked

    def elsewhere(self) -> list[str]:
        """Those that are not of the service."""
        home = urlsplit(self.service).netloc
        schemes = ("data", "blob", "about", "chrome")
        return [
            one
            for one in self.asked()
            if (parts := urlsplit(one)).netloc != home and parts.scheme not in schemes
        ]
