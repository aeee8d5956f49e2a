"""Headless Chromium that opens pages, moves things on them, and counts the frames."""

import math
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from tests.bench_ui.figures import Motion

ARGUMENTS = ("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync")
VIEWPORT = {"width": 1280, "height": 900}
FRAME_SECONDS = 1 / 60
WHEEL_TURNS = 12
"""of the wheel in one direction, before it turns back"""
REACH_PIXELS = 120

OPENED = """() => new Promise((done) => {
  const look = () => {
    let drawn = false;
    try { drawn = Boolean(%s); } catch {}
    if (drawn) requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now())));
    else requestAnimationFrame(look);
  };
  look();
})"""
"""milliseconds from the navigation until a condition holds and two more frames have been drawn"""
RECORD = """() => {
  const times = [];
  window.benchFrames = times;
  const tick = (now) => { times.push(now); if (window.benchFrames === times) requestAnimationFrame(tick); };
  requestAnimationFrame(tick);
}"""
RECORDED = "() => { const times = window.benchFrames; window.benchFrames = null; return times; }"


@contextmanager
def launched() -> Iterator[Browser]:
    """A browser that draws in software. Raises RuntimeError without Chromium."""
    path = os.environ.get("PLACETO_CHROMIUM") or shutil.which("chromium")
    if not path:
        raise RuntimeError("no Chromium here: `make bench-ui` finds or installs one")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        try:
            yield browser
        finally:
            browser.close()


@dataclass(frozen=True, slots=True)
class Visit:
    """An open page in a context of its own, without anything cached."""

    page: Page
    context: BrowserContext
    open_ms: float
    """from the address to the drawing"""

    def heap_bytes(self) -> float:
        """The page's JavaScript heap after a collection."""
        session = self.context.new_cdp_session(self.page)
        session.send("HeapProfiler.collectGarbage")
        session.send("Performance.enable")
        metrics = session.send("Performance.getMetrics")["metrics"]
        session.detach()
        return next(float(metric["value"]) for metric in metrics if metric["name"] == "JSHeapUsedSize")

    def motion(self, gesture: "Gesture", place: str, seconds: float) -> Motion:
        """The frames while a gesture goes on."""
        box = self._centre(place)
        self.page.evaluate(RECORD)
        gesture(self.page, box, time.monotonic() + seconds)
        return motion_of(self.page.evaluate(RECORDED))

    def _centre(self, place: str) -> tuple[float, float]:
        found = self.page.locator(place).first
        found.scroll_into_view_if_needed()
        self.page.wait_for_timeout(300)
        box = found.bounding_box()
        assert box, place
        bottom = min(box["y"] + box["height"], float(VIEWPORT["height"]))
        return box["x"] + box["width"] / 2, (max(box["y"], 0.0) + bottom) / 2


@contextmanager
def visited(browser: Browser, address: str, drawn: str, patience_seconds: float) -> Iterator[Visit]:
    """Open `address` and wait until the JavaScript condition `drawn` holds."""
    context = browser.new_context(viewport=VIEWPORT)  # type: ignore[arg-type]
    context.set_default_timeout(1000 * patience_seconds)
    try:
        page = context.new_page()
        page.goto(address, wait_until="commit")
        open_ms = float(_within(page, OPENED % drawn, patience_seconds))
        yield Visit(page, context, open_ms)
    finally:
        context.close()


def _within(page: Page, script: str, seconds: float) -> Any:
    """What `script` promises. Raises TimeoutError after so many seconds: the browser itself would wait for ever."""
    late = (
        f"new Promise((_, fail) => setTimeout(() => fail(new Error('not drawn in {seconds:.0f} s')), {1000 * seconds}))"
    )
    return page.evaluate(f"() => Promise.race([({script})(), {late}])")


def motion_of(times_ms: list[float]) -> Motion:
    """Frames a second, and the longest one, between the times at which frames began."""
    if len(times_ms) < 2:
        return Motion(0.0, math.inf)
    gaps = [after - before for before, after in pairwise(times_ms)]
    return Motion(1000.0 * len(gaps) / (times_ms[-1] - times_ms[0]), max(gaps))


Gesture = Callable[[Page, tuple[float, float], float], None]
"""page, centre of what it works on, when it ends"""


def pan(page: Page, centre: tuple[float, float], deadline: float) -> None:
    """Drag in circles."""
    x, y = _press_on_the_background(page, centre)
    turn = 0.0
    while time.monotonic() < deadline:
        turn += 0.15
        right, down = REACH_PIXELS * math.sin(turn), REACH_PIXELS * (1 - math.cos(turn)) / 2
        _paced(partial(page.mouse.move, x + right, y + down))
    page.mouse.up()


def _press_on_the_background(page: Page, centre: tuple[float, float]) -> tuple[float, float]:
    """Press near the centre, where no group is: a drag that begins on one takes it along. Returns where."""
    x, y = centre
    for away in range(0, 200, 5):
        page.mouse.move(x + away, y)
        page.mouse.down()
        page.mouse.move(x + away + 8, y)
        if page.locator(".is-dragging-groups").count() == 0:
            return x + away, y
        page.keyboard.press("Escape")
        page.mouse.up()
    raise AssertionError("there are groups wherever the graph could be panned")


def zoom(page: Page, centre: tuple[float, float], deadline: float) -> None:
    """Turn the wheel with Ctrl, closer and away."""
    page.mouse.move(*centre)
    page.keyboard.down("Control")
    turn = 0
    while time.monotonic() < deadline:
        away = turn // WHEEL_TURNS % 2 == 1
        _paced(partial(page.mouse.wheel, 0, 100 if away else -100))
        turn += 1
    page.keyboard.up("Control")


def open_and_close(page: Page, _: tuple[float, float], deadline: float) -> None:
    """Open the first blocks one after the other and close them again, by keys."""
    host = page.locator("[data-drawn=blocks].flat-canvas")
    host.press("ArrowDown")
    while time.monotonic() < deadline:
        for key in ("ArrowDown", "Enter", "Escape"):
            host.press(key)
            page.wait_for_timeout(300)


def play(page: Page, _: tuple[float, float], deadline: float) -> None:
    """Play the episodes from the first one, 50 a second."""
    _play(page, "50", deadline)


def play_fast(page: Page, _: tuple[float, float], deadline: float) -> None:
    """The same, 250 a second."""
    _play(page, "250", deadline)


def _play(page: Page, speed: str, deadline: float) -> None:
    page.locator("[data-part=player] select").select_option(speed)
    page.get_by_label("Episode shown").fill("0")
    page.locator("[data-player=play]").click()
    page.wait_for_timeout(max(0.0, 1000 * (deadline - time.monotonic())))
    page.locator("[data-player=play]").click()


def scrub(page: Page, _: tuple[float, float], deadline: float) -> None:
    """Drag the slider of the episodes to and fro."""
    box = page.locator("[data-part=player] input[type=range]").bounding_box()
    assert box
    y, turn = box["y"] + box["height"] / 2, 0.0
    page.mouse.move(box["x"] + box["width"] / 2, y)
    page.mouse.down()
    while time.monotonic() < deadline:
        turn += 0.05
        _paced(partial(page.mouse.move, box["x"] + box["width"] * (0.5 + 0.45 * math.sin(turn)), y))
    page.mouse.up()


def _paced(act: Callable[[], None]) -> None:
    """Act once a frame at most, as a hand does."""
    began = time.monotonic()
    act()
    time.sleep(max(0.0, FRAME_SECONDS - (time.monotonic() - began)))


def rest(page: Page, _: tuple[float, float], deadline: float) -> None:
    """Nothing."""
    page.wait_for_timeout(max(0.0, 1000 * (deadline - time.monotonic())))
