"""The main job as a person does it: upload, start, watch, step through, cancel, download; TensorFlow runs the file."""

import json
import re
from pathlib import Path
from typing import Any, cast

import pytest
from playwright.sync_api import Dialog, Page, expect

from engine.child.parent import Limits, run_in_child
from tests.e2e.conftest import PATIENCE_MILLISECONDS
from tests.e2e.steps import address_of, create_project, expect_status, part, start_run, upload

pytestmark = pytest.mark.e2e
HOSTILE = "<img src=x onerror=alert(1)>"
DOMAIN = "host => host.episodeAxis.domain"
WATCH_CURSOR = """() => {
  window.farthestCursor = -Infinity;
  const look = () => {
    const boxOf = (kind) => document.querySelector(kind)?.getBBox();
    const [line, axis] = [boxOf(".chart-cursor.is-shown"), boxOf(".chart-axis")];
    if (line && axis) {
      window.farthestCursor = Math.max(window.farthestCursor, line.x - axis.x - axis.width);
    }
    requestAnimationFrame(look);
  };
  look();
}"""
"""from now on, notes in each frame how far the cursor of the chart is beyond the end of its axis, in pixels"""


def episodes(page: Page) -> int:
    return int(page.get_by_label("Episode shown").get_attribute("max") or 0) + 1


def wait_for_episodes(page: Page, count: int) -> None:
    """Wait until the page, as it is, shows more than `count` episodes."""
    for _ in range(PATIENCE_MILLISECONDS // 100):
        if episodes(page) > count:
            return
        page.wait_for_timeout(100)
    raise AssertionError(f"{episodes(page)} episodes, no more")


def stored_event_numbers(page: Page) -> list[int]:
    """The numbers of all events of the run that the page shows, read page by page."""
    numbers: list[int] = []
    while True:
        answer = page.request.get(f"{address_of(page)}events.json?after={len(numbers)}&limit=1000").json()
        if not answer["events"]:
            return numbers
        numbers += [event["seq"] for event in answer["events"]]


def colours(page: Page) -> str:
    """The device of each group as the table says, and the picture of the graph."""
    return str(page.locator("[data-part=groups]").text_content())


def test_upload_place_watch_and_download(page: Page, training_graph: Path, tmp_path: Path) -> None:
    create_project(page, "Main job")
    upload(page, training_graph)
    expect(page.locator("main")).to_contain_text("Conv2D")
    start_run(page, evaluations=1500)

    page.evaluate(WATCH_CURSOR)
    wait_for_episodes(page, 20)
    early = episodes(page)
    best_early = part(page, "best").inner_text()
    expect(part(page, "best")).not_to_have_text("–")
    expect(part(page, "chart-legend")).to_contain_text("Single device")
    expect(part(page, "chart-legend")).to_contain_text("Random")
    assert best_early != "–"
    wait_for_episodes(page, early)

    expect_status(page, "done")
    assert episodes(page) > early
    expect(part(page, "used")).to_contain_text("1,500")
    expect(part(page, "robustness")).to_contain_text("costs are up to 30 % off")
    page.get_by_text("Learning curves").click()
    expect(part(page, "learning-readout")).to_contain_text("Entropy")
    expect(part(page, "learning-chart").locator(".learning-line.is-mean_return")).to_be_visible()
    assert page.evaluate("window.farthestCursor") <= 0, "the cursor never left the plot while the run was live"

    go_through_decisions(page)
    slider = page.get_by_label("Episode shown")
    slider.fill("0")
    first, first_picture = colours(page), part(page, "canvas").screenshot()
    slider.fill(str(episodes(page) - 1))
    assert colours(page) != first
    assert part(page, "canvas").screenshot() != first_picture
    page.get_by_role("button", name="Show the best episode").click()

    with page.expect_download() as download:
        part(page, "downloads").locator("summary").click()
        best = part(page, "downloads").locator("[data-files=best]")
        best.get_by_role("link", name="Placed GraphDef (.pb)").click()
    placed = tmp_path / "placed.pb"
    download.value.save_as(placed)
    order: dict[str, Any] = {"plain": str(training_graph), "placed": str(placed)}
    _, texts = run_in_child("tests.e2e.placed_graph:run_on_virtual_cpus_in_child", order, Limits(), task="running it")
    found = cast(dict[str, Any], texts["placed"])
    assert found["mismatches"] == []
    assert found["executed_ops"] > 50
    assert set(cast(list[str], texts["devices"])) <= {"/device:GPU:0", "/device:GPU:1"}

    run_url = address_of(page)
    text = page.request.get(f"{run_url}placed.pbtxt")
    assert text.ok and text.text().count("\n  device: ") == text.text().count("node {")
    placement = page.request.get(f"{run_url}placement.json").json()
    assert set(placement.values()) <= {"/device:GPU:0", "/device:GPU:1"}
    assert len(placement) == text.text().count("node {")


def go_through_decisions(page: Page) -> None:
    """Inside the best episode, decision by decision; then in another one, of which less is known."""
    page.get_by_role("button", name="Show the best episode").click()
    decisions = part(page, "decisions")
    decisions.locator("summary").click()
    expect(decisions.locator("[data-decisions=note]")).to_contain_text("as they were made")
    sentence = decisions.locator("[data-decisions=sentence]")
    count = int(decisions.get_by_label("Decision shown").get_attribute("max") or 0) + 1
    expect(sentence).to_have_text(re.compile(rf"^Decision {count} of {count}, .*: .*GPU 0: \S.*; it took GPU [01]\.$"))
    decisions.get_by_role("button", name="Previous").click()
    expect(sentence).to_contain_text(f"Decision {count - 1} of {count}")
    decisions.get_by_role("button", name="Play").press("Home")
    expect(sentence).to_contain_text(f"Decision 1 of {count}")
    decisions.locator("tbody button").first.click()
    expect(part(page, "chosen")).not_to_be_empty()
    page.get_by_label("Episode shown").fill("1")
    expect(decisions.locator("[data-decisions=note]")).to_contain_text("at the end of the run")


def test_the_chart_of_a_search_ends_where_its_axis_ends(page: Page, training_graph: Path) -> None:
    create_project(page, "Search")
    upload(page, training_graph)
    start_run(page, evaluations=20_000, method="local_search")
    expect_status(page, "done")
    expect(part(page, "used")).to_contain_text(re.compile(r"^(19,[2-9]|20,0)\d\d"))
    chart = part(page, "chart")
    expect(chart.locator(".chart-best")).to_be_visible()
    right = "path => path.getBBox().x + path.getBBox().width"
    end_of_axis = chart.locator(".chart-line").first.evaluate(right)
    end_of_best = chart.locator(".chart-best").evaluate(right)
    assert 0.5 * end_of_axis < end_of_best <= end_of_axis
    chart.hover(position={"x": end_of_best - 1, "y": 60})
    tip = chart.locator(".tip strong")
    expect(tip).to_contain_text(re.compile(r"^Episode (19|20),\d\d\d"))
    look_closer(page)
    walk_the_improvements(page)


def look_closer(page: Page) -> None:
    """Zoom and move the chart with wheel, drag, keys and buttons, and show all of it again."""
    page.get_by_label("Band over seeds").check()
    expect(part(page, "band-words")).to_contain_text("another seed")
    chart = part(page, "chart")
    whole = chart.evaluate(DOMAIN)
    box = chart.bounding_box()
    page.mouse.move(box["x"] + 300, box["y"] + 100)
    page.keyboard.down("Control")
    page.mouse.wheel(0, -100)
    page.keyboard.up("Control")
    [low, high] = chart.evaluate(DOMAIN)
    assert whole[0] < low < high < whole[1]

    page.mouse.down()
    page.mouse.move(box["x"] + 200, box["y"] + 100, steps=3)
    page.mouse.up()
    moved = chart.evaluate(DOMAIN)
    assert moved[0] > low and moved[1] - moved[0] == pytest.approx(high - low)
    page.keyboard.down("Shift")
    page.mouse.down()
    page.mouse.move(box["x"] + 260, box["y"] + 100, steps=3)
    page.mouse.up()
    page.keyboard.up("Shift")
    marked = chart.evaluate(DOMAIN)
    assert moved[0] < marked[0] < marked[1] < moved[1]
    page.get_by_role("button", name="Show all episodes").click()
    assert chart.evaluate(DOMAIN) == whole

    chart.press("+")
    closer = chart.evaluate(DOMAIN)
    assert closer[1] - closer[0] < whole[1] - whole[0]
    chart.press("End")
    last = int(chart.get_attribute("aria-valuenow"))
    assert chart.evaluate(DOMAIN)[0] <= last <= chart.evaluate(DOMAIN)[1], "the zoom follows the shown episode"
    chart.press("0")
    assert chart.evaluate(DOMAIN) == whole


def walk_the_improvements(page: Page) -> None:
    """From the best episode back to each one that was the best before it."""
    page.get_by_role("button", name="Show the best episode").click()
    chart, earlier = part(page, "chart"), page.get_by_role("button", name="Previous improvement")
    numbers = [int(chart.get_attribute("aria-valuenow"))]
    while earlier.get_attribute("aria-disabled") == "false":
        earlier.click()
        numbers.append(int(chart.get_attribute("aria-valuenow")))
    assert numbers == sorted(set(numbers), reverse=True) and len(numbers) > 2
    assert part(page, "improvements").locator("i").count() > 0
    words = re.compile(rf"^Episode {numbers[-1]:,} of [12]\d,\d\d\d$")
    expect(part(page, "player").locator("output")).to_have_text(words)
    chart.press("n")
    assert int(chart.get_attribute("aria-valuenow")) == numbers[-2]


def test_a_cancelled_run_still_gives_its_best(page: Page, training_graph: Path) -> None:
    create_project(page, "Cancelled")
    upload(page, training_graph)
    start_run(page, evaluations=10_000_000, with_cpu=True)
    wait_for_episodes(page, 5)
    expect(part(page, "chart-legend")).to_contain_text("CPU")
    page.reload()
    wait_for_episodes(page, 10)
    page.get_by_role("button", name="Cancel run").click()
    expect_status(page, "cancelled")
    answer = page.request.get(f"{address_of(page)}placed.pb")
    assert answer.ok
    assert b"/device:" in answer.body()
    numbers = stored_event_numbers(page)
    assert numbers == list(range(1, len(numbers) + 1))


def test_a_name_in_a_graph_is_only_text(page: Page, tmp_path: Path) -> None:
    nodes = [{"id": f"{HOSTILE}{index}", "type": HOSTILE, "time_us": 10, "output_bytes": [100]} for index in range(4)]
    links = [{"source": nodes[index]["id"], "target": nodes[index + 1]["id"], "output": 0} for index in range(3)]
    graph = {"directed": True, "multigraph": False, "graph": {"name": HOSTILE}, "nodes": nodes, "edges": links}
    path = tmp_path / f"{HOSTILE.replace('/', '')}.json"
    path.write_text(json.dumps(graph))
    alerts: list[str] = []

    def note(dialog: Dialog) -> None:
        alerts.append(dialog.message)
        dialog.dismiss()

    page.on("dialog", note)
    create_project(page, HOSTILE)
    upload(page, path)
    start_run(page, evaluations=50, method="random")
    expect_status(page, "done")
    expect(page.locator("main")).to_contain_text(HOSTILE)
    assert page.locator("main img").count() == 0
    assert alerts == []


def test_a_file_that_is_no_graph_is_shown_at_the_field_and_not_stored(
    page: Page, training_graph: Path, tmp_path: Path, faults: list[str]
) -> None:
    create_project(page, "Bad input")
    path = tmp_path / "cut.pb"
    path.write_bytes(training_graph.read_bytes()[:1000])
    project_url = page.url
    page.locator("input[name=file]").set_input_files(path)
    expect(page.get_by_role("alert")).to_contain_text("cut short or damaged")
    assert [fault for fault in faults if "400 (Bad Request)" not in fault] == []
    faults.clear()
    page.goto(project_url)
    expect(page.locator("main")).to_contain_text("Upload a graph")
    expect(page.locator("[data-job=graph]")).to_have_count(0)
