"""The pages that are measured, what is done on each, and its goals."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.bench_ui.browser import Gesture, open_and_close, pan, play, play_fast, rest, scrub, zoom
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
BLOCKS = "[data-drawn=blocks].flat-canvas"
BLOCKS_DRAWN = f"document.querySelector('{BLOCKS}').blocksView.drawn"
ALL_EPISODES = f'Number(document.querySelector("{PLAYER} input").max) >= {MATERIAL["100,000 episodes"].episodes - 1}'

SMALL, MIDDLE, LARGE = Goal(1000, 30), Goal(2000, 20), Goal(5000, 10)
IN_BLOCKS = Goal(1000, 50)


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
IN_PLACE: dict[str, tuple[Gesture, str]] = {**PLAYING, "open and close": (open_and_close, BLOCKS)}
GROUPS = "?draw=groups"
"""of an address: the picture that is not the first one of a graph with scopes"""

CASES = {
    "empty page": Case(
        "", "", "document.readyState === 'complete'", gestures={"nothing": (rest, "main"), "pan": (pan, "main")}
    ),
    "graph of 160 groups": Case("160 groups", "graph", GRAPH_DRAWN, SMALL, MOVING, query=GROUPS),
    "run on 160 groups": Case("160 groups", "run", EPISODE_SHOWN, SMALL, PLAYING, query=GROUPS),
    "graph of 1,000 groups": Case("1,000 groups", "graph", GRAPH_DRAWN, MIDDLE, MOVING, query=GROUPS),
    "run on 1,000 groups": Case("1,000 groups", "run", EPISODE_SHOWN, MIDDLE, PLAYING, query=GROUPS),
    "run on 20,000 ops in 128 groups": Case("20,000 ops", "run", EPISODE_SHOWN, LARGE, PLAYING, query=GROUPS),
    "blocks of 1,000 ops": Case("1,000 ops", "run", BLOCKS_DRAWN, IN_BLOCKS, IN_PLACE),
    "blocks of 5,000 ops": Case("5,000 ops", "run", BLOCKS_DRAWN, IN_BLOCKS, IN_PLACE),
    "blocks of 20,000 ops": Case("20,000 ops", "run", BLOCKS_DRAWN, IN_BLOCKS, IN_PLACE),
    "run on 20,000 ops, all drawn": Case("20,000 ops", "run", FLAT_DRAWN, LARGE, PLAYING, query="?draw=ops"),
    "run on 20,000 groups": Case("20,000 groups", "run", FLAT_DRAWN, LARGE, PLAYING, query=GROUPS),
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
