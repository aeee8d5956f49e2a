"""`placeto record`: a recording of a step, written to a file or uploaded."""

from __future__ import annotations

import argparse
import importlib
import inspect
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from placeto.commands.arguments import positive
from placeto.errors import RecordingError
from placeto.recorder import check_torch, record
from placeto.recording import Recording
from placeto.remote.client import Client

DTYPES = ("float32", "float16", "bfloat16")


def add_record(commands: Any) -> None:
    """Adds the command."""
    command = commands.add_parser("record", help="run one step on fake tensors and write its graph")
    command.add_argument(
        "function",
        nargs="?",
        metavar="MODULE:FUNCTION",
        help="a function that returns (model, inputs), or (model, inputs, loss, optimizer) for a training step",
    )
    command.add_argument("--hf", metavar="FOLDER|FILE", help="a configuration of Hugging Face in place of a function")
    command.add_argument("--batch", type=positive, metavar="N", help="samples; a function gets them as batch=N")
    command.add_argument("--length", type=positive, metavar="N", help="with --hf: tokens a sample, 512 by default")
    command.add_argument("--train", action="store_true", help="with --hf: a training step with AdamW")
    command.add_argument("--dtype", choices=DTYPES, help="with --hf: type of the weights; else what the file says")
    command.add_argument(
        "--phase", choices=("prefill", "decode"), help="with --hf: all tokens at once, or one more after them"
    )
    command.add_argument("--out", metavar="FILE", help="ends in .json or .json.gz")
    command.add_argument("--upload", action="store_true", help="send it to the server of `placeto login`")
    command.add_argument("--project", metavar="NAME", help="with --upload: where it goes; made where there is none")
    command.set_defaults(command=_record)


def _record(options: argparse.Namespace) -> int:
    if options.out is None and not options.upload:
        raise RecordingError("record takes --out FILE, --upload, or both")
    if options.project is not None and not options.upload:
        raise RecordingError("--project goes with --upload")
    client = Client() if options.upload else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what libraries will change one day
        recording = _recorded(options)
    print(recording)
    if options.out is not None:
        recording.save(options.out)
        print(f"written to {options.out}")
    if client is not None:
        graph = client.upload(recording, options.project)
        print(f"uploaded to {client.address}/graphs/{graph.id}/")
    return 0


def _recorded(options: argparse.Namespace) -> Recording:
    if options.out is not None and not options.out.endswith((".json", ".json.gz")):
        raise RecordingError(f"--out {options.out}: the name of a recording ends in .json or .json.gz")
    if (options.function is None) == (options.hf is None):
        raise RecordingError("record takes either MODULE:FUNCTION or --hf")
    check_torch()
    if options.hf is not None:
        from placeto.hugging_face import record_configuration

        return record_configuration(
            Path(options.hf),
            batch=options.batch or 1,
            length=options.length or 512,
            trains=options.train,
            dtype=options.dtype,
            phase=options.phase,
        )
    for name in ("length", "train", "dtype", "phase"):
        if getattr(options, name):
            raise RecordingError(f"--{name} goes with --hf; a function decides it itself")
    return _record_function(options.function, options.batch)


def _record_function(target: str, batch: int | None) -> Recording:
    function = _function(target)
    keywords = {}
    if batch is not None:
        if "batch" not in inspect.signature(function).parameters:
            raise RecordingError(f"{target} has no parameter named batch, so that --batch says nothing")
        keywords["batch"] = batch
    try:
        made = function(**keywords)
    except Exception as error:
        raise RecordingError(f"{target}: {type(error).__name__}: {_one_line(error)}") from error
    if not isinstance(made, tuple) or not 2 <= len(made) <= 4:
        raise RecordingError(f"{target} returns (model, inputs) or (model, inputs, loss, optimizer)")
    model, inputs, loss, optimizer = (*made, None, None)[:4]
    return record(model, inputs, loss, optimizer, batch)


def _function(target: str) -> Callable[..., Any]:
    module_name, _, name = target.partition(":")
    if not module_name or not name:
        raise RecordingError(f"{target}: name a function as MODULE:FUNCTION, such as models.gpt:training_step")
    sys.path.insert(0, str(Path.cwd()))
    try:
        module = importlib.import_module(module_name)
    except Exception as error:
        raise RecordingError(f"{module_name} cannot be imported: {type(error).__name__}: {_one_line(error)}") from error
    function = getattr(module, name, None)
    if not callable(function):
        raise RecordingError(f"{module_name} has no function {name}")
    found: Callable[..., Any] = function
    return found


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
