"""Why a step could not be run, in one sentence that names the module and the line."""

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from torch._subclasses import fake_tensor

from placeto.errors import RecordingError
from placeto.pytorch.modules import Modules

_NOT_THE_MODELS = (str(Path(torch.__file__).parent), str(Path(__file__).parent.parent))
_DATA = (fake_tensor.DataDependentOutputException, fake_tensor.DynamicOutputShapeException)


@contextmanager
def told(modules: Modules) -> Iterator[None]:
    """Turns whatever a step raises into a RecordingError.

    Raises:
        RecordingError: In place of any other exception of the block.
    """
    try:
        yield
    except RecordingError:
        raise
    except RecursionError as error:
        raise RecordingError(f"{_where(modules, error)}: calls are nested too deep") from error
    except _DATA as error:
        reason = f"{_op(error.func)} depends on the values of the data, and a recording has shapes alone"
        raise RecordingError(f"{_where(modules, error)}: {reason}") from error
    except fake_tensor.UnsupportedOperatorException as error:
        reason = f"the op {_op(error.func)} does not say what shapes it gives (torch.library.register_fake)"
        raise RecordingError(f"{_where(modules, error)}: {reason}") from error
    except Exception as error:
        if any(frame.name == "flex_attention" for frame in traceback.extract_tb(error.__traceback__)):
            reason = "flex_attention needs the compiler: record with another attention, such as sdpa"
            raise RecordingError(f"{_where(modules, error)}: {reason}") from error
        reason = " ".join(str(error).split()) or "without a word"
        reason = reason if len(reason) <= 300 else reason[:300] + "…"
        raise RecordingError(f"{_where(modules, error)}: {type(error).__name__}: {reason}") from error


def _op(func: object) -> str:
    return str(func).removesuffix(".default")


def _where(modules: Modules, error: BaseException) -> str:
    """`layers/3 (gate.py:41)`: the module that ran last and the innermost line that is neither PyTorch's nor ours."""
    place = modules.path_in(error.__traceback__) or modules.classes[""]
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if not frame.filename.startswith(_NOT_THE_MODELS) and not frame.filename.startswith("<"):
            return f"{place} ({frame.filename}:{frame.lineno})"
    return place
