"""The pages that are measured, what is done on each, and its goals."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.bench_ui.browser import Gesture, pan, play, play_fast, rest, scrub, zoom
from tests.bench_ui.figures import Goal
from tests.bench_ui.material import MATERIAL

GRAPH = "[data-part=canvas]"
TIMELINE = "[data-step=timeline]"
PLAYER = "[data-part=player]"
GRAPH_DRAWN = 'document.querySelector("[data-part=canvas]").graphView'
EPISODE_SHOWN = f'{GRAPH_DRAWN} && document.querySelector("[data-part=shown]").textContent'
STEP_SHOWN = 'document.querySelector("[data-part=step]").dataset.state === "ready"'
FLAT_DRAWN = (
    'document.querySelector("[data-part=canvas]").flatView.drawn'
    ' && document.querySelector("[data-part=shown]").textContent'
)
ALL_EPISODES = f'Number(document.querySelector("{PLAYER} input").max) >= {MATERIAL["100,000 episodes"].episodes - 1}'

SMALL, MIDDLE, LARGE = Goal(1000, 30), Goal(2000, 20), Goal(5000, 10)


@dataclass(frozen=True, slots=True)
class Case:
    """One page."""

    material: str
    """name of a graph in `MATERIAL`; empty: none"""
    page: str
    """`graph` or `run`; empty: the list of projects"""
    drawn: str
    """JavaScript that is true once the page shows what it is opened for"""
    goal: Goal = field(default_factory=Goal)
    gestures: Mapping[str, tuple[Gesture, str]] = field(default_factory=dict)
    """name → what is done, and where"""
    patience_seconds: float = 60.0
    query: str = ""
    """of the address"""


MOVING: dict[str, tuple[Gesture, str]] = {"pan": (pan, GRAPH), "zoom": (zoom, GRAPH)}
PLAYING: dict[str, tuple[Gesture, str]] = {"play": (play, GRAPH), **MOVING}

CASES = {
    "empty page": Case(
        "", "", "document.readyState === 'complete'", gestures={"nothing": (rest, "main"), "pan": (pan, "main")}
    ),
    "graph of 160 groups": Case("160 groups", "graph", GRAPH_DRAWN, SMALL, MOVING),
    "run on 160 groups": Case("160 groups", "run", EPISODE_SHOWN, SMALL, PLAYING),
    "graph of 1,000 groups": Case("1,000 groups", "graph", GRAPH_DRAWN, MIDDLE, MOVING),
    "run on 1,000 groups": Case("1,000 groups", "run", EPISODE_SHOWN, MIDDLE, PLAYING),
    "run on 20,000 ops in 128 groups": Case("20,000 ops", "run", EPISODE_SHOWN, LARGE, PLAYING),
    "run on 20,000 ops, all drawn": Case("20,000 ops", "run", FLAT_DRAWN, LARGE, PLAYING, query="?draw=ops"),
    "run on 20,000 groups": Case("20,000 groups", "run", FLAT_DRAWN, LARGE, PLAYING),
    "timeline of 20,000 bars": Case(
        "20,000 ops", "run", STEP_SHOWN, Goal(None, 30), {"pan": (pan, TIMELINE), "zoom": (zoom, TIMELINE)}
    ),
    "run of 100,000 episodes": Case(
        "100,000 episodes",
        "run",
        ALL_EPISODES,
        Goal(None, 30),
        {"play, 250 a second": (play_fast, PLAYER), "scrub": (scrub, PLAYER)},
        180.0,
    ),
}
