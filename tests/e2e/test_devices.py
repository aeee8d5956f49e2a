"""A person describes devices by rows or as text, and sees what they are before the start."""

from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.e2e.steps import create_project, part, train, upload

pytestmark = pytest.mark.e2e


def row(page: Page, number: int) -> Locator:
    return page.get_by_role("list", name="Devices").get_by_role("listitem").nth(number - 1)


def test_rows_and_text_say_the_same_devices(page: Page, training_graph: Path) -> None:
    create_project(page, "Devices")
    upload(page, training_graph)
    text, echo, summary = page.get_by_label("As text", exact=True), part(page, "devices-echo"), part(page, "summary")
    expect(text).to_have_value("2xH100+CPU")  # a card of today
    expect(echo).to_have_text(
        "2 × H100 with 80 GiB each + CPU with 488 GiB; between GPUs 375.8 GB/s; to the CPU 53.56 GB/s"
    )

    page.get_by_label("Count, row 1").fill("4")
    page.get_by_label("Kind, row 1").select_option("A100")
    expect(page.get_by_label("Memory of each in GiB, row 1")).to_have_value("40")
    page.get_by_label("Memory of each in GiB, row 1").fill("80")
    page.get_by_label("Machine and links").select_option("one machine, PCIe")
    expect(text).to_have_value("4xA100:80GiB+CPU@pcie")
    expect(echo).to_contain_text("4 × A100 with 80 GiB each + CPU with 488 GiB; between GPUs 26.78 GB/s")

    page.get_by_role("button", name="Remove row 2").click()
    page.get_by_role("button", name="Add devices").click()
    page.get_by_label("Kind, row 2").select_option("T4")
    expect(page.get_by_label("Machine and links").get_by_role("option", name="one machine, NVLink")).to_have_count(0)
    expect(text).to_have_value("4xA100:80GiB+T4@pcie")

    text.fill("3xV100+2xCPU@ethernet")
    expect(page.get_by_label("Count, row 1")).to_have_value("3")
    expect(page.get_by_label("Kind, row 2")).to_have_value("CPU")
    expect(page.get_by_label("Machine and links")).to_have_value("@ethernet")
    expect(echo).to_contain_text("2 machines, each 3 × V100")

    text.fill('{"devices": [{"name": "/device:GPU:0", "kind": "K80"}], "op_rest_us": 3}')
    expect(page.get_by_text("Rows cannot show these devices; change them in the text.")).to_be_visible()
    expect(summary).to_contain_text("on K80, at most")
    text.fill("2xTPU")
    expect(echo).to_contain_text("TPU: this device kind is not known")
    expect(summary).to_have_text("One of the entries above is missing or out of range.")

    text.fill("2xK80+CPU")
    expect(summary).to_contain_text("on 2 × K80 + CPU, at most")


def test_an_empty_count_starts_nothing(page: Page, training_graph: Path) -> None:
    create_project(page, "No devices")
    upload(page, training_graph)
    page.get_by_label("Count, row 1").fill("")
    expect(part(page, "summary")).to_have_text("One of the entries above is missing or out of range.")
    page.get_by_role("button", name="Start run").click()
    expect(page.get_by_role("alert").filter(has_text="Enter a number of devices from 1 to 256.")).to_be_visible()
    assert page.url.rstrip("/").split("/")[-2] == "graphs"
    page.get_by_label("Count, row 1").fill("2")
    page.get_by_label("Evaluations", exact=True).fill("60")
    page.get_by_role("link", name="Compare methods").click()
    expect(page.get_by_label("As text", exact=True)).to_have_value("2xH100+CPU")
    expect(page.get_by_label("Evaluations", exact=True)).to_have_value("60")


def test_without_scripts_the_text_describes_the_devices(address: str, page: Page, training_graph: Path) -> None:
    create_project(page, "As text")
    upload(page, training_graph)
    browser = page.context.browser
    assert browser is not None
    plain = browser.new_context(java_script_enabled=False, storage_state=page.context.storage_state()).new_page()
    plain.goto(page.url if page.url.startswith("http") else f"{address}{page.url}")
    expect(plain.get_by_role("button", name="Add devices")).to_have_count(0)
    plain.get_by_label("As text", exact=True).fill("2xK80:2GiB+CPU")
    plain.get_by_label("Evaluations", exact=True).fill("5")
    plain.get_by_role("button", name="Start run").click()
    plain.wait_for_url("**/runs/*/")
    expect(plain.locator("p.lead")).to_contain_text("2 × K80 + CPU")


def test_devices_become_a_line_of_a_training(page: Page) -> None:
    train(page)
    page.get_by_label("Count, row 1").fill("8")
    page.get_by_role("button", name="Add to the clusters").click()
    expect(page.get_by_label("Clusters", exact=True)).to_have_value("2xH100\n4xH100\n8xH100+CPU")
