"""What other tools do with PyTorch models on several cards, beside Auto: step time, memory, and whether it fits.

`python -m experiments elsewhere` writes docs/results/elsewhere.{md,json}. It records each model by its sizes, as
`python -m placeto record --hf` does (transformers has to be installed), and simulates the placement of each rule alone:
no other placement takes its place. Auto has `EVALUATIONS` evaluations. Each row is kept in kept/elsewhere.jsonl there,
so a second call continues where the first stopped.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from engine import VERSION, api
from engine.placers.registry import PLACERS, SHIPPED, make_placer
from engine.problem.making import problem_of
from experiments.folders import ROOT
from experiments.grid import KeptResults, Measurement, measure_cells_here, write_known
from experiments.pages import ReportLine, table_of_figures

COMMAND = "python -m experiments elsewhere"
NAME = "elsewhere"
EVALUATIONS = 2000
OURS = "auto"
METHODS = (*(name for name, method in PLACERS.items() if method.kind == SHIPPED), OURS)
PREFILL, DECODE, TRAINING = "prefill", "decode", "training"
GIB = 2**30
LLAMA: dict[str, api.Json] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "max_position_embeddings": 4096,
}
SIZES: Mapping[str, Mapping[str, api.Json]] = {
    "7B": LLAMA
    | {
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "num_key_value_heads": 32,
        "hidden_size": 4096,
        "intermediate_size": 11008,
        "vocab_size": 32000,
    },
    "70B": LLAMA
    | {
        "num_hidden_layers": 80,
        "num_attention_heads": 64,
        "num_key_value_heads": 8,
        "hidden_size": 8192,
        "intermediate_size": 28672,
        "vocab_size": 128256,
    },
    "8x7B": {
        "architectures": ["MixtralForCausalLM"],
        "model_type": "mixtral",
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "hidden_size": 4096,
        "intermediate_size": 14336,
        "num_local_experts": 8,
        "num_experts_per_tok": 2,
        "vocab_size": 32000,
        "max_position_embeddings": 4096,
    },
    "GPT-2": {"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2"},
    "GPT-2, untied": {"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "tie_word_embeddings": False},
    "BART-large": {
        "architectures": ["BartForConditionalGeneration"],
        "model_type": "bart",
        "encoder_layers": 12,
        "decoder_layers": 12,
        "d_model": 1024,
        "encoder_attention_heads": 16,
        "decoder_attention_heads": 16,
        "encoder_ffn_dim": 4096,
        "decoder_ffn_dim": 4096,
        "vocab_size": 50265,
    },
    "ResNet-152": {
        "architectures": ["ResNetForImageClassification"],
        "model_type": "resnet",
        "depths": [3, 8, 36, 3],
        "layer_type": "bottleneck",
        "hidden_sizes": [256, 512, 1024, 2048],
    },
    "ConvNeXt-L": {
        "architectures": ["ConvNextForImageClassification"],
        "model_type": "convnext",
        "depths": [3, 3, 27, 3],
        "hidden_sizes": [192, 384, 768, 1536],
    },
    "ViT-H": {
        "architectures": ["ViTForImageClassification"],
        "model_type": "vit",
        "num_hidden_layers": 32,
        "num_attention_heads": 16,
        "hidden_size": 1280,
        "intermediate_size": 5120,
        "patch_size": 14,
    },
    "Swin-L": {
        "architectures": ["SwinForImageClassification"],
        "model_type": "swin",
        "embed_dim": 192,
        "depths": [2, 2, 18, 2],
        "num_heads": [6, 12, 24, 48],
        "window_size": 7,
    },
    "RegNet-Y-128GF": {
        "architectures": ["RegNetForImageClassification"],
        "model_type": "regnet",
        "layer_type": "y",
        "depths": [2, 7, 17, 1],
        "hidden_sizes": [528, 1056, 2904, 7392],
        "groups_width": 264,
    },
}
"""name → a configuration of published sizes"""


@dataclass(frozen=True, slots=True)
class Recorded:
    """A model's step, and the clusters on which it is placed."""

    model: str
    step: str
    """prefill, decode or training"""
    batch: int
    clusters: tuple[str, ...]
    length: int = 1024
    dtype: str = "bfloat16"

    def key(self, cluster: str, method: str) -> Measurement:
        """What a row measures."""
        return {
            "model": self.model,
            "step": self.step,
            "batch": self.batch,
            "length": self.length,
            "dtype": self.dtype,
            "cluster": cluster,
            "method": method,
            "evaluations": EVALUATIONS if method == OURS else 1,
        }

    def record(self, out: Path) -> None:
        """Record the step as the file `out`."""
        config = out.with_name(f"{self.model}.json")
        config.write_text(json.dumps(SIZES[self.model]))
        kinds = {PREFILL: (), DECODE: ("--phase", "decode"), TRAINING: ("--train",)}
        arguments = ("--batch", str(self.batch), "--length", str(self.length), "--dtype", self.dtype)
        command = [sys.executable, "-m", "placeto", "record", "--hf", str(config), *arguments, *kinds[self.step]]
        subprocess.run([*command, "--out", str(out)], cwd=ROOT / "client", check=True)  # noqa: S603  # our own words

    def prepare(self) -> api.PreparedGraph:
        """Record the step and read it."""
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "step.json.gz"
            self.record(out)
            return api.prepare(out, api.suffix_of(out.name), lambda *_: None, api.Limits())


VISION = (("ResNet-152", 64), ("ConvNeXt-L", 32), ("ViT-H", 16), ("Swin-L", 32), ("RegNet-Y-128GF", 16))
"""model, batch"""
UNEVEN = "2xRTX4090+2xRTX3090"
STEPS = (
    Recorded("7B", PREFILL, 4, ("2xRTX4090", UNEVEN)),
    Recorded("7B", DECODE, 16, ("2xRTX4090", UNEVEN)),
    Recorded("7B", TRAINING, 1, ("4xA100", "2xA100+4xL40S")),
    Recorded("8x7B", PREFILL, 4, ("4xRTX4090+4xRTX3090", "2xA100:80GiB+2xL40S")),
    Recorded("8x7B", DECODE, 16, ("4xRTX4090+4xRTX3090", "2xA100:80GiB+2xL40S")),
    Recorded("70B", PREFILL, 4, ("4xA100", "2xH100+2xA100")),
    Recorded("70B", DECODE, 16, ("4xA100", "2xH100+2xA100")),
    Recorded("70B", TRAINING, 1, ("8xH100",)),
    *(
        Recorded(model, TRAINING, batch, ("2xRTX4090", UNEVEN), dtype="float32")
        for model, batch in (
            ("ResNet-152", 64),
            ("ConvNeXt-L", 32),
            ("ViT-H", 16),
            ("Swin-L", 32),
            ("RegNet-Y-128GF", 16),
        )
    ),
)


def run(folder: Path, report: ReportLine) -> str:
    """Measure what is missing, write `folder`/elsewhere.{md,json} after each model, and return the page."""
    kept = KeptResults(folder / "kept" / f"{NAME}.jsonl")
    for step in STEPS:
        measure(kept, step, report)
        write_known(folder, NAME, kept, all_keys(), page)
    return write_known(folder, NAME, kept, all_keys(), page)


def measure(kept: KeptResults, step: Recorded, report: ReportLine) -> None:
    """The rows of one step that `kept` lacks; it is recorded once, if at all."""
    prepared = cache(step.prepare)
    for cluster in step.clusters:
        cells = {method: step.key(cluster, method) for method in METHODS}
        report(f"{step.model} {step.step} on {cluster}")
        measure_cells_here(kept, cells, partial(_measured, prepared, cluster), report)


def _measured(prepare: Callable[[], api.PreparedGraph], cluster: str, method: str) -> dict[str, api.Json]:
    return row_of(prepare(), cluster, method)


def row_of(prepared: api.PreparedGraph, cluster_words: str, method: str) -> dict[str, api.Json]:
    """The method's own placement: its step time and its peak on each device; of Auto the best that it finds."""
    cluster = api.parse_cluster(cluster_words)
    if method == OURS:
        request = api.RunRequest(cluster, method, api.Budget(EVALUATIONS), seed=0, robustness=False)
        try:
            answer = api.place(prepared, request, lambda _: None, lambda: False)
        except api.InfeasibleError as error:
            return {"ops": prepared.graph.op_count, "fits": False, "reason": str(error)}
        device_of_op = prepared.device_of_op(api.placement_of_report(answer))
    else:
        problem = problem_of(prepared, cluster)
        make_placer(method, {}).place(problem, np.random.default_rng(0), lambda: False)
        device_of_op = problem.ledger.answer()[prepared.grouping.group_of_op]
    placement: api.Json = {**api.devices_to_json(prepared, cluster, device_of_op)}
    [report] = api.simulate(prepared, cluster, [placement])
    assert isinstance(report, dict)
    memory_bytes = [device.memory_bytes for device in cluster.devices]
    peaks: Any = report["peak_bytes"]
    fits = all(peak <= memory for peak, memory in zip(peaks, memory_bytes, strict=True))
    return {"ops": prepared.graph.op_count, "fits": fits, **report}


def all_keys() -> Iterator[Measurement]:
    """Every cell of the table."""
    for step in STEPS:
        for cluster in step.clusters:
            yield from map(partial(step.key, cluster), METHODS)


def page(rows: Sequence[Mapping[str, Any]], made: str) -> str:
    """The whole page; `made` says by which state of the code."""
    parts = [
        "# PyTorch models: what other tools do, and Auto",
        "For those who place a model with `device_map`, equal stages or a memory budget today.",
        f"`{COMMAND}`; Placeto Explorer {VERSION}, {made}. Step times are simulated, op times follow from operations\n"
        "and bytes at what ops of their types reach, so compare columns, not machines. Each rule has its own\n"
        f"placement alone; Auto has {EVALUATIONS:,} evaluations, seed 0. Steps of one batch: micro-batches in flight\n"
        "would keep all devices at work, which these times do not show. A time with * does not fit in memory.",
    ]
    for step in dict.fromkeys((PREFILL, DECODE, TRAINING)):
        here = [row for row in rows if row["step"] == step]
        if here:
            parts += [f"## {step.capitalize()}", "\n".join(table_of_figures(_head(), _lines(here)))]
    return "\n\n".join([*parts, _summed_up(rows)]) + "\n"


def _head() -> tuple[str, ...]:
    labels = [f"{PLACERS[method].label}, ms" for method in METHODS]
    return ("model", "batch", "devices", *labels, "most memory of a device, Auto, GiB")


def _by_case(rows: Sequence[Mapping[str, Any]]) -> dict[tuple[Any, ...], dict[str, Mapping[str, Any]]]:
    cases: dict[tuple[Any, ...], dict[str, Mapping[str, Any]]] = {}
    for row in rows:
        cases.setdefault((row["model"], row["batch"], row["cluster"], row["step"]), {})[row["method"]] = row
    return cases


def _lines(rows: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    lines = []
    for (model, batch, cluster, _), of_method in _by_case(rows).items():
        ours = of_method.get(OURS, {})
        most = f"{max(ours['peak_bytes']) / GIB:.1f}" if "peak_bytes" in ours else "–"
        lines.append([model, str(batch), cluster, *(_cell(of_method.get(method)) for method in METHODS), most])
    return lines


def _cell(row: Mapping[str, Any] | None) -> str:
    if row is None or "step_time_us" not in row:
        return "none fits" if row else "–"
    return f"{row['step_time_us'] / 1e3:.1f}{'' if row['fits'] else '*'}"


def _summed_up(rows: Sequence[Mapping[str, Any]]) -> str:
    """Against each rule: in how many cases it does not fit, and where it does, how much faster Auto is."""
    lines = ["## In short"]
    cases = [case for case in _by_case(rows).values() if OURS in case and case[OURS]["fits"]]
    for method in METHODS[:-1]:
        known = [case for case in cases if method in case]
        fitting = [case for case in known if case[method]["fits"]]
        gains = [1 - case[OURS]["step_time_us"] / case[method]["step_time_us"] for case in fitting]
        words = f"{len(known) - len(fitting)} of {len(known)} placements do not fit"
        if gains:
            least, most, middle = (100 * share for share in (min(gains), max(gains), float(np.median(gains))))
            words += f"; where they do, Auto takes {least:.1f} to {most:.0f} % less, in the median {middle:.1f} %"
        lines.append(f"- {PLACERS[method].label}: {words}.")
    return lines[0] + "\n\n" + "\n".join(lines[1:])
