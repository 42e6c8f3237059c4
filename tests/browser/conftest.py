"""A headless Chromium that reports every request, and reports opened in it from disk."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from pytest_mindtrial.core.record import Result
from pytest_mindtrial.report.html import render_html
from pytest_mindtrial.results.evaluation import EvaluationInfo
from tests.golden.results.samples import EVALUATION

_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1440,1000",
)


class Browser:
    """What the tests do with a page."""

    def __init__(self, driver: Any, folder: Path) -> None:
        self.driver = driver
        self._folder = folder

    def open(self, results: Sequence[Result], evaluation: EvaluationInfo = EVALUATION, fragment: str = "") -> None:
        path = self._folder / "report.html"
        path.write_bytes(render_html(results, evaluation).encode())
        self.driver.get("about:blank")
        self.driver.get(path.as_uri() + fragment)

    def js(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(script, *arguments)

    def wait(self, condition: str) -> None:
        """Wait until an expression of the page is truthy."""
        self.driver.execute_async_script(
            f"const done = arguments[0], look = () => ({condition}) ? done() : requestAnimationFrame(look); look()"
        )

    def find(self, selector: str) -> Any:
        return self.driver.find_element("css selector", selector)

    def texts(self, selector: str) -> list[str]:
        return self.js("return [...document.querySelectorAll(arguments[0])].map((n) => n.innerText.trim())", selector)

    def click(self, selector: str) -> None:
        self.js("document.querySelector(arguments[0]).click()", selector)

    def fill(self, selector: str, text: str) -> None:
        self.js(
            "const n = document.querySelector(arguments[0]); n.value = arguments[1];"
            "n.dispatchEvent(new Event(n.tagName === 'SELECT' ? 'change' : 'input'))",
            selector,
            text,
        )

    def console(self) -> list[str]:
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requested(self) -> set[str]:
        """Return the schemes and hosts of everything that was asked for, the browser's own pages left out."""
        urls = set()
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                parts = urlsplit(message["params"]["request"]["url"])
                urls.add(f"{parts.scheme}:{parts.netloc}")
        return {url for url in urls if not url.startswith("chrome:")}


@pytest.fixture(scope="session")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    binary, service = shutil.which("chromium"), shutil.which("chromedriver")
    if binary is None or service is None:
        reason = "chromium and chromedriver are not installed (Debian: chromium, chromium-driver)"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    webdriver = pytest.importorskip("selenium.webdriver")
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for flag in (*_FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    started = webdriver.Chrome(options=options, service=webdriver.ChromeService(service))
    yield started
    started.quit()


@pytest.fixture
def browser(driver: Any, tmp_path: Path) -> Iterator[Browser]:
    driver.get("about:blank")
    driver.get_log("browser")
    driver.get_log("performance")
    page = Browser(driver, tmp_path)
    yield page
    driver.get("about:blank")


@pytest.fixture
def colours(driver: Any) -> Iterator[Callable[[str], None]]:
    """Set the preferred colour scheme."""

    def use(scheme: str) -> None:
        driver.execute_cdp_cmd(
            "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        )

    yield use
    use("light")
