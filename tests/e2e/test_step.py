"""A person looks into one step of a placement: what its time and its memory go to, with pointer and keyboard."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.e2e.steps import address_of, expect_status, open_tab, part, rest, run_on
from tests.supervisor.started import eventually
from tests.webapp.graph_files import node_link

pytestmark = pytest.mark.e2e
OPS = 40
PIXEL_OF = "(host, activity) => host.timelineView.pixelOf(activity)"
NODE_OF = "(host, group) => host.parentElement.graphView.pixelOf(group)"
DOMAIN = "host => host.timeAxis.domain"


def run_on_a_tree(page: Page, tmp_path: Path, name: str, method: str, evaluations: int) -> Locator:
    """Place a tree of ops; returns the part of the run's page that explains a step, once it does so."""
    return run_on(node_link(OPS, 4_000_000), page, tmp_path, name, method, evaluations)


def sum_of(rows: Locator, name: str) -> float:
    return sum(float(value) for value in rows.evaluate_all(f"all => all.map(row => row.dataset.{name})"))


def test_one_step_is_explained(page: Page, tmp_path: Path) -> None:
    step = run_on_a_tree(page, tmp_path, "Explained", "local_search", 2000)
    best_us = page.request.get(f"{address_of(page)}run.json").json()["best_step_time_us"]

    expect(part(page, "tabs")).to_contain_text("The critical chain takes")
    assert sum_of(part(page, "tabs").locator("[data-cause]"), "us") == pytest.approx(best_us, rel=1e-6), (
        "it opens at the best"
    )
    more = open_tab(page, "Ops")
    chain = more.locator(".chain tbody tr")
    expect(chain.first).to_contain_text("op")
    more.get_by_label("In order of time").check()
    expect(chain.first.locator("td").nth(1)).to_have_text("0 µs")

    peak = open_tab(page, "Devices").locator(".peak").first
    peak.locator("summary").click()
    expect(peak.locator("tbody tr").first).to_contain_text("Activations")
    peaks = part(page, "devices").locator("tbody td:last-child")
    expect(peaks.first).to_contain_text("iB")

    timeline = step.get_by_role("img", name="Timeline of one step")
    chosen = page.locator("[data-step=chosen-words]")
    pixel = timeline.evaluate(PIXEL_OF, OPS - 1)
    timeline.click(position=pixel)
    expect(chosen).to_contain_text(f"op{OPS - 1} (MatMul)")
    expect(part(page, "chosen")).to_contain_text("op")
    timeline.hover(position=pixel)
    expect(step.locator(".tip")).to_contain_text(f"op{OPS - 1}")

    whole = timeline.evaluate(DOMAIN)
    timeline.press("+")
    closer = timeline.evaluate(DOMAIN)
    assert closer[1] - closer[0] < whole[1] - whole[0]
    timeline.press("0")
    assert timeline.evaluate(DOMAIN) == whole
    words = chosen.inner_text()
    timeline.press("[")
    expect(chosen).not_to_have_text(words)
    timeline.press("Escape")
    expect(chosen).to_have_text("")


def test_another_episode_has_another_step_and_a_group_of_the_table_is_marked_in_it(page: Page, tmp_path: Path) -> None:
    step = run_on_a_tree(page, tmp_path, "Other episode", "random", 200)
    last = str(step.get_attribute("data-shown"))
    page.get_by_label("Episode shown").fill("0")
    expect(step).not_to_have_attribute("data-shown", last)
    first_us = sum_of(part(page, "tabs").locator("[data-cause]"), "us")
    expect(part(page, "shown")).to_contain_text("Episode")
    first = page.request.get(f"{address_of(page)}events.json").json()["events"]
    episode = next(event for event in first if event["type"] == "episode")
    assert first_us == pytest.approx(episode["step_time_us"], rel=1e-6)
    row = open_tab(page, "Groups").locator("tbody tr").first
    row.click()
    expect(part(page, "chosen")).to_contain_text("op")
    rest(page, re.compile(r"\?show=episode-1&group=\d+#groups$"))

    other = page.context.new_page()
    other.goto(page.url)
    expect(part(other, "shown")).to_have_text(part(page, "shown").inner_text())
    expect(part(other, "groups").locator("tr[aria-selected=true]")).to_have_text(str(row.text_content()))
    other.close()

    open_tab(page, "Episodes")
    part(page, "chart-legend").get_by_role("button", name="Single device").click()
    expect(part(page, "shown")).to_contain_text("Single device")
    expect(page).to_have_url(re.compile("show=baseline-single_device"))
    page.go_back()
    expect(part(page, "shown")).to_contain_text("Episode 1:")
    page.go_forward()
    expect(part(page, "shown")).to_contain_text("Single device")


def test_a_group_is_moved_by_hand_undone_and_moved_by_a_key(page: Page, tmp_path: Path, faults: list[str]) -> None:
    step = run_on_a_tree(page, tmp_path, "By hand", "local_search", 2000)
    bar = part(page, "trial")
    expect(bar).to_be_hidden()
    best_us = sum_of(part(page, "tabs").locator("[data-cause]"), "us")

    size_of_drawing = "() => ['clientWidth', 'clientHeight'].map(side => document.querySelector('.graph-canvas')[side])"
    size = page.evaluate(size_of_drawing)
    row = open_tab(page, "Groups").locator("tbody tr").first
    row.click()
    moves = part(page, "chosen").locator(".moves button")
    there = moves.and_(page.locator("[aria-pressed=false]"))
    expect(there.locator(".move-change")).to_have_text(re.compile("%|fit"))
    reported = there.locator(".move-change").inner_text()
    costs = part(page, "costs")
    expect(costs).to_be_in_viewport()
    expect(costs.locator("[aria-pressed=false] .move-change")).to_have_text(reported)
    expect(part(page, "announcer")).to_contain_text(reported)
    there.click()
    expect(bar).to_contain_text("1 group moved")
    expect(bar).to_contain_text("simulated")
    expect(costs).to_contain_text(reported)
    assert reported in bar.inner_text(), "the gain that was told is what the simulation says"
    assert page.evaluate(size_of_drawing) == size, "neither the panel nor the bar takes room from the drawing"
    moved_us = sum_of(part(page, "tabs").locator("[data-cause]"), "us")
    assert moved_us != pytest.approx(best_us, rel=1e-6)
    expect(part(page, "shown")).to_contain_text("By hand, from episode")

    bar.get_by_role("button", name="Undo").click()
    expect(bar.get_by_role("button")).to_have_text(["Redo"])
    expect(part(page, "shown")).not_to_contain_text("By hand")
    expect(step).to_have_attribute("data-state", "ready")
    assert sum_of(part(page, "tabs").locator("[data-cause]"), "us") == pytest.approx(best_us, rel=1e-9)
    bar.get_by_role("button", name="Redo").click()
    expect(bar).to_contain_text("1 group moved")

    row.focus()
    page.keyboard.press("Control+z")
    expect(bar).not_to_contain_text("moved")
    pressed = "2" if "GPU 0" in row.inner_text() else "1"
    page.keyboard.press(pressed)
    expect(bar).to_contain_text("1 group moved")
    keep_and_upload_it(page, moved_us)
    page.locator("[data-player=best]").click()
    assert [fault for fault in faults if "400" not in fault] == []
    faults.clear()  # the browser notes the refused upload
    several_groups_are_locked_and_moved(page)
    bar.get_by_role("button", name="Discard").click()
    expect(bar).to_be_hidden()
    expect(step).to_have_attribute("data-state", "ready")
    assert sum_of(part(page, "tabs").locator("[data-cause]"), "us") == pytest.approx(best_us, rel=1e-9)
    groups_are_dragged_onto_devices(page)
    the_gains_are_shown_and_a_run_goes_on(page, best_us)
    faults.clear()  # the browser notes the refused request


def keep_and_upload_it(page: Page, moved_us: float) -> None:
    """Keep the placement by hand, download it, upload the file; each has the same step time."""
    bar, step = part(page, "trial"), part(page, "step")
    bar.get_by_text("Keep", exact=True).click()
    bar.get_by_label("Name of the placement").fill("<b>mine</b>")
    bar.get_by_role("button", name="Keep it").click()
    rows = open_tab(page, "Kept placements").locator("tbody tr")
    expect(rows).to_have_count(1)
    expect(bar).to_be_hidden()
    expect(part(page, "shown")).to_contain_text("Kept placement “<b>mine</b>”")
    expect(page).to_have_url(re.compile(r"show=placement-"))
    page.reload()
    expect(part(page, "shown")).to_contain_text("Kept placement “<b>mine</b>”")
    expect(part(page, "verdict")).to_have_text(re.compile("^<b>mine</b>: [0-9.]+ "))
    expect(part(page, "chart")).to_have_attribute("aria-valuetext", re.compile("^another placement is shown"))
    expect(step).to_have_attribute("data-state", "ready")
    assert sum_of(part(page, "tabs").locator("[data-cause]"), "us") == pytest.approx(moved_us, rel=1e-9)

    rows.first.get_by_text("Download", exact=True).click()
    with page.expect_download() as downloaded:
        rows.first.get_by_role("link", name="Placement (.json)").click()
    page.locator("[data-kept=file]").set_input_files(downloaded.value.path())
    expect(rows).to_have_count(2)
    expect(rows.first).to_contain_text("uploaded")
    assert rows.first.locator("td.number").inner_text() == rows.last.locator("td.number").inner_text()
    page.locator("[data-kept=file]").set_input_files(
        {"name": "no.json", "mimeType": "application/json", "buffer": b"{}"}
    )
    expect(page.locator("[data-kept=message]")).to_contain_text("op0: it is not placed")

    page.on("dialog", lambda dialog: dialog.accept())
    rows.first.get_by_role("button", name="Rename").click()
    rows.first.get_by_label("New name").fill("theirs")
    rows.first.get_by_role("button", name="Save").click()
    expect(rows.first).to_contain_text("theirs")
    rows.first.get_by_role("button", name="Delete").click()
    expect(rows).to_have_count(1)


def several_groups_are_locked_and_moved(page: Page) -> None:
    """Select rows with Shift and Ctrl, lock one, move all: it stays, the rest gain what was told."""
    rows = open_tab(page, "Groups").locator("tbody tr")
    expect(part(page, "shown")).not_to_contain_text("Kept")
    rows.nth(1).click()
    page.keyboard.press("k")
    expect(rows.nth(1)).to_contain_text("locked")
    rows.nth(3).click(modifiers=["Shift"])
    rows.nth(5).click(modifiers=["Control"])
    expect(part(page, "chosen")).to_contain_text("4 groups selected")
    rest(page, re.compile(r"group=\d+(,\d+){3}&lock=\d+#groups$"))
    rows.nth(6).click()
    expect(page).to_have_url(re.compile(r"group=\d+&lock=\d+#groups$"))
    page.go_back()
    expect(part(page, "chosen")).to_contain_text("4 groups selected")
    stays = rows.nth(1).locator("td").first.inner_text()
    expect(part(page, "chosen")).to_contain_text("1 locked group stays where it is.")
    pressed = "2" if "GPU 0" in stays else "1"
    reported = part(page, "chosen").locator(f".moves [data-device='{int(pressed) - 1}'] .move-change")
    expect(reported).to_have_text(re.compile("%|fit|equally"))
    words = reported.inner_text()
    page.keyboard.press(pressed)
    expect(part(page, "trial")).to_contain_text(words)
    for index in (2, 3, 5):
        expect(rows.nth(index)).to_contain_text(f"GPU {int(pressed) - 1}")
    assert rows.nth(1).locator("td").first.inner_text() == stays


def groups_are_dragged_onto_devices(page: Page) -> None:
    """Drag groups out of the graph with mouse and finger: onto a device, and nowhere; a locked one stays."""
    bar, graph = part(page, "trial"), page.locator("[data-part=canvas] > .graph-canvas")
    rows = part(page, "groups").locator("tbody tr")
    locked = int(str(rows.filter(has_text="locked").get_attribute("data-group")))
    free = next(group for group in range(OPS) if group != locked)
    row = rows.and_(page.locator(f"[data-group='{free}']"))
    there = 1 if "GPU 0" in row.inner_text() else 0
    page.set_viewport_size({"width": 1280, "height": 2000})  # with room for the graph and the devices
    graph.press("0")

    def place_of(group: int) -> tuple[float, float]:
        box, pixel = graph.bounding_box(), graph.evaluate(NODE_OF, group)
        assert box
        return box["x"] + pixel["x"], box["y"] + pixel["y"]

    def middle_of(target: Locator) -> tuple[float, float]:
        box = target.bounding_box()
        assert box
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    def settle() -> None:
        """Wait until the step is explained and the panel is filled: then nothing moves below the pointer."""
        expect(part(page, "step")).to_have_attribute("data-state", "ready")
        expect(part(page, "chosen").locator(".move-change", has_text="…")).to_have_count(0)
        page.evaluate("scrollTo(0, 0)")  # a key pressed in the graph scrolls it into view

    def drag(group: int) -> Locator:
        settle()
        page.mouse.move(*place_of(group))
        page.mouse.down()
        x, y = place_of(group)
        page.mouse.move(x + 3, y + 12, steps=3)
        target = page.locator(f".drop-bar [data-drop-device='{there}']")
        page.mouse.move(*middle_of(target), steps=3)
        return target

    target = drag(locked)
    expect(page.locator(".drag-ghost")).to_contain_text("4 groups")
    expect(page.locator(".drag-ghost")).to_contain_text("1 locked group stays where it is.")
    page.mouse.move(1278, 1998)
    ghost = page.locator(".drag-ghost").bounding_box()
    assert ghost and ghost["x"] + ghost["width"] <= 1280 and ghost["y"] + ghost["height"] <= 2000, "nothing cuts it"
    page.mouse.move(*middle_of(target), steps=3)
    expect(target).to_have_class(re.compile("is-over"))
    expect(target.locator(".move-change")).to_have_text(re.compile("%|fit|equally"))
    page.keyboard.press("Escape")
    page.mouse.up()
    expect(target).to_be_hidden()
    expect(bar).to_be_hidden()

    graph.press("Escape")
    expect(part(page, "chosen")).to_be_empty()
    graph.press("0")
    still = graph.evaluate(NODE_OF, locked)
    drag(locked)
    expect(page.locator(".drag-ghost")).to_contain_text("1 locked group stays where it is.")
    page.mouse.move(1278, 1998)
    ghost = page.locator(".drag-ghost").bounding_box()
    assert ghost and ghost["x"] + ghost["width"] <= 1280 and ghost["y"] + ghost["height"] <= 2000, "nothing cuts it"
    page.mouse.move(*middle_of(target), steps=3)
    page.mouse.up()
    expect(bar).to_be_hidden()
    nothing = page.locator(".drop-nothing")
    expect(nothing).to_have_text("1 locked group stays where it is.")
    assert graph.evaluate(NODE_OF, locked) == still, "a drag that begins on a node does not pan"

    drag(free)
    expect(nothing).to_be_empty()
    page.mouse.move(*place_of(free), steps=3)
    page.mouse.up()
    expect(nothing).to_contain_text("Nothing moved: ")
    words = drag(free).locator(".move-change")
    expect(words).to_have_text(re.compile("%|fit|equally"))
    reported = words.inner_text()
    page.mouse.up()
    expect(bar).to_contain_text("1 group moved, ")
    expect(bar).to_contain_text(reported)
    expect(row).to_contain_text(f"GPU {there}")
    page.keyboard.press("Control+z")
    expect(bar).not_to_contain_text("moved")
    drag(free)
    page.mouse.move(*middle_of(part(page, "colour-legend").locator(f"[data-drop-device='{there}']")), steps=3)
    page.mouse.up()
    expect(bar).to_contain_text("1 group moved, ")
    page.keyboard.press("Control+z")
    expect(row).not_to_contain_text(f"GPU {there}")
    graph.click(position=graph.evaluate(NODE_OF, free))
    page.keyboard.press(str(there + 1))
    expect(bar).to_contain_text("1 group moved, ")
    page.keyboard.press("Escape")
    expect(part(page, "chosen")).to_be_empty()
    bar.get_by_role("button", name="Discard").click()

    minimap = graph.locator(".minimap")
    graph.press("0")
    expect(minimap).to_be_hidden()
    for _ in range(3):
        graph.press("+")
    expect(minimap).to_be_visible()
    closer = graph.evaluate(NODE_OF, free)
    minimap.click(position={"x": 2, "y": 2})
    assert graph.evaluate(NODE_OF, free) != closer, "a click on the small picture moves the view"

    touch = page.context.new_cdp_session(page)
    expect(bar).to_be_hidden()
    legend = part(page, "colour-legend").locator(f"[data-drop-device='{there}']")
    graph.press("0")
    expect(minimap).to_be_hidden()
    settle()
    page.wait_for_timeout(600)  # until the view has come to rest
    x, y = place_of(free)
    for kind, at in (
        ("touchStart", (x, y)),
        ("touchMove", (x, y + 12)),
        ("touchMove", middle_of(legend)),
        ("touchEnd", None),
    ):
        points = [{"x": at[0], "y": at[1]}] if at else []
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    expect(bar).to_be_visible()
    expect(bar).to_contain_text("1 group moved")
    bar.get_by_role("button", name="Discard").click()
    expect(bar).to_be_hidden()


def the_gains_are_shown_and_a_run_goes_on(page: Page, shown_us: float) -> None:
    """Open the map of gains, whose first request fails, then start a run from the shown placement."""
    open_tab(page, "Groups").locator("tbody tr").first.click()  # so that nothing else asks for them
    page.get_by_label("Episode shown").fill("0")
    refused: list[Route] = []

    def refuse_all_moves_once(route: Route) -> None:
        if refused or '"groups"' in str(route.request.post_data):
            route.continue_()
        else:
            refused.append(route)
            route.abort()

    page.route("**/gains.json", refuse_all_moves_once)
    open_tab(page, "Gains")
    gains = part(page, "gains")
    gains.get_by_role("button", name="Try again").click()
    expect(gains.locator("[data-gains=words]")).to_contain_text(re.compile("Best single move|No single move"))
    if (rest := gains.get_by_role("button", name=re.compile("more group"))).is_visible():
        rest.click()
    expect(gains.locator("tbody tr")).to_have_count(OPS)
    expect(gains.locator("tbody tr").first).to_contain_text("here")
    page.locator("[data-player=best]").click()
    kept = open_tab(page, "Kept placements")
    kept.get_by_text("Go on from here").click()
    kept.get_by_label("Evaluations").fill("50")
    kept.get_by_role("button", name="Start the run").click()
    expect(part(page, "start")).to_contain_text("1 locked group stays where it is")
    expect_status(page, "done")
    report = page.request.get(f"{address_of(page)}report.json").json()
    assert report["start_step_time_us"] == pytest.approx(shown_us, rel=1e-9)
    assert report["step_time_us"] <= report["start_step_time_us"]
    assert report["pinned_groups"] == 1


SETTLED = "() => new Promise(done => setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(done)), 300))"
OTHER_RUN = {"id": "0b9ed6ff-4b0c-4d4e-9c52-4f5ee2b5b1d5", "method": "heft", "label": "HEFT", "name": "", "seed": 0}


def test_the_shown_placement_is_compared_with_a_baseline(page: Page, tmp_path: Path) -> None:
    run_on_a_tree(page, tmp_path, "Compared", "local_search", 2000)
    address = page.url
    run = page.request.get(f"{address}run.json").json()
    compare = part(page, "compare")
    expect(compare.locator(".compare-body")).to_be_hidden()

    compare.get_by_label("Shown placement with").select_option("baseline-single_device")
    expect(compare).to_have_attribute("data-state", "ready")
    expect(page).to_have_url(re.compile("against=baseline-single_device"))
    late: list[Route] = []
    page.route("**/others.json", lambda route: late.append(route))
    page.reload()
    expect(compare).to_have_attribute("data-state", "ready")
    expect(compare.locator("[data-compare=sentence]")).to_contain_text("moved")
    rows = compare.locator(".moves-table tbody tr")
    back = rows.locator("[data-us]")
    expect(back).to_have_count(rows.count())
    the_rows_stay_when_the_list_of_runs_comes(page, rows, late)
    events = page.request.get(f"{address}events.json").json()["events"]
    baseline = next(event for event in events if event.get("method") == "single_device")
    difference_us = run["best_step_time_us"] - baseline["step_time_us"]
    for parts in ("causes", "devices"):
        columns = compare.locator(f"[data-parts={parts}] tfoot td").count()
        total_us = sum_of(compare.locator(f"[data-parts={parts}] tbody [data-us]"), "us")
        assert total_us == pytest.approx(columns * difference_us, rel=1e-6, abs=1e-6), parts

    changes = [float(text) for text in back.evaluate_all("all => all.map(cell => cell.dataset.us)")]
    assert changes == sorted(changes, reverse=True), "the move that is worth most comes first"
    key = rows.first.get_attribute("data-key")
    row = compare.locator(f".moves-table tbody tr[data-key='{key}']")  # wherever it is once all moves are known
    row.click()
    expect(row).to_have_attribute("aria-selected", "true")
    chosen = part(page, "groups").locator("tr[aria-selected=true]")
    expect(chosen).to_have_attribute("data-group", str(row.get_attribute("data-key")))
    back_there = part(page, "chosen").locator(".moves button[aria-pressed=false] .move-change")
    expect(back_there).to_have_text(re.compile("faster|slower|equally"))
    gap = back_there.inner_text().partition(":")[0]
    assert gap in row.inner_text(), "the move back is worth what the simulation says"

    compare.get_by_role("button", name="Side by side").click()
    stages = compare.locator(".compare-stages .graph-canvas")
    expect(stages).to_have_count(2)
    stages.nth(0).scroll_into_view_if_needed()
    stages.nth(0).hover(position=stages.nth(0).evaluate(NODE_OF, 0))
    expect(compare.locator(".compare-stages .tip")).to_contain_text("1 op")
    expect(compare.get_by_role("img", name="Timeline of")).to_have_count(2)
    expect(compare.get_by_role("img", name="Timeline of Single device")).to_be_visible()
    stages.nth(1).press("+")
    places = [stages.nth(index).evaluate(NODE_OF, 1) for index in (0, 1)]
    assert places[0] == places[1], "both graphs show the same part"
    open_tab(page, "Groups")
    rest(page, re.compile("beside=1"))
    chosen.click()
    expect(row).to_have_attribute("aria-selected", "false")
    expect(page).not_to_have_url(re.compile("group="))
    page.go_back()
    expect(row).to_have_attribute("aria-selected", "true")
    page.go_back()
    expect(compare).to_have_attribute("data-look", "differences")

    compare.get_by_label("Shown placement with").select_option("best")
    expect(compare.locator("[data-compare=sentence]")).to_contain_text("Every group is where it is in ")


def the_rows_stay_when_the_list_of_runs_comes(page: Page, rows: Locator, late: list[Route]) -> None:
    """What takes the row from under the pointer loses the click: mouse-down and mouse-up meet different elements."""
    row = rows.first.element_handle()
    row.scroll_into_view_if_needed()

    def is_asked() -> bool:
        page.wait_for_timeout(20)
        return len(late) > 0

    eventually(is_asked, "the page asks for the other runs")
    late[0].fulfill(json={"runs": [{**OTHER_RUN, "step_time_us": 700.0}]})
    expect(part(page, "compare").locator(f"option[value=run-{OTHER_RUN['id']}]")).to_have_count(1)
    page.evaluate(SETTLED)
    assert row.evaluate("row => row.isConnected"), "nothing else is compared: the table is not written again"
