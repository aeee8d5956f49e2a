"""A notification of the browser when a run ends, also while its tab is in the background."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.steps import create_project, expect_status, part, start_run, upload

pytestmark = pytest.mark.e2e

RECORDING = """
window.notices = [];
window.asked = 0;
window.Notification = class extends EventTarget {
  constructor(title, { body }) { super(); window.notices.push([title, body]); console.log("a notice"); }
  static get permission() { return sessionStorage.getItem("permission") ?? "default"; }
  static async requestPermission() {
    window.asked += 1;
    sessionStorage.setItem("permission", "granted");
    return "granted";
  }
};
Object.defineProperty(document, "hidden", { get: () => window.isBehind === true });
"""
"""a browser whose person allows notifications, and which keeps what it was to show"""
GO_BEHIND = "window.isBehind = true; document.dispatchEvent(new Event('visibilitychange'))"


def test_a_notice_comes_once_when_the_run_ends(page: Page, training_graph: Path) -> None:
    page.add_init_script(RECORDING)
    create_project(page, "Notices")
    upload(page, training_graph)
    start_run(page, evaluations=1_000_000, method="local_search")
    button = page.get_by_role("button", name="Notify me when it ends")
    expect(button).to_have_attribute("aria-pressed", "false")
    assert page.evaluate("asked") == 0, "nobody has asked for anything yet"
    button.click()
    expect(button).to_have_attribute("aria-pressed", "true")
    expect(part(page, "notify-words")).to_contain_text("as long as this tab is open")
    page.reload()
    expect(button).to_have_attribute("aria-pressed", "true")
    assert page.evaluate("asked") == 0, "it was asked once, before"
    expect_status(page, "running")
    page.evaluate(GO_BEHIND)
    address = page.url.partition("?")[0]
    token = page.locator("input[name=csrfmiddlewaretoken]").first.input_value()
    with page.expect_console_message(lambda message: message.text == "a notice"):
        page.request.post(
            f"{address}cancel/", form={"csrfmiddlewaretoken": token}, headers={"referer": address}, max_redirects=0
        )
    title, name = page.evaluate("notices[0]")
    assert title == "Run cancelled" and name == page.get_by_role("heading", level=1).inner_text()
    expect(button).to_be_hidden()
    page.reload()
    expect_status(page, "cancelled")
    assert page.evaluate("notices") == []


def test_a_browser_that_refuses_says_so(page: Page, training_graph: Path) -> None:
    page.add_init_script(RECORDING.replace('"granted"', '"denied"'))
    create_project(page, "No notices")
    upload(page, training_graph)
    start_run(page, evaluations=1_000_000, method="local_search")
    button = page.get_by_role("button", name="Notify me when it ends")
    button.click()
    expect(part(page, "notify-words")).to_contain_text("This browser allows no notifications from here.")
    expect(button).to_have_attribute("aria-pressed", "false")
    page.get_by_role("button", name="Cancel run").click()
    expect_status(page, "cancelled")
