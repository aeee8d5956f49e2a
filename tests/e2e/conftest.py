"""A real browser before the real application: web, workers and Redis under the supervisor, a data folder of its own."""

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, StorageState, expect, sync_playwright

from engine.zoo import build_graph
from tests.supervisor.application import application
from tests.supervisor.started import free_port

PATIENCE_MILLISECONDS = 90_000
expect.set_options(timeout=PATIENCE_MILLISECONDS)
BROWSER_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def data_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data folder of the application."""
    return tmp_path_factory.mktemp("application") / "data"


ACCOUNTS = os.environ.get("PLACETO_E2E_ACCOUNTS", "off")
"""`local`: all browser tests with accounts, as the first operator; CONTRIBUTING says when"""
SET_UP = re.compile(r"/accounts/set-up/\S+/")
PASSWORD = "a long password 1"
OPERATOR = {"username": "ada", "email": "ada@example.org", "password1": PASSWORD, "password2": PASSWORD}


@pytest.fixture(scope="session")
def application_output(data_folder: Path) -> Path:
    """What the application says."""
    return data_folder.parent / "output"


@pytest.fixture(scope="session")
def address(data_folder: Path, application_output: Path) -> Iterator[str]:
    """The address of an application that runs for all browser tests."""
    port = free_port()
    own = {"PLACETO_ACCOUNTS": ACCOUNTS, "PLACETO_HOOKS_ALLOWED": "127.0.0.1"}
    with application(data_folder, port, application_output, **own) as running:
        running.wait_for_line(f"ready at http://127.0.0.1:{port}")
        yield f"http://127.0.0.1:{port}"


@pytest.fixture(scope="session")
def visitor(browser: Browser, address: str, application_output: Path) -> StorageState | None:
    """What the browser keeps of the person: nothing without accounts, else that the first operator has logged in."""
    return None if ACCOUNTS == "off" else first_operator(browser, address, application_output)


def first_operator(browser: Browser, address: str, output: Path) -> StorageState:
    """Follow the set-up link that the application says."""
    link = SET_UP.search(output.read_text())
    assert link is not None
    context = browser.new_context(base_url=address)
    page = context.new_page()
    page.goto(link[0])
    for name, value in OPERATOR.items():
        page.locator(f"[name={name}]").fill(value)
    page.get_by_role("button", name="Begin").click()
    expect(page.get_by_role("link", name=OPERATOR["username"], exact=True)).to_be_visible()
    state = context.storage_state()
    context.close()
    return state


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = os.environ.get("PLACETO_CHROMIUM") or shutil.which("chromium")
    assert path, "no Chromium: `make test` finds or installs one and sets PLACETO_CHROMIUM"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=BROWSER_ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def faults() -> list[str]:
    """What went wrong on the page; a test that means to be refused takes its line out."""
    return []


@pytest.fixture
def page(browser: Browser, address: str, faults: list[str], visitor: StorageState | None) -> Iterator[Page]:
    """A page that fails the test if it throws, logs an error, or asks any other server for anything."""
    context = browser.new_context(
        base_url=address, accept_downloads=True, viewport={"width": 1440, "height": 1000}, storage_state=visitor
    )
    context.set_default_timeout(PATIENCE_MILLISECONDS)
    page = context.new_page()
    page.on("pageerror", lambda error: faults.append(f"threw {error}"))
    page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
    page.on(
        "request",
        lambda request: None if request.url.startswith((address, "data:", "blob:")) else faults.append(request.url),
    )
    yield page
    context.close()
    assert faults == []


@pytest.fixture(scope="session")
def training_graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real training step, built by TensorFlow."""
    path = tmp_path_factory.mktemp("graphs") / "tiny_cnn.pb"
    build_graph("tiny_cnn", path, settings={"batch": 2})
    return path
