"""A webhook in the browser: added, tried, and its log, which follows what is sent."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.steps import create_project, part
from tests.webapp.hooks.receiver import receiving

pytestmark = pytest.mark.e2e


def test_add_try_and_send_again(page: Page, faults: list[str]) -> None:
    with receiving() as receiver:
        create_project(page, "Webhooks")
        page.get_by_role("link", name="Webhooks").click()
        page.get_by_label("Name", exact=True).fill("Our CI")
        address = page.get_by_label("Address", exact=True)
        address.fill("http://10.0.0.1/in")
        page.get_by_role("button", name="Add webhook").click()
        expect(page.get_by_text("The address 10.0.0.1 is not a public one.")).to_be_visible()
        faults.remove("Failed to load resource: the server responded with a status of 400 (Bad Request)")
        address.fill(receiver.address())
        page.get_by_label("A training has finished").check()
        page.get_by_role("button", name="Add webhook").click()
        expect(part(page, "secret")).to_have_text(re.compile(r"^whsec_[\w-]{43}$"))
        page.get_by_role("button", name="Send a test").click()
        expect(part(page, "secret")).to_have_count(0)
        row = page.get_by_role("row", name=re.compile("^test "))
        expect(row.locator(".pill")).to_have_text("Delivered")
        expect(row).to_contain_text("Status 200")
        assert [got.headers["X-Placeto-Event"] for got in receiver.got] == ["test"]
        receiver.status = 500
        row.get_by_role("button", name=re.compile("^Send test of .* again$")).click()
        expect(row).to_contain_text("It refuses the body (status 500).")
        expect(row).to_contain_text("again at")
        page.get_by_role("button", name="Switch off").click()
        expect(row.locator(".pill")).to_have_text("Cancelled")
        page.get_by_role("link", name="Delete webhook").click()
        page.get_by_role("button", name="Delete webhook").click()
        page.wait_for_url("**/projects/*/hooks/")
        expect(page.get_by_role("heading", name="Add a webhook")).to_be_visible()
