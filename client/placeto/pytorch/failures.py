"""Why a step could not be run, in one sentence that names the module and the line."""

import os
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from torch._subclasses import fake_tensor

from placeto.errors import RecordingError
from placeto.pytorch.modules import Modules
from placeto.pytorch.tape import Tape

_NOT_THE_MODELS = (f"{Path(torch.__file__).parent}{os.sep}", f"{Path(__file__).parent.parent}{os.sep}")
_MOST_WORDS = 300
"""characters of a message that is not ours"""
_PLACES = {"backward": "in the backward pass", "optimizer": "in the optimizer"}
_DATA = (fake_tensor.DataDependentOutputException, fake_tensor.DynamicOutputShapeException)


@contextmanager
def told(modules: Modules, tape: Tape) -> Iterator[None]:
    """Turns whatever a step raises into a RecordingError.

    Raises:
        RecordingError: In place of any other exception of the block.
    """
    try:
        yield
    except RecordingError:
        raise
    except Exception as error:
        raise RecordingError(f"{_where(modules, tape, error)}: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "calls are nested too deep"
    if isinstance(error, _DATA):
        return f"{_op(error.func)} depends on the values of the data, and a recording has shapes alone"
    if isinstance(error, fake_tensor.UnsupportedOperatorException):
        return f"the op {_op(error.func)} does not say what shapes it gives (torch.library.register_fake)"
    if any(frame.name == "flex_attention" for frame in traceback.extract_tb(error.__traceback__)):
        return "flex_attention needs the compiler: record with another attention, such as sdpa"
    words = " ".join(str(error).split()) or "without a word"
    return f"{type(error).__name__}: {words if len(words) <= _MOST_WORDS else words[:_MOST_WORDS] + '…'}"


def _op(func: object) -> str:
    return str(func).removesuffix(".default")


def _where(modules: Modules, tape: Tape, error: BaseException) -> str:
    """`layers/3 (gate.py:41)`: the module that ran last and the innermost line that is neither PyTorch's nor ours."""
    path = modules.path_in(error.__traceback__)
    if path is None and tape.phase in _PLACES:
        return f"{modules.latest or modules.classes['']} {_PLACES[tape.phase]}"
    place = path or modules.classes[""]
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if not frame.filename.startswith(_NOT_THE_MODELS) and not frame.filename.startswith("<"):
            return f"{place} ({frame.filename}:{frame.lineno})"
    return place
