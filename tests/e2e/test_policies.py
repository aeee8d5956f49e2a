"""A policy trained in the browser, then applied in a run, zero-shot."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.steps import address_of, choose_place, create_project, expect_status, part, upload

pytestmark = pytest.mark.e2e
ZERO_SHOT = "Zero-shot: only the policy's first proposals"


def test_train_a_policy_and_apply_it(page: Page, training_graph: Path, tmp_path: Path) -> None:
    create_project(page, "Policies")
    upload(page, training_graph)
    graph_url = page.url
    page.get_by_role("navigation", name="Places").get_by_role("link", name="Policies").click()
    page.get_by_role("link", name="Train a policy").first.click()
    page.wait_for_url("**/train/")
    choose_place(page)
    page.get_by_label("Name of the policy").fill("Small ones")
    row = page.get_by_role("row", name=training_graph.name).first
    row.get_by_label("Hold out").check()
    row.get_by_label("Train on").check()
    expect(row.get_by_label("Hold out")).not_to_be_checked()
    page.get_by_label("Clusters", exact=True).fill("2xK80")
    page.get_by_label("Training time (s)", exact=True).fill("3")
    page.get_by_role("button", name="Start training").click()
    page.wait_for_url(lambda url: "/train/" not in url and "/policies/" in url)
    expect_status(page, "done")
    expect(page.get_by_role("heading", name="Card")).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download policy").click()
    assert download.value.suggested_filename == "small-ones.safetensors"
    page.get_by_role("link", name="Train again").click()
    expect(page.get_by_label("Name of the policy")).to_have_value("Small ones")
    expect(page.get_by_role("row", name=training_graph.name).first.get_by_label("Train on")).to_be_checked()

    page.goto(graph_url)
    zero_shot, policy = page.get_by_label(ZERO_SHOT), page.get_by_label("Apply a policy", exact=True)
    expect(policy.locator("option:checked")).to_contain_text("Default policy")
    page.get_by_label("Method", exact=True).select_option("placeto")
    policy.select_option("")
    expect(zero_shot).to_be_hidden()
    expect(part(page, "zero-shot").get_by_role("button")).to_be_hidden()  # its tip goes with it
    policy.select_option(policy.locator("option", has_text="Small ones").get_attribute("value"))
    page.get_by_label("Preset", exact=True).select_option("paper")
    expect(policy).to_be_hidden()
    page.get_by_label("Preset", exact=True).select_option("fast")
    zero_shot.check()
    expect(page.get_by_label("Evaluations", exact=True)).to_be_disabled()
    expect(part(page, "summary")).to_contain_text("zero-shot")
    page.get_by_role("button", name="Start run").click()
    page.wait_for_url("**/runs/*/")
    expect_status(page, "done")
    expect(page.locator("main")).to_contain_text("with policy Small ones")
    assert page.request.get(f"{address_of(page)}report.json").json()["policy"] == "Small ones"
