"""`python -m placeto record`: a recording from the command line."""

from __future__ import annotations

import argparse
import importlib
import inspect
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from placeto.errors import RecordingError
from placeto.recorder import check_torch, record
from placeto.recording import Recording


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command; returns the exit status: 2 with one line for what the person can mend."""
    options = _parser().parse_args(arguments)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what libraries will change one day
            recording = _recorded(options)
        recording.save(options.out)
    except RecordingError as error:
        print(f"placeto: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"placeto: {error.filename}: {error.strerror}", file=sys.stderr)
        return 2
    print(recording)
    print(f"written to {options.out}")
    return 0


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> Any:
        """One line in place of the usage."""
        print(f"placeto: {message}", file=sys.stderr)
        sys.exit(2)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="placeto", description="Records a step of a PyTorch model for Placeto Explorer.")
    commands = parser.add_subparsers(dest="command", required=True, parser_class=_Parser)
    command = commands.add_parser("record", help="run one step on fake tensors and write its graph")
    command.add_argument(
        "function",
        nargs="?",
        metavar="MODULE:FUNCTION",
        help="a function that returns (model, inputs), or (model, inputs, loss, optimizer) for a training step",
    )
    command.add_argument("--hf", metavar="FOLDER|FILE", help="a configuration of Hugging Face in place of a function")
    command.add_argument("--batch", type=_positive, metavar="N", help="samples; a function gets them as batch=N")
    command.add_argument("--length", type=_positive, metavar="N", help="with --hf: tokens a sample, 512 by default")
    command.add_argument("--train", action="store_true", help="with --hf: a training step with AdamW")
    command.add_argument("--dtype", choices=DTYPES, help="with --hf: type of the weights; else what the file says")
    command.add_argument(
        "--phase", choices=("prefill", "decode"), help="with --hf: all tokens at once, or one more after them"
    )
    command.add_argument("--out", required=True, metavar="FILE", help="ends in .json or .json.gz")
    return parser


DTYPES = ("float32", "float16", "bfloat16")


def _positive(text: str) -> int:
    number = int(text) if text.isdecimal() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1")
    return number


def _recorded(options: argparse.Namespace) -> Recording:
    if not options.out.endswith((".json", ".json.gz")):
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
