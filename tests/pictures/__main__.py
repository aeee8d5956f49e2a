"""Makes the pictures of README.md and docs/guide.md anew: `python -m tests.pictures [--out docs/images]`.

It starts the application on a scratch folder, opens the shipped example, and takes pictures of its pages in a browser:
still ones, and an animated one of the placement as it improves. It starts a comparison, places an ONNX model, and
records and places two PyTorch models, and plans for a third. Six minutes on two cores, with `client` and peft on the
Python path.
"""

import argparse
import io
import os
import shutil
import sys
import tempfile
from pathlib import Path

import placeto
import torch
from PIL import Image
from playwright.sync_api import Page, expect, sync_playwright
from transformers import GPT2Config, GPT2LMHeadModel

from experiments.elsewhere import PREFILL, Recorded
from tests.engine.onnx.building import stored
from tests.engine.onnx.models import bert
from tests.pictures.planned import take_plans
from tests.supervisor.application import application
from tests.supervisor.started import free_port

WIDTH, HEIGHT = 1440, 900
FRAMES = 24
FRAME_MILLISECONDS, LAST_MILLISECONDS = 260, 2600
ANIMATED_WIDTH = 960
READY_MILLISECONDS = 60_000
LAYER = "stem/conv_5/conv"
COMPARED = ("auto", "random", "m_etf", "heft", "local_search")
COMPARED_MILLISECONDS = 600_000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("docs/images"))
    out = parser.parse_args().out
    chromium = os.environ.get("PLACETO_CHROMIUM") or shutil.which("chromium")
    if chromium is None:
        print("no Chromium: set PLACETO_CHROMIUM to its path", file=sys.stderr)
        return 2
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        folder, port = Path(scratch), free_port()
        with application(folder / "data", port, folder / "output") as running:
            address = f"http://127.0.0.1:{port}"
            running.wait_for_line(f"ready at {address}")
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
                context = browser.new_context(
                    base_url=address, viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light"
                )
                context.set_default_timeout(READY_MILLISECONDS)
                take_all(context.new_page(), out)
                take_recorded(context.new_page(), out, folder)
                take_plans(context.new_page(), out, folder)
                browser.close()
    return 0


def take_all(page: Page, out: Path) -> None:
    """Every picture, in the order in which a person meets the pages."""
    page.goto("/")
    take(page, out / "home-page.png")
    page.get_by_role("button", name="Open the example").click()
    page.wait_for_url("**/runs/*/**")
    expect(page.locator("[data-part=step]")).to_have_attribute("data-state", "ready", timeout=READY_MILLISECONDS)
    page.evaluate("document.querySelector('.example-words')?.remove()")  # the guide's pictures show any run
    take(page, out / "run-page.png")
    page.get_by_label("Find a layer, group or op").fill(LAYER)
    page.locator("[data-part=found] button").first.click()
    expect(page.locator("[data-part=chosen] .why")).not_to_be_empty()
    page.locator(".bench").screenshot(path=out / "run-step.png")
    page.keyboard.press("Escape")
    animate(page, out / "improving.webp")
    page.locator("nav[aria-label=Breadcrumb] a").last.click()
    page.wait_for_url("**/graphs/*/")
    take(page, out / "graph-page.png")
    compare(page)
    take(page, out / "comparison-page.png")
    page.goto("/policies/")
    take(page, out / "policies-page.png")
    page.goto("/projects/")
    page.get_by_role("link", name="Example", exact=True).click()
    page.wait_for_url("**/projects/*/")
    take(page, out / "project-page.png")


def take_recorded(page: Page, out: Path, folder: Path) -> None:
    """Runs of two PyTorch models, from their recorded steps, and of an ONNX model."""
    gpt2, mixtral = folder / "gpt2.json.gz", folder / "mixtral.json.gz"
    config = GPT2Config()  # the smallest of the published sizes
    with torch.device("meta"):
        model = GPT2LMHeadModel(config)
    tokens = torch.zeros(4, 512, dtype=torch.long)
    inputs = {"input_ids": tokens, "labels": tokens}
    placeto.record(model, inputs, optimizer=torch.optim.AdamW, batch=4).save(gpt2)
    Recorded("8x7B", PREFILL, 4, ()).record(mixtral)
    encoder = stored(bert(), folder / "bert.onnx")
    for path, lengths, devices, picture in (
        (gpt2, {}, "2xRTX4090+RTX3090", "pytorch-run.png"),
        (mixtral, {}, "4xRTX4090+4xRTX3090", "pytorch-mixtral.png"),
        (encoder, {"batch": "32", "sequence": "384"}, "2xRTX4090+RTX3090", "onnx-run.png"),
    ):
        page.goto("/")
        page.locator("input[name=file]").set_input_files(path)
        page.wait_for_url("**/graphs/*/")
        for name, length in lengths.items():
            page.get_by_label(f"Length of {name}", exact=True).fill(length)
        if lengths:
            page.get_by_role("button", name="Read the graph").click()
        page.get_by_label("As text", exact=True).fill(devices)
        page.get_by_role("button", name="Start run").click()
        page.wait_for_url("**/runs/*/")
        expect(page.locator("[data-part=status]").first).to_have_attribute(
            "data-status", "done", timeout=COMPARED_MILLISECONDS
        )
        page.reload()
        expect(page.locator("[data-part=step]")).to_have_attribute("data-state", "ready", timeout=READY_MILLISECONDS)
        take(page, out / picture)


def compare(page: Page) -> None:
    """Compare a few methods on the graph whose page is open, to the end."""
    page.get_by_role("link", name="Compare methods").click()
    for box in page.locator("input[name=methods]").all():
        box.set_checked(box.get_attribute("value") in COMPARED)
    page.get_by_label("Evaluations", exact=True).fill("1000")
    page.get_by_label("Seeds", exact=True).fill("3")
    page.get_by_role("button", name="Start comparison").click()
    page.wait_for_url("**/comparisons/*/")
    expect(page.locator("[data-part=state]")).to_contain_text("have ended", timeout=COMPARED_MILLISECONDS)


def take(page: Page, path: Path) -> None:
    """The first screen of the page, once it stands still."""
    page.wait_for_load_state("networkidle" if "/runs/" not in page.url else "load")
    page.wait_for_timeout(1500)
    page.screenshot(path=path)
    print(path)


def animate(page: Page, path: Path) -> None:
    """Timeline and graph from the first episode, over improvements, to the best one."""
    slider = page.get_by_label("Episode shown")
    best = int(slider.input_value())
    frames = []
    for frame in range(FRAMES):
        # early episodes change most
        slider.fill(str(round(best * (frame / (FRAMES - 1)) ** 2.2)))
        page.wait_for_timeout(500)
        frames.append(Image.open(io.BytesIO(page.screenshot())).convert("RGB"))
    size = (ANIMATED_WIDTH, round(frames[0].height * ANIMATED_WIDTH / frames[0].width))
    small = [frame.resize(size, Image.Resampling.LANCZOS) for frame in frames]
    durations = [FRAME_MILLISECONDS] * (FRAMES - 1) + [LAST_MILLISECONDS]
    small[0].save(path, save_all=True, append_images=small[1:], duration=durations, loop=0, quality=70, method=6)
    print(path)


if __name__ == "__main__":
    sys.exit(main())
