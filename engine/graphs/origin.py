"""The origin of a graph: the file's format, the options of its reading, and the changes made to it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from engine.events import Json

TORCH = "torch"
FRAMEWORKS = ("", TORCH)
"""libraries whose module paths a graph's op names are; empty: none is named"""
TRIPS_FROM: Mapping[str, str] = {
    "constant": "written in the file",
    "length": "the length of what it loops over",
    "given": "given",
    "at most": "at most; it may end earlier",
    "assumed": "unknown, so one counts",
}
"""source of a loop's trips → words for people; the sources: numbers in the file; the known length of a list or tensor;
a person; an upper bound; none, so that one trip counts"""
OPEN_TRIPS = ("given", "at most", "assumed")
"""the sources for which a person may give another number"""
SIZES_FROM: Mapping[str, str] = {
    "unknown": "unknown",
    "bound": "the largest possible",
    "given": "given",
}
"""source of a size that depends on data → words for people; the sources: none; its bound; a person"""

NO_VARIABLES = (
    "the upload lacks the files of variables (variables/variables.index and the files beside it), so a placed GraphDef "
    "can be written, but no placed SavedModel"
)
"""the reason where `variables_stored` is false"""
TEXT_ALONE = (
    "a SavedModel's text has no values of its variables, whose files lie beside it in the SavedModel's folder, so a "
    "placed GraphDef can be written, but a placed SavedModel only from the zipped folder"
)
"""the reason where a SavedModel's text came alone"""
NO_SIGNATURE = (
    "a placed SavedModel has one signature of the file, and fetches take its place, so a placed GraphDef can be "
    "written, but no placed SavedModel"
)
"""the reason where a person's fetches were read"""


@dataclass(frozen=True, slots=True)
class Origin:
    """Data on a graph's file other than its ops; empty where unknown, as for graphs that nobody uploaded."""

    format: str = ""
    """the file's suffix"""
    options: Mapping[str, Json] = field(default_factory=dict)
    """`ReadingOptions.to_json()`"""
    feeds: tuple[str, ...] = ()
    """names of the ops that take a step's inputs, where the file names them"""
    fetches: tuple[str, ...] = ()
    """names of the ops whose outputs a step fetches, where the file names them"""
    signatures: tuple[str, ...] = ()
    """names of the signatures in the file"""
    notes: tuple[str, ...] = ()
    """sentences for people on the changes made to the file"""
    loops: tuple[Mapping[str, Json], ...] | None = None
    """a row a while loop: `name`; `trips`; `source` of that number, one of `TRIPS_FROM`; `ops`, their number in its
    body; None where loops were not looked for"""
    branches: tuple[Mapping[str, Json], ...] | None = None
    """a row a condition: `name`; `taken`, the side that counts (`then`, `else`, `case 2`); `ops`, their number on all
    sides; `ops_not_taken`; None where conditions were not looked for"""
    sizes: tuple[Mapping[str, Json], ...] | None = None
    """a row an op whose output's length depends on data: `name`; `type`; `length` that counts; `source`, one of
    `SIZES_FROM`: where it is `unknown`, `length` is null; None where such ops were not looked for"""
    batch_helps: tuple[int, ...] = ()
    """where the file leaves the batch size open: number of ops whose unknown cost a batch size makes known, and number
    of all ops of unknown cost; else empty"""
    layers: tuple[Mapping[str, Json], ...] | None = None
    """a row a layer, a scope of names: `name`, empty for ops outside of all; `label`, the name for people, without the
    scopes that all layers share; `ops`; `flops` of a step, null where not counted; `parameters`, elements of
    floating-point variables without an optimiser's own, and `constants`, elements of floating-point constants, in which
    a frozen graph has its weights, both null where the file has no tensors; `persistent_bytes`; `output_bytes`. None
    where layers were not looked for"""
    open_inputs: tuple[Mapping[str, Json], ...] = ()
    """a row an input of which more lengths are open than a batch size closes: `name`; `shape` as a person gives it,
    with ? for an open length, empty where its rank is open too"""
    variables_stored: bool | None = None
    """whether the upload has the files of variables that a placed SavedModel needs, or needs none; None where it is no
    SavedModel, or was not checked"""
    framework: str = ""
    """one of `FRAMEWORKS`: the library of which the graph is a recording"""
    beside: tuple[str, ...] = ()
    """outermost scopes of a recording that are no modules of the model, such as a loss of its own"""
    samples: int = 0
    """samples of which the file is a step, as it says; 0 where it does not"""

    @property
    def is_recording(self) -> bool:
        """Whether the graph is a recording of a PyTorch model."""
        return self.framework == TORCH
