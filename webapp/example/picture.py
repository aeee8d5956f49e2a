"""The picture of the home page, drawn from the example: what the run found, and the step before and after."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from engine import api
from webapp.example.example_file import ExampleFile

WIDTH, LEFT, RIGHT = 560.0, 62.0, 548.0
CHART_TOP, CHART_BOTTOM = 26.0, 132.0
LANE_HEIGHT = 15.0
BEFORE_TOP, AFTER_TOP, HEIGHT = 182.0, 264.0, 338.0
DOTS = 250
LEAST_GAP_US = 2000.0
"""shorter pauses of a device are not drawn"""


def picture_of(example: ExampleFile) -> str:
    """The picture as SVG for a page, whose style sheet has its colours. Times run from left to right, in one scale."""
    episodes = [event.event for event in example.events if isinstance(event.event, api.Episode)]
    single = next(event.event for event in example.events if isinstance(event.event, api.Baseline))
    cluster = example.request.run().cluster
    session = api.Session(api.PreparedGraph.from_bytes(example.prepared), cluster)
    before = session.explain(session.by_group([0] * session.prepared.grouping.group_count))
    after = session.explain(session.by_levels(api.placement_of_report(example.report)))
    names = [device.name.removeprefix("/device:").replace(":", " ") for device in cluster.devices]
    single_us = before.timeline.step_time_us
    assert single.step_time_us == single_us, "the first baseline is the best single device"
    best_us = after.timeline.step_time_us
    words = f"One step takes {_ms(single_us)} on one GPU, and {_ms(best_us)} with the placement that Placeto found."
    parts = [
        f'<svg class="home-picture" viewBox="0 0 {WIDTH:.0f} {HEIGHT:.0f}" role="img" aria-label="{words}">',
        *_chart(episodes, single_us, best_us),
        *_step("All on one GPU", before, names[:2], BEFORE_TOP, single_us),
        *_step("With the placement found", after, names, AFTER_TOP, single_us),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _chart(episodes: Sequence[api.Episode], single_us: float, best_us: float) -> list[str]:
    """Step times of the episodes, and the best so far."""
    top_us, last = 1.08 * single_us, episodes[-1].evaluations
    scale = (CHART_BOTTOM - CHART_TOP) / (top_us - 0.97 * best_us)

    def x(evaluations: int) -> float:
        return LEFT + (RIGHT - 62.0 - LEFT) * evaluations / last

    def y(time_us: float) -> float:
        return max(CHART_TOP, CHART_BOTTOM - (time_us - 0.97 * best_us) * scale)

    shown = [episode for episode in episodes if episode.step_time_us < top_us]
    dots = [
        f'<circle cx="{x(episode.evaluations):.1f}" cy="{y(episode.step_time_us):.1f}" r="1.6"/>'
        for episode in shown[:: max(1, len(shown) // DOTS)]
    ]
    line, best = "", float("inf")
    for episode in episodes:
        found = episode.best_step_time_us
        if found is not None and found < best:
            line += f"M{LEFT:.1f} {y(found):.1f}" if not line else f"H{x(episode.evaluations):.1f}V{y(found):.1f}"
            best = found
    return [
        '<text class="home-title" x="0" y="14">Step time of each placement tried</text>',
        f'<g class="home-dots">{"".join(dots)}</g>',
        f'<path class="home-single" d="M{LEFT:.1f} {y(single_us):.1f}H{RIGHT - 62:.1f}"/>',
        f'<path class="home-best" d="{line}H{RIGHT - 62:.1f}"/>',
        f'<text x="{RIGHT:.0f}" y="{y(single_us) + 4:.1f}" text-anchor="end">{_ms(single_us)}</text>',
        f'<text class="home-found" x="{RIGHT:.0f}" y="{y(best_us) + 4:.1f}" text-anchor="end">{_ms(best_us)}</text>',
    ]


def _step(title: str, step: api.Explanation, names: list[str], top: float, longest_us: float) -> list[str]:
    """The lanes of one step."""
    timeline = step.timeline
    scale = (RIGHT - LEFT) / longest_us
    parts = [f'<text class="home-title" x="0" y="{top - 8:.0f}">{title}: {_ms(timeline.step_time_us)}</text>']
    for device, name in enumerate(names):
        y = top + device * (LANE_HEIGHT + 5.0)
        ops = timeline.device_of_op == device
        bars = "".join(
            f"M{LEFT + start * scale:.1f} {y:.0f}h{max(0.5, (end - start) * scale):.1f}v{LANE_HEIGHT:.0f}"
            f"h-{max(0.5, (end - start) * scale):.1f}z"
            for start, end in _busy(timeline.start_us[ops], timeline.end_us[ops])
        )
        parts += [
            f'<text x="0" y="{y + 12:.0f}">{name}</text>',
            f'<path class="home-lane" d="M{LEFT:.0f} {y:.0f}H{RIGHT:.0f}v{LANE_HEIGHT:.0f}H{LEFT:.0f}z"/>',
        ]
        if bars:
            parts.append(f'<path class="home-device-{device}" d="{bars}"/>')
    end = LEFT + timeline.step_time_us * scale
    height = len(names) * (LANE_HEIGHT + 5.0) - 1
    parts.append(f'<path class="home-end" d="M{end:.1f} {top - 2:.0f}v{height:.0f}"/>')
    return parts


def _busy(start_us: NDArray[np.float64], end_us: NDArray[np.float64]) -> list[tuple[float, float]]:
    """(start, end) of the stretches in which a device computes, short pauses left out."""
    stretches: list[tuple[float, float]] = []
    for start, end in sorted(zip(start_us.tolist(), end_us.tolist(), strict=True)):
        if stretches and start - stretches[-1][1] < LEAST_GAP_US:
            stretches[-1] = (stretches[-1][0], max(end, stretches[-1][1]))
        else:
            stretches.append((start, end))
    return stretches


def _ms(time_us: float) -> str:
    return f"{time_us / 1000:.0f} ms"
