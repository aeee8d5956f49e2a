"""An op's time at its device is the same wherever the page says it; the groups that take time stand first."""

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.steps import address_of, create_project, expect_status, open_tab, part, start_run, upload
from tests.webapp.graph_files import node_link

pytestmark = pytest.mark.e2e
OPS = 60
ON_GPU_MS, ON_CPU_MS = 1, 4
"""op number n takes n + 1 times as long, and the first, for which all others wait, `FIRST` times"""
FIRST = 500
ROWS_AT_FIRST = 50
NODE_OF = "(host, group) => host.parentElement.graphView.pixelOf(group)"
BAR_OF = "(host, activity) => host.timelineView.pixelOf(activity)"


def slow_on_a_cpu() -> bytes:
    """A tree of ops that take longer on a CPU."""
    graph = json.loads(node_link(OPS, 1000))
    for number, node in enumerate(graph["nodes"]):
        times = number + 1 if number else FIRST
        node["time_us"] = {"GPU": 1000.0 * ON_GPU_MS * times, "CPU": 1000.0 * ON_CPU_MS * times}
    return json.dumps(graph).encode()


def test_a_time_is_the_same_on_every_view_and_the_longest_stand_first(page: Page, tmp_path: Path) -> None:
    path = tmp_path / "graph.json"
    path.write_bytes(slow_on_a_cpu())
    create_project(page, "Facts agree")
    upload(page, path)
    start_run(page, evaluations=20, method="random", with_cpu=True)
    expect_status(page, "done")
    run = address_of(page)
    names = [group["name"] for group in page.request.get(f"{run}graph.json").json()["groups"]]
    step, groups = part(page, "step"), part(page, "groups")
    expert = part(page, "chart-legend").locator("li").filter(has_text="Human expert")
    expect(expert).to_contain_text("no rule for this graph")
    expect(expert).to_have_attribute("title", re.compile("its names show neither LSTM layers nor branches of a block"))

    group = names.index("op0")
    for device, time in ((2, "2.00 s"), (0, "500 ms")):
        page.goto(f"{run}?show=baseline-single_device~{group}:{device}&group={group}#groups")
        expect(step).to_have_attribute("data-state", "ready")
        expect(groups.locator(f"[data-group='{group}']")).to_contain_text(time)
        expect(part(page, "chosen").locator("dl")).to_contain_text(f"Time{time}")
        of_op = page.get_by_role("button", name="op0", exact=True)
        panel = open_tab(page, "Ops")
        segments = panel.locator(".chain tbody tr")
        expect(segments.filter(has=page.get_by_role("button", name="compute op0", exact=True))).to_contain_text(time)
        panel.get_by_label("Search ops").fill("op0")
        expect(panel.locator("table.ops tbody tr").filter(has=of_op)).to_contain_text(time)
        timeline = page.locator("[data-step=timeline]")
        timeline.hover(position=timeline.evaluate(BAR_OF, 0))
        expect(step.locator(".tip")).to_contain_text(f"{time}, from")
        drawn = page.locator("[data-part=canvas] > .graph-canvas")
        drawn.hover(position=drawn.evaluate(NODE_OF, group))
        expect(page.locator("[data-part=canvas] > .tip").first).to_contain_text(time)
        part(page, "drawn").get_by_role("button", name="All ops").click()
        timeline.click(position=timeline.evaluate(BAR_OF, 0))
        expect(page.locator("[data-step=chosen-words]")).to_contain_text(time)
        expect(page.locator(".flat-words")).to_contain_text(re.compile(f"^op0 .*{time} on "))
        part(page, "drawn").get_by_role("button", name="Groups").click()


def test_the_longest_groups_stand_first_and_stay_where_they_are(page: Page, tmp_path: Path) -> None:
    path = tmp_path / "graph.json"
    path.write_bytes(slow_on_a_cpu())
    create_project(page, "Longest first")
    upload(page, path)
    start_run(page, evaluations=20, method="random", with_cpu=True)
    expect_status(page, "done")
    page.goto(f"{address_of(page)}?show=baseline-single_device#groups")
    groups = part(page, "groups")
    rows = groups.locator("tbody tr th")
    last = OPS - 1
    expect(rows.first).to_have_text("op0")
    expect(rows).to_have_count(ROWS_AT_FIRST)
    expect(groups.locator("th[data-key=time]")).to_have_attribute("aria-sort", "descending")
    expect(groups).to_contain_text(f"{OPS} groups, the {ROWS_AT_FIRST} longest shown")
    order = rows.all_text_contents()
    assert order == ["op0", *(f"op{number}" for number in range(last, last - ROWS_AT_FIRST + 1, -1))]

    part(page, "player").locator("[data-player=last]").click()
    part(page, "player").locator("[data-player=play]").click()
    expect(part(page, "player")).to_have_attribute("data-mode", "paused")
    expect(part(page, "step")).to_have_attribute("data-state", "ready")
    assert rows.all_text_contents() == order, "a playing moves no row"
    groups.get_by_role("button", name=f"and {OPS - ROWS_AT_FIRST} more").click()
    expect(rows).to_have_count(OPS)
    by_name = groups.locator("th[data-key=name] button")
    for first in ("op0", f"op{last}", "op0"):
        by_name.click()
        expect(rows.first).to_have_text(first)
    expect(groups.locator("th[aria-sort]")).to_have_count(0)
