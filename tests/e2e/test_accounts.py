"""A team in the browser: set-up, a colleague who may look, then edit, then nothing; a link for who has no account."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, StorageState, expect

from tests.e2e.conftest import first_operator
from tests.e2e.steps import create_project, expect_status, part, start_run, upload
from tests.supervisor.application import application
from tests.supervisor.started import free_port

pytestmark = pytest.mark.skipif(
    os.environ.get("PLACETO_E2E_ACCOUNTS", "off") != "off", reason="it starts an application with accounts of its own"
)
PASSWORD = "another long password 2"


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[tuple[str, StorageState]]:
    """An application with accounts: its address, and what the operator's browser keeps."""
    folder, port = tmp_path_factory.mktemp("team"), free_port()
    with application(folder / "data", port, folder / "output", PLACETO_ACCOUNTS="local") as running:
        running.wait_for_line(f"ready at http://127.0.0.1:{port}")
        address = f"http://127.0.0.1:{port}"
        yield address, first_operator(browser, address, folder / "output")


@contextmanager
def visiting(browser: Browser, address: str, state: StorageState | None = None) -> Iterator[Page]:
    """A page of another person's browser."""
    context = browser.new_context(base_url=address, storage_state=state)
    yield context.new_page()
    context.close()


def test_a_team_shares_a_project(team: tuple[str, StorageState], browser: Browser, training_graph: Path) -> None:
    address, state = team
    with visiting(browser, address, state) as ada, visiting(browser, address) as bob:
        _let_in(ada, bob)
        create_project(ada, "Shared")
        project = ada.url
        upload(ada, training_graph)
        start_run(ada, evaluations=40, method="random")
        expect_status(ada, "done")
        run = ada.url
        assert _status(bob, run) == 404
        bob.goto("/projects/")
        expect(bob.get_by_text("No projects yet.")).to_be_visible()

        _give_role(ada, project, "viewer")
        assert _status(bob, run) == 200
        expect(part(bob, "status")).to_have_attribute("data-status", "done")
        expect(bob.get_by_role("link", name="Run again")).to_have_count(0)
        bob.goto(project)
        expect(bob.get_by_role("heading", name="Upload a graph")).to_have_count(0)

        _give_role(ada, project, "editor")
        bob.goto(run)
        bob.get_by_role("link", name="Run again").click()
        start_run(bob, evaluations=20_000_000, method="random")
        expect(part(bob, "status")).to_have_attribute("data-status", "running")
        ada.goto(f"{project}members/")
        ada.get_by_role("button", name="Remove bob").click()
        expect(ada.get_by_role("row", name="bob")).to_have_count(0)
        expect(part(bob, "connection")).to_contain_text("has been deleted")  # as for a run that is not there
        assert _status(bob, run) == 404
        ada.goto(bob.url)
        ada.get_by_role("link", name="Shared").click()


def test_a_link_shows_one_graph_to_who_has_no_account(
    team: tuple[str, StorageState], browser: Browser, training_graph: Path
) -> None:
    address, state = team
    with visiting(browser, address, state) as ada, visiting(browser, address) as stranger:
        create_project(ada, "For a link")
        upload(ada, training_graph)
        graph = ada.url
        ada.locator("[data-part=share] summary").click()
        ada.get_by_label("It works for").select_option("7")
        ada.get_by_role("button", name="Create link").click()
        expect(ada.get_by_label("The new link, shown this once")).not_to_have_value("")
        link = ada.get_by_label("The new link, shown this once").input_value()
        expect(ada.get_by_text("never used")).to_be_visible()

        stranger.goto(link)
        expect(stranger.get_by_role("heading", level=2, name="Graph", exact=True)).to_be_visible()
        expect(stranger.locator("[data-part=canvas] canvas").first).to_be_visible()
        expect(stranger.get_by_role("button", name="Start run")).to_have_count(0)
        stranger.goto(graph)
        expect(stranger).to_have_url(re.compile("/accounts/log-in/"))

        ada.get_by_role("button", name="Revoke").click()
        expect(ada.get_by_text("Revoked: that link opens nothing any more.")).to_be_visible()
        assert _status(stranger, link) == 404


def _let_in(ada: Page, bob: Page) -> None:
    """The operator adds a user, who sets a password by the link and logs in."""
    ada.goto("/users/")
    ada.locator("[name=username]").fill("bob")
    ada.get_by_role("button", name="Add").click()
    bob.goto(ada.locator(".new-link").inner_text())
    for name in ("new_password1", "new_password2"):
        bob.locator(f"[name={name}]").fill(PASSWORD)
    bob.get_by_role("button", name="Set it").click()
    bob.get_by_label("Name").fill("bob")
    bob.get_by_label("Password").fill(PASSWORD)
    bob.get_by_role("button", name="Log in").click()
    expect(bob.get_by_role("link", name="bob", exact=True)).to_be_visible()


def _give_role(ada: Page, project: str, role: str) -> None:
    ada.goto(f"{project}members/")
    ada.get_by_label("User", exact=True).fill("bob")
    ada.get_by_label("Role", exact=True).select_option(role)
    ada.get_by_role("button", name="Save").click()
    expect(ada.get_by_role("row", name="bob")).to_contain_text(role.capitalize())


def _status(page: Page, address: str) -> int:
    answer = page.goto(address)
    assert answer is not None
    return answer.status
