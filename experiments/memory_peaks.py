"""Peaks of memory: what TensorFlow's allocator held in measured steps on a CPU, beside the simulated peak.

`python -m experiments memory_peaks` writes docs/results/memory_peaks.md and keeps each graph's figures in
docs/results/kept/memory_peaks.jsonl, so that a second call continues. Each step runs on one device, in a process of
its own, and is simulated with TensorFlow's order (`sender`): steps of the zoo, and inference of the suite of models.
"""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from engine import api
from engine.errors import PlacetoError
from experiments import looped_training
from experiments.grid import KeptResults, measure_cells_here, of_any_code
from experiments.keras_files import OPTIONS, keras_file
from experiments.pages import ReportLine, table_of_figures, write_page

NAME = "memory_peaks"
COMMAND = f"python -m experiments {NAME}"
CLUSTER = '{"devices": [{"name": "/device:CPU:0", "kind": "CPU"}], "links": {"contention": "sender"}}'
GROUPS, STEPS = 128, 3
TURNS = 3
"""runs of each graph: the allocator gives out more or less in each"""
MEGABYTE = 1e6
ABOVE, BELOW = 0.15, 0.05
"""a simulated peak is right where it is at most this much above the measured one, or below it"""


@dataclass(frozen=True, slots=True)
class MeasuredModel:
    """A graph of the zoo, with its settings, a model of the suite, or a training step through a loop."""

    name: str
    words: str
    settings: Mapping[str, api.Json] = field(default_factory=dict)
    from_keras: bool = False
    """whether it is a model of the suite"""

    def __str__(self) -> str:
        return self.words

    def __hash__(self) -> int:
        return hash(self.words)

    @property
    def key(self) -> dict[str, api.Json]:
        return {"name": self.name, "settings": dict(self.settings)}

    def write(self, folder: Path) -> tuple[Path, api.ReadingOptions]:
        """Its file, written into `folder` unless the suite has written it; and the options for reading it."""
        if self.from_keras:
            return keras_file(self.name, "saved_model"), OPTIONS
        path = folder / f"{self.name}.pb"
        if self.name == LOOPED:
            looped_training.write(str(self.settings["form"]), path, **LAYER)
            return path, api.ReadingOptions()
        api.build(self.name, path, lambda *_: None, self.settings)
        return path, api.ReadingOptions()


NMT = {"batch": 128, "steps": 8, "units": 512, "vocabulary": 8000}
LOOPED = "looped_training"
LAYER = {"steps": 32, "batch": 256, "units": 256}
GRAPHS = (
    MeasuredModel("inception_v3", "Inception-V3, training, batch 8", {"batch": 8}),
    MeasuredModel("nasnet", "NASNet, training, batch 8", {"batch": 8}),
    MeasuredModel("nmt", "NMT, training, batch 128", NMT),
    MeasuredModel("nmt", "NMT, training, batch 256", NMT | {"batch": 256}),
    MeasuredModel("inception_v3", "Inception-V3, inference, batch 32", {"batch": 32, "inference": True}),
    MeasuredModel("nasnet", "NASNet, inference, batch 32", {"batch": 32, "inference": True}),
    MeasuredModel(LOOPED, "LSTM in a loop with lists, training", {"form": "lists"}),
    MeasuredModel(LOOPED, "LSTM in a loop with stacks, training", {"form": "stacks"}),
    MeasuredModel("resnet50", "ResNet50, inference", from_keras=True),
    MeasuredModel("xception", "Xception, inference", from_keras=True),
    MeasuredModel("convnext_tiny", "ConvNeXtTiny, inference", from_keras=True),
    MeasuredModel("efficientnet_v2_b0", "EfficientNetV2B0, inference", from_keras=True),
    MeasuredModel("densenet121", "DenseNet121, inference: many small tensors", from_keras=True),
    MeasuredModel("unet", "U-Net, inference: small", from_keras=True),
)


def run(folder: Path, report: ReportLine) -> str:
    """Measure what is missing, write `folder`/memory_peaks.md, and return the page; a graph that fails has no row."""
    kept = KeptResults(folder / "kept" / f"{NAME}.jsonl", also=of_any_code)
    for graph in GRAPHS:
        try:
            measure_cells_here(kept, {graph: graph.key}, measured, report)
        except PlacetoError as error:  # such as a step that does not end in time on a busy machine
            report(f"{graph.words}: {error}")
            continue
        write_page(folder, NAME, page(kept))
    return write_page(folder, NAME, page(kept))


def measured(graph: MeasuredModel) -> dict[str, api.Json]:
    """`peak_bytes` and the rest of the report on the one device, in the median run; `peaks_bytes` of all runs."""
    with tempfile.TemporaryDirectory() as work:
        path, options = graph.write(Path(work))
        prepared = api.prepare(path, path.suffix, lambda *_: None, api.Limits(), GROUPS, options=options)
        placement: api.Json = dict.fromkeys(prepared.graph.op_names, "/device:CPU:0")
        turns = sorted((_turn(path, placement, options) for _ in range(TURNS)), key=lambda turn: turn["peak_bytes"])
    wanted = ("peak_bytes", "simulated_peak_bytes", "simulated_in_measured_order_bytes", "resident_peak_bytes")
    median = {name: turns[TURNS // 2].get(name) for name in wanted}
    return median | {"peaks_bytes": [turn["peak_bytes"] for turn in turns]}


def _turn(path: Path, placement: api.Json, options: api.ReadingOptions) -> dict[str, Any]:
    """The report on the one device of one run."""
    report = api.measure(
        path,
        path.suffix,
        placement,
        options,
        api.MEASURING_LIMITS,
        cluster=api.parse_cluster(CLUSTER),
        steps=STEPS,
        processes=True,
    )
    (device,) = cast(list[dict[str, Any]], report["memory"])
    return device


def page(kept: KeptResults) -> str:
    """The table, and how many graphs are within the limits."""
    found = [(graph.words, kept[graph.key]) for graph in GRAPHS if graph.key in kept]
    rows = [_row(words, figures) for words, figures in found]
    right = sum(-BELOW <= _above(figures) <= ABOVE for _, figures in found)
    head = ("step on one CPU", "measured, MB", "simulated, MB", "simulated / measured", "in the measured order, MB")
    lines = [
        "# Peaks of memory, measured and simulated",
        "",
        f"    {COMMAND}",
        "",
        f"What TensorFlow's allocator held at most in the measured steps, the median of {TURNS} runs and their range,",
        "beside the simulated peak, and beside what the simulator counts if each op takes place when it was traced.",
        f"{right} of {len(found)} simulated peaks are at most {ABOVE:.0%} above the measured one or {BELOW:.0%} below.",
        "",
        *table_of_figures(head, rows),
        "",
        "The allocator counts allocations of at least 256 KiB, rounded up: many small tensors are missing in what was",
        "measured, and small graphs cannot be compared; see [measuring.md](../measuring.md).",
        "",
        *_missing(kept),
        f"Made by {kept.made([graph.key for graph in GRAPHS if graph.key in kept])}.",
    ]
    return "\n".join(lines) + "\n"


def _missing(kept: KeptResults) -> list[str]:
    """A paragraph on the graphs without figures; none where there are all."""
    lacking = [graph.words for graph in GRAPHS if graph.key not in kept]
    return [f"Not measured: {'; '.join(lacking)}.", ""] if lacking else []


def _row(words: str, figures: Mapping[str, Any]) -> Sequence[str]:
    in_order = figures["simulated_in_measured_order_bytes"]
    low, *_, high = figures["peaks_bytes"]
    return (
        words,
        f"{figures['peak_bytes'] / MEGABYTE:,.1f} ({low / MEGABYTE:,.1f}–{high / MEGABYTE:,.1f})",
        f"{figures['simulated_peak_bytes'] / MEGABYTE:,.1f}",
        f"{1 + _above(figures):.3f}",
        "–" if in_order is None else f"{in_order / MEGABYTE:,.1f}",
    )


def _above(figures: Mapping[str, Any]) -> float:
    """By which share the simulated peak is above the measured one."""
    return float(figures["simulated_peak_bytes"] / figures["peak_bytes"] - 1)
