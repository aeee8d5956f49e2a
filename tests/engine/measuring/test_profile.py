"""A profile: what was run is measured, what cannot be run or must not be is one clear line."""

from pathlib import Path
from typing import cast

import numpy as np

from engine import api
from engine.child import Limits
from engine.costs.costs import Source
from engine.graphs.reading_options import ReadingOptions

LIMITS = Limits(memory_bytes=6 * 1024**3, seconds=120.0)
AS_IT_IS = ReadingOptions()


def test_what_was_run_is_measured_on_the_cpu_and_estimated_elsewhere(tiny_cnn_path: Path, tmp_path: Path) -> None:
    out = tmp_path / "run_metadata.pb"
    stages: list[str] = []
    told = api.profile(
        tiny_cnn_path, ".pb", out, AS_IT_IS, LIMITS, lambda stage, *_: stages.append(stage), steps=3, threads=1
    )
    assert told["targets"] == ["loss", "train_step"]
    assert told["left_out"] == []
    assert stages.count("running the graph") == 2 + 2 * 3
    plain = api.prepare(tiny_cnn_path, ".pb", lambda *_: None, LIMITS)
    profiled = api.prepare(tiny_cnn_path, ".pb", lambda *_: None, LIMITS, run_metadata=out)
    sources = cast(dict[str, int], profiled.summary()["sources"])
    assert sources == {"measured": told["measured_ops"], "estimated": plain.graph.op_count - sources["measured"]}
    inputs = {"images", "labels"}  # what is fed does not run
    estimated = np.flatnonzero(profiled.costs.source == Source.ESTIMATED)
    assert {plain.graph.op_names[op] for op in estimated} == inputs
    cpu = plain.costs.kinds.index("CPU")
    gpus = [row for row in range(len(plain.costs.kinds)) if row != cpu]
    assert np.array_equal(profiled.costs.time_us[gpus], plain.costs.time_us[gpus])
    assert profiled.costs.time_us[cpu].sum() > 0
    assert np.any(profiled.costs.time_us[cpu] != plain.costs.time_us[cpu])


def test_the_same_numbers_of_bytes_as_estimated_where_both_know(tiny_cnn_path: Path, tmp_path: Path) -> None:
    """Shapes do not depend on who tells them; the library's own outputs of a normalisation are a GPU's alone."""
    out = tmp_path / "run_metadata.pb"
    api.profile(tiny_cnn_path, ".pb", out, AS_IT_IS, LIMITS, lambda *_: None, steps=1)
    plain = api.prepare(tiny_cnn_path, ".pb", lambda *_: None, LIMITS).costs
    profiled = api.prepare(tiny_cnn_path, ".pb", lambda *_: None, LIMITS, run_metadata=out).costs
    differs = plain.output_bytes != profiled.output_bytes
    assert np.all(plain.output_bytes[differs] <= profiled.output_bytes[differs])
    assert np.count_nonzero(differs) <= 12
