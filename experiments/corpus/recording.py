"""What a child does for one architecture: its batch, its recordings in both modes, their group graphs, their rows."""

import gc
import logging
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import placeto
import torch

from engine import api
from engine.errors import PlacetoError
from engine.formats import reading
from engine.prepared import PreparedGraph
from experiments.architectures import keras_models, language, vision
from experiments.architectures.forked import ROW, START, STEP, Tell
from experiments.architectures.loss import loss_of
from experiments.children_here import children_here
from experiments.corpus.cached import MODES, TRAINING, path_in
from experiments.corpus.prepared_facts import facts_of, keep
from experiments.corpus.recording_words import BUILD, GROUP, MODE, RECORD, SIZE

MOST_BYTES = 20e9
"""of memory that a training step takes, by the rule for the batch"""
BYTES_OF_A_PARAMETER = 16
"""weight, gradient and the two averages of AdamW, of float32"""
MOST_BATCH, FIRST_BATCH = 256, 2
TOKENS, TOKENS_ONE_BY_ONE = 512, 16
"""of a text; the second for models whose layers take tokens one after another, each with ops of its own"""
LARGEST = 8_000_000_000
"""parameters of a model with few layers"""
MOST_CHARACTERS = 400
"""of a sentence"""


def warm_up() -> None:
    """Loads what every child needs: libraries, and the engine's compiled code by a first small recording."""
    logging.disable()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    vision.timm_names()
    vision.torchvision_names()
    language.names()
    keras_models.keras_names()
    with tempfile.TemporaryDirectory() as folder:
        recording = placeto.record(torch.nn.Linear(2, 2), torch.zeros(2, 2), batch=2)
        file = Path(folder) / "step.json.gz"
        recording.save(file)
        facts_of(prepared_here(file))
    gc.collect()
    gc.freeze()


def prepared_here(file: Path) -> PreparedGraph:
    """A recording of our own, read and grouped in this process, which has limits of its own."""
    with tempfile.TemporaryDirectory() as folder, children_here(reading, Path(folder)):
        return api.prepare(file, api.suffix_of(file.name), lambda *_: None, api.Limits())


def record_case(case: Mapping[str, Any], tell: Tell) -> None:
    """Tell a row for each mode; a failed one has the step and a sentence.

    `case` has library and architecture, `no_split` as `placeto.record` takes it, `cache`, and for transformers type,
    changes and whether its layers take tokens `one_by_one`.
    """
    gc.disable()  # it would take a third of the time; a child ends soon
    batch: int | None = None
    for mode in MODES:
        clock = _Clock(mode, tell)
        try:
            if batch is None:
                batch = _batch_of(case, clock)
            row = _recorded(case, mode, batch, clock)
        except Exception as error:
            known = isinstance(error, placeto.RecordingError | PlacetoError)
            sentence = " ".join(str(error).split()) or "without a word"
            words = sentence if known else f"{type(error).__name__}: {sentence}"
            row = {"failed": clock.step, "sentence": words[:MOST_CHARACTERS]}
        tell({MODE: mode, ROW: row | {"seconds": clock.seconds}})
        gc.collect()


class _Clock:
    """Tells the steps of a mode, and takes their seconds of a processor."""

    def __init__(self, mode: str, tell: Tell) -> None:
        self.step = START
        self.seconds: dict[str, float] = {}
        self._mode, self._tell = mode, tell

    @contextmanager
    def at(self, step: str) -> Iterator[None]:
        self.step = step
        self._tell({MODE: self._mode, STEP: step})
        begin = time.process_time()
        yield
        self.seconds[step] = round(self.seconds.get(step, 0.0) + time.process_time() - begin, 2)


def _batch_of(case: Mapping[str, Any], clock: _Clock) -> int:
    """The largest power of two up to `MOST_BATCH` with which a training step takes at most `MOST_BYTES`; at least 1.

    A step holds `BYTES_OF_A_PARAMETER` for each parameter, and all outputs of the forward pass. These are measured on
    `FIRST_BATCH` samples.
    """
    with clock.at(BUILD):
        model, inputs = _made(case, FIRST_BATCH)
        model.eval()
    with clock.at(SIZE):
        recording = placeto.record(model, inputs, batch=FIRST_BATCH)
        held = BYTES_OF_A_PARAMETER * recording.parameters
        return largest_batch(held, activation_bytes(recording.nodes) / FIRST_BATCH)


def largest_batch(held_bytes: float, bytes_of_a_sample: float) -> int:
    """See `_batch_of`."""
    batch = MOST_BATCH
    while batch > 1 and held_bytes + batch * bytes_of_a_sample > MOST_BYTES:
        batch //= 2
    return batch


def activation_bytes(nodes: list[dict[str, Any]]) -> int:
    """Bytes of the outputs that the ops of a recording make; an output in another's memory has none of its own."""
    total = 0
    for node in nodes:
        buffers = node.get("buffers") or [None] * len(node["output_bytes"])
        pairs = zip(node["output_bytes"], buffers, strict=True)
        total += sum(size for size, buffer in pairs if buffer is None)
    return total


def _recorded(case: Mapping[str, Any], mode: str, batch: int, clock: _Clock) -> dict[str, Any]:
    cache = Path(case["cache"])
    with clock.at(BUILD):
        model, inputs = _made(case, batch)
        model.train(mode == TRAINING)
    file = path_in(cache, "recordings", case["library"], case["architecture"], mode)
    with clock.at(RECORD):
        step: dict[str, Any] = {"loss": loss_of, "optimizer": torch.optim.AdamW} if mode == TRAINING else {}
        recording = placeto.record(
            model, inputs, batch=batch, name=case["architecture"], no_split=case["no_split"], **step
        )
        file.parent.mkdir(parents=True, exist_ok=True)
        recording.save(file)
    facts: dict[str, Any] = {
        "batch": batch,
        "parameters": recording.parameters,
        "parameter_bytes": sum(each.numel() * each.element_size() for each in model.parameters()),
        "without_formula": recording.without_formula,
    }
    with clock.at(GROUP):
        prepared = prepared_here(file)
        keep(cache, prepared, case["library"], case["architecture"], mode)
        return facts | facts_of(prepared)


def _made(case: Mapping[str, Any], batch: int) -> tuple[torch.nn.Module, Any]:
    return MODELS[case["library"]](case, batch)


def _of_transformers(case: Mapping[str, Any], batch: int) -> tuple[torch.nn.Module, Any]:
    """By its default configuration, with fewer layers where it is large; or by a published size."""
    if case["changes"] is None:
        model, _ = language.smaller(case["type"], LARGEST)
    else:
        model = language.built(case["type"], case["changes"])
    return model, language.inputs_of(model, batch, TOKENS_ONE_BY_ONE if case["one_by_one"] else TOKENS)


MODELS: Mapping[str, Callable[[Mapping[str, Any], int], tuple[torch.nn.Module, Any]]] = {
    "timm": lambda case, batch: vision.timm_model(case["architecture"], batch),
    "torchvision": lambda case, batch: vision.torchvision_model(case["architecture"], batch),
    "keras": lambda case, batch: keras_models.keras_model(case["architecture"], batch),
    "transformers": _of_transformers,
}
"""library → what makes a model and its inputs of a case and a batch"""
