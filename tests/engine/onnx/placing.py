"""Placed ONNX models as files, and what ONNX Runtime gives for them on its CPU provider."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import onnxruntime
from numpy.typing import NDArray

from engine.child.parent import no_progress
from engine.formats.format import PLACED_FILE, Placing, SourceFile
from engine.formats.onnx.writer import write
from engine.graphs.reading_options import ReadingOptions
from tests.engine.onnx.cases import Arrays

DEVICES = ("/device:GPU:0", "/device:GPU:1", "/device:CPU:0")
ON_THE_CPU = {"GPU": "CPUExecutionProvider", "CPU": "CPUExecutionProvider"}


def written(path: Path, placement: Mapping[str, str], suffix: str, options: ReadingOptions) -> Path:
    """The placed file."""
    source = SourceFile(path, ".onnx", 2**28, options)
    folder = path.parent / f"placed{suffix}"
    folder.mkdir(exist_ok=True)
    write(source, Placing(placement, suffix, short=False, keep_pins=False), folder, no_progress)
    return folder / PLACED_FILE


def outputs_of(path: Path, inputs: Arrays, settings: str = "") -> list[NDArray[Any]]:
    """The outputs of a model in ONNX Runtime."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    if settings:
        options.add_session_config_entry("session.layer_assignment_settings", settings)
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    found: list[NDArray[Any]] = session.run(None, inputs)
    return found
