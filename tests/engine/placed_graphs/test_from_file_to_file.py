"""A SavedModel on its way out: prepared, its placement as JSON, `apply`, and a graph that runs as it is placed."""

import json
from pathlib import Path

import numpy as np

from engine import api
from engine.child.parent import no_progress, run_in_child
from engine.cli.main import main

IN_CHILD = "tests.engine.placed_graphs.in_child"
LIMITS = api.Limits(memory_bytes=12 * 1024**3, seconds=300.0)


def test_a_saved_model_is_placed_and_runs(tmp_path: Path) -> None:
    build = f"{IN_CHILD}:build_sample_in_child"
    run_in_child(build, {"name": "SavedModel", "folder": str(tmp_path)}, LIMITS, task="building", is_warm=True)
    source, stored, placed = (tmp_path / name for name in ("saved_model.zip", "placement.json", "placed.pbtxt"))
    prepared = api.prepare(source, ".zip", no_progress, LIMITS, groups=None)
    devices = np.random.default_rng(0).integers(0, 2, prepared.grouping.group_count)
    placement = api.placement_to_json(prepared, api.parse_cluster("2xK80"), api.SplitPlacement(devices.tolist()))
    stored.write_text(json.dumps(placement))
    assert main(["apply", str(source), "--placement", str(stored), "--out", str(placed), "--short-devices"]) == 0
    fetches: list[api.Json] = list(prepared.origin.fetches)
    order: dict[str, api.Json] = {"source": str(source), "placed": str(placed), "fetches": fetches}
    _, texts = run_in_child(f"{IN_CHILD}:run_downloaded_in_child", order, LIMITS, task="running")
    assert texts.pop("executed") == len(placement) - 1  # the input is fed
    assert texts == {"written": ["/device:GPU:0", "/device:GPU:1"], "mismatches": [], "unequal": []}
