"""A method of one's own from a Python file, `my_placer.py:Mine`, with a sentence for each mistake.

The class is a placer as those of the engine are (`engine/placers/placer.py`), made without arguments. Its file is run
in this process: it is the caller's own code.
"""

import dataclasses
import hashlib
import importlib.util
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from engine.errors import PlacementError, PlacetoError, SettingsError, shortened
from engine.placers.placer import Placer
from engine.problem import BudgetSpentError, PlacementProblem
from engine.simulator import Evaluations

ALLOWED = "FILE.py:CLASS, such as my_placer.py:Mine"
DIGITS = 12
FIELD = "method"


@dataclass(frozen=True, slots=True)
class OwnMethod:
    """A class in a file, which is there and is a placer."""

    place: str
    """as it was given: FILE.py:CLASS"""
    digest: str
    """of the file"""
    kind: type[Placer]

    @property
    def name(self) -> str:
        """The name in keys and tables, without the file's folder."""
        path, _, name = self.place.rpartition(":")
        return f"{Path(path).name}:{name}"

    def make(self) -> Placer:
        """A placer. Raises OwnMethodError if it cannot be made without arguments."""
        try:
            return self.kind()
        except Exception as error:  # any code may be in a user's file
            what = f"{self.kind.__name__}() raised {_words(error)}"
            raise self._mistake(what, "a class that is made without arguments") from error

    def run(self, problem: PlacementProblem, rng: np.random.Generator) -> None:
        """Place `problem`. Raises OwnMethodError where it raises, breaks a rule or evaluates nothing.

        A PlacetoError of its own, with which it refuses the problem, passes.
        """
        checked = _checked(problem)
        try:
            self.make().place(checked, rng, lambda: False)
        except WrongPlacementError as error:
            raise self._mistake(error.what, error.allowed) from error
        except PlacetoError:
            raise
        except BudgetSpentError as error:
            allowed = "at most `problem.ledger.remaining` evaluations"
            raise self._mistake(f"it spent more than its budget: {error}", allowed) from error
        except Exception as error:  # any code may be in a user's file
            raise self._mistake(f"place raised {_words(error)}", "no other errors than the engine's") from error
        if problem.ledger.used == 0:
            raise self._mistake("place evaluated no placement", "at least one call of problem.evaluate_episodes")

    def _mistake(self, what: str, allowed: str) -> "OwnMethodError":
        return OwnMethodError(what, where=self.name, allowed=allowed, field=FIELD)


class OwnMethodError(SettingsError):
    """A mistake in the class, which a run of it shows."""


class WrongPlacementError(PlacementError):
    """Placements that are not of the problem."""


@dataclass(frozen=True, eq=False)
class CheckedProblem(PlacementProblem):
    """A problem that first looks whether the placements to evaluate are placements at all."""

    def evaluate(self, placements: NDArray[np.int32]) -> Evaluations:
        """As that of every problem. Raises WrongPlacementError."""
        array = np.asarray(placements)
        if array.ndim != 2 or array.shape[1] != self.group_count or not np.issubdtype(array.dtype, np.integer):
            what = f"placements of shape {array.shape} and type {array.dtype}"
            raise WrongPlacementError(what, allowed=f"integers of shape (any, {self.group_count})")
        if array.size and not 0 <= array.min() <= array.max() < self.device_count:
            what = f"a placement has devices from {array.min()} to {array.max()}"
            raise WrongPlacementError(what, allowed=f"0 to {self.device_count - 1}")
        if not self.respects(array).all():
            what = "a placement has a group where it may not go"
            raise WrongPlacementError(what, allowed="devices for which `problem.allowed` is true")
        return PlacementProblem.evaluate(self, array.astype(np.int32))


def _checked(problem: PlacementProblem) -> CheckedProblem:
    names = [field.name for field in dataclasses.fields(PlacementProblem) if field.init]
    return CheckedProblem(**{name: getattr(problem, name) for name in names}, shared=problem.simulator)


def own_method(place: str) -> OwnMethod:
    """The method at FILE.py:CLASS. Raises SettingsError, with what is wrong."""
    path_text, separator, name = place.rpartition(":")
    path = Path(path_text).expanduser()
    if not separator or not name or path.suffix != ".py":
        raise SettingsError("no file and class", where=shortened(place), allowed=ALLOWED, field=FIELD)
    if not path.is_file():
        raise SettingsError("there is no such file", where=shortened(path_text), allowed=ALLOWED, field=FIELD)
    module = _imported(path)
    kind = getattr(module, name, None)
    if not isinstance(kind, type):
        own = [each for each, value in vars(module).items() if _is_own(value, module)]
        what, allowed = f"it has no class {shortened(name)}", ", ".join(own) or "a class in that file"
        raise SettingsError(what, where=path.name, allowed=allowed, field=FIELD)
    if not callable(getattr(kind, "place", None)):
        what, allowed = f"{name} has no method place", "place(self, problem, rng, should_stop), as a Placer has"
        raise SettingsError(what, where=path.name, allowed=allowed, field=FIELD)
    return OwnMethod(place, hashlib.sha256(path.read_bytes()).hexdigest()[:DIGITS], kind)


def _is_own(value: object, module: ModuleType) -> bool:
    return isinstance(value, type) and value.__module__ == module.__name__


def _imported(path: Path) -> ModuleType:
    """The module of the file, known by its name, since dataclasses look their module up."""
    spec = importlib.util.spec_from_file_location(f"own_method_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # any code may be in a user's file
        del sys.modules[spec.name]
        what = f"it cannot be imported: {_words(error)}"
        raise SettingsError(what, where=path.name, allowed="a Python file that can be imported", field=FIELD) from error
    return module


def _words(error: Exception) -> str:
    """`ValueError: no such thing, in line 3 of my_placer.py`; the innermost line in the traceback of a file."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if Path(frame.filename) != Path(__file__) and "importlib" not in frame.filename]
    at = f", in line {own[-1].lineno} of {Path(own[-1].filename).name}" if own else ""
    return f"{type(error).__name__}: {shortened(str(error))}{at}"
