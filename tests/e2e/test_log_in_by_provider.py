"""A browser logs in through an OpenID provider, at the real server, and logs out."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.supervisor.application import OTHER_SETTINGS
from tests.supervisor.started import ROOT, free_port, started
from tests.webapp.open_id_provider import CLIENT_ID, CLIENT_SECRET, Provider, running_provider
from webapp.supervisor.parts import database_part, web_command

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


@pytest.fixture
def provider() -> Iterator[Provider]:
    """The provider that the application below asks."""
    with running_provider() as running:
        yield running


@pytest.fixture
def server(provider: Provider, tmp_path: Path) -> Iterator[str]:
    """The address of a web server with such accounts; the pages of the test need no workers."""
    own = {name: value for name, value in os.environ.items() if name not in OTHER_SETTINGS}
    environment = {
        **own,
        "PLACETO_DATA": str(tmp_path / "data"),
        "PLACETO_ACCOUNTS": "oidc",
        "PLACETO_OIDC_ADDRESS": provider.address,
        "PLACETO_OIDC_CLIENT_ID": CLIENT_ID,
        "PLACETO_OIDC_CLIENT_SECRET": CLIENT_SECRET,
        "PLACETO_OIDC_NAME": "Example",
        "PLACETO_OIDC_DOMAINS": "example.org",
        "PLACETO_OPERATORS": "ada@example.org",
    }
    subprocess.run(database_part().command, cwd=ROOT, env=environment, check=True)
    port = free_port()
    with started(["-m", *web_command("127.0.0.1", port)], tmp_path / "output", environment) as running:
        running.wait_for_line("running on")
        yield f"http://127.0.0.1:{port}"


def test_a_browser_logs_in_and_out(browser: Browser, server: str, provider: Provider, tmp_path: Path) -> None:
    context = browser.new_context(base_url=server)
    page = context.new_page()
    refused: list[str] = []
    page.on("console", lambda message: refused.append(message.text) if message.type == "error" else None)
    page.goto("/projects/?page=1")
    expect(page).to_have_url(f"{server}/accounts/log-in/?next=/projects/%3Fpage%3D1")
    expect(page.locator("input[type=password]")).to_have_count(0)
    page.get_by_role("button", name="Log in with Example").click()
    expect(page).to_have_url(f"{server}/projects/?page=1")
    expect(page.get_by_role("link", name="Users")).to_be_visible()  # an operator
    page.get_by_role("link", name="ada", exact=True).click()
    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_role("button", name="Log in with Example")).to_be_visible()
    provider.person["email"] = "ada@evil.example"
    page.get_by_role("button", name="Log in with Example").click()
    expect(page.locator("[data-part=what]")).to_have_text(
        "Only who has a verified e-mail address of example.org may come in."
    )
    assert [text for text in refused if "403" not in text] == []
    context.close()
    logged = (tmp_path / "output").read_text()
    assert "/accounts/provider/answer/" in logged
    assert CLIENT_SECRET not in logged
    for path, fields in provider.asked:
        if path == "/token":
            assert fields["code_verifier"] not in logged
