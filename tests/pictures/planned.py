"""The pictures of docs/guide/plans.md, by the page's own lines. It needs peft beside transformers."""

import os
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import Page, expect

ROOT = Path(__file__).resolve().parents[2]
GUIDE = ROOT / "docs" / "guide" / "plans.md"
FENCE = "```"
DEVICES = "2xRTX4090+RTX3090"
ENDED_MILLISECONDS = 300_000


def recorded_steps(folder: Path) -> list[Path]:
    """Both readings, made by the page's file and commands."""
    _, _, rest = GUIDE.read_text().partition(f"{FENCE}python finetune.py\n")
    (folder / "finetune.py").write_text(rest.partition(FENCE)[0])
    paths = [folder / f"llama-{batch}.json.gz" for batch in (2, 4)]
    where = os.pathsep.join([str(ROOT / "client"), str(folder), os.environ.get("PYTHONPATH", "")])
    for batch, path in zip((2, 4), paths, strict=True):
        words = ["-m", "placeto", "record", "finetune:step", "--batch", str(batch), "--out", str(path)]
        subprocess.run([sys.executable, *words], env={**os.environ, "PYTHONPATH": where}, check=True)
    return paths


def take_plans(page: Page, out: Path, folder: Path) -> None:
    """The form of a search for plans, and its page when it has ended."""
    small, large = recorded_steps(folder)
    for path in (large, small):
        page.goto("/")
        page.locator("input[name=file]").set_input_files(path)
        page.wait_for_url("**/graphs/*/")
        expect(page.get_by_role("link", name="New plan")).to_be_visible(timeout=ENDED_MILLISECONDS)
    page.get_by_role("link", name="New plan").click()
    page.get_by_label("As text", exact=True).fill(DEVICES)
    page.locator("[name=second]").select_option(label=large.name)
    page.screenshot(path=out / "plan-form.png", animations="disabled", full_page=True)
    page.get_by_role("button", name="Search for plans").click()
    page.wait_for_url("**/plans/*/")
    expect(page.locator("[data-part=status]").first).to_have_attribute(
        "data-status", "done", timeout=ENDED_MILLISECONDS
    )
    page.reload()
    expect(page.get_by_role("slider", name="Plan in the chart")).to_contain_text("best")
    page.screenshot(path=out / "plan-page.png", animations="disabled", full_page=True)
