"""Where a graph comes from: the file's format, how it was asked to be read, and what had to be done to it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from engine.events import Json

TRIPS_FROM: Mapping[str, str] = {
    "constant": "written in the file",
    "length": "the length of what it loops over",
    "given": "given",
    "at most": "at most; it may end earlier",
    "assumed": "unknown, so one counts",
}
"""where a loop's trips come from, and the words for people: numbers in the file; the known length of a list or tensor;
a person; a bound that the loop may leave earlier; nowhere, so that one trip is counted"""
OPEN_TRIPS = ("given", "at most", "assumed")
"""of these, where a person may say another number"""
SIZES_FROM: Mapping[str, str] = {
    "unknown": "unknown",
    "bound": "the largest possible",
    "given": "given",
}
"""where a size comes from that depends on data, and the words for people: nowhere; its bound; a person"""

NO_VARIABLES = (
    "the upload has no files of variables (variables/variables.index and those beside it), so that a placed GraphDef "
    "can be written, but no placed SavedModel"
)
"""why, where `variables_stored` is false"""


@dataclass(frozen=True, slots=True)
class Origin:
    """What a graph's file says beside its ops; empty where that is unknown, as for graphs that nobody uploaded."""

    format: str = ""
    """the file's suffix"""
    options: Mapping[str, Json] = field(default_factory=dict)
    """`ReadingOptions.to_json()`"""
    feeds: tuple[str, ...] = ()
    """names of the ops that take a step's inputs, where the file names them"""
    fetches: tuple[str, ...] = ()
    """names of the ops that a step is run for, where the file names them"""
    signatures: tuple[str, ...] = ()
    """that the file offers"""
    notes: tuple[str, ...] = ()
    """a sentence each, for people: what had to be done to the file"""
    loops: tuple[Mapping[str, Json], ...] | None = None
    """a row a while loop: `name`; `trips`; `source` of that number, one of `TRIPS_FROM`; `ops` of its body; None where
    nobody has looked"""
    branches: tuple[Mapping[str, Json], ...] | None = None
    """a row a condition: `name`; `taken`, the side that counts (`then`, `else`, `case 2`); `ops` of all sides;
    `ops_not_taken`; None where nobody has looked"""
    sizes: tuple[Mapping[str, Json], ...] | None = None
    """a row an op whose output's length depends on data: `name`; `type`; `length` that is counted; `source`, one
    of `SIZES_FROM`: where it is `unknown`, `length` is null; None where nobody has looked"""
    batch_helps: tuple[int, ...] = ()
    """where the file leaves the batch size open: how many of the ops without a known cost a batch size makes known, and
    of how many"""
    variables_stored: bool | None = None
    """whether the upload has the files of variables that a placed SavedModel needs, or needs none; None where it is no
    SavedModel, or nobody has looked"""
