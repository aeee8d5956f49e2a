"""One architecture from its library to a device map, each step named as it begins, and its row."""

import importlib
import json
import logging
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import placeto
import torch

from engine import api
from engine.errors import PlacetoError
from engine.formats.modules.device_map import device_map_of, devices_of_map
from engine.formats.modules.paths import module_paths
from experiments.architectures import language, vision
from experiments.architectures.forked import ROW, STEP, Tell
from experiments.architectures.loss import loss_of

BATCH, TOKENS = 2, 128
CLUSTER = "2xRTX4090+RTX3090"
EVALUATIONS = (60, 1000)
"""of Auto: the second where none of the first fits"""
TRAINING, INFERENCE = "training", "inference"
BUILD, RECORD, READ, PLACE, WRITE, CHECK = STEPS = ("build", "record", "read", "place", "write", "check")
Made = tuple[torch.nn.Module, Any]
MODELS: Mapping[str, Callable[[str, Mapping[str, Any]], Made]] = {
    "timm": lambda name, _: vision.timm_model(name, BATCH),
    "torchvision": lambda name, _: vision.torchvision_model(name, BATCH),
    "transformers": lambda name, changes: with_inputs(language.built(name, changes)),
}
"""library → what makes a model and its inputs of a name and of changes to its configuration"""


def with_inputs(model: Any) -> Made:
    return model, language.inputs_of(model, BATCH, TOKENS)


class _Clock:
    """Names the steps and takes their seconds."""

    def __init__(self, begins: Callable[[str], None]) -> None:
        self.step = STEPS[0]
        self._begins = begins
        self.seconds: dict[str, float] = {}

    @contextmanager
    def at(self, step: str) -> Iterator[None]:
        self.step = step
        self._begins(step)
        begin = time.monotonic()
        yield
        self.seconds[step] = round(time.monotonic() - begin, 2)


def row_of(case: Mapping[str, Any], begins: Callable[[str], None]) -> dict[str, Any]:
    """What becomes of one architecture: `failed`, the step and the sentence, where it does not come to its end.

    `case` has library, name, mode and changes; `begins` is called with each step.
    """
    clock, row = _Clock(begins), dict[str, Any]()
    try:
        for facts in _facts(case, clock):
            row |= facts
    except Exception as error:
        known = isinstance(error, placeto.RecordingError | PlacetoError)
        sentence = " ".join(str(error).split()) or "without a word"
        row |= {"failed": clock.step, "sentence": sentence if known else f"{type(error).__name__}: {sentence}"[:400]}
    return row | {"seconds": clock.seconds}


def _facts(case: Mapping[str, Any], clock: _Clock) -> Iterator[dict[str, Any]]:
    trains = case["mode"] == TRAINING
    with clock.at(BUILD):
        model, inputs = MODELS[case["library"]](case["name"], case["changes"])
        model.train(trains)
        own = sum(each.numel() for each in model.parameters())
    yield {"parameters": own}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "step.json.gz"
        with clock.at(RECORD):
            step = {"loss": loss_of, "optimizer": torch.optim.AdamW} if trains else {}
            recording = placeto.record(model, inputs, **step, batch=BATCH, name=case["name"])  # type: ignore[arg-type]
            recording.save(file)
        yield {
            "ops": len(recording.nodes),
            "flops": recording.flops(),
            "parameters_recorded": recording.parameters,
            "without_formula": recording.without_formula,
        }
        with clock.at(READ):
            prepared = api.prepare(file, api.suffix_of(file.name), lambda *_: None, api.Limits())
    yield from _placed(model, prepared, clock)


def _placed(model: torch.nn.Module, prepared: api.PreparedGraph, clock: _Clock) -> Iterator[dict[str, Any]]:
    cluster = api.parse_cluster(CLUSTER)
    with clock.at(PLACE):
        few, more = EVALUATIONS
        try:
            answer = _answer(prepared, cluster, few)
        except api.InfeasibleError:
            answer = _answer(prepared, cluster, more)
        device_of_op = prepared.device_of_op(api.placement_of_report(answer))
    yield {"step_time_us": answer["step_time_us"], "devices": len(set(device_of_op.tolist()))}
    with clock.at(WRITE):
        device_map = device_map_of(prepared, cluster, device_of_op)
        back = devices_of_map(prepared, cluster, json.loads(json.dumps(device_map)))
        inside = np.array([path is not None for path in module_paths(prepared.graph, prepared.origin.beside)])
        if (back[inside] != device_of_op[inside]).any():
            raise ValueError("the device map is read back as another placement")
    yield {"entries": len(device_map)}
    with clock.at(CHECK):
        importlib.import_module("accelerate.utils.modeling").check_device_map(model, device_map)


def _answer(prepared: api.PreparedGraph, cluster: api.Cluster, evaluations: int) -> dict[str, Any]:
    request = api.RunRequest(cluster, "auto", api.Budget(evaluations), seed=0, robustness=False)
    return {**api.place(prepared, request, lambda _: None, lambda: False)}


def warm_up() -> None:
    """Load the libraries, without what they say."""
    logging.disable()
    warnings.simplefilter("ignore")
    vision.timm_names()
    vision.torchvision_names()
    language.names()


def tell_row(case: Mapping[str, Any], tell: Tell) -> None:
    """Tell each step as it begins, and the row."""
    tell({ROW: row_of(case, lambda step: tell({STEP: step}))})
