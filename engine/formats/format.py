"""A format: a row of `FORMATS`, and the arguments and results of the functions that a row names."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from engine.costs.cost_model import CostModel, GraphWithShapes
from engine.costs.layers import HeldParameters
from engine.errors import SettingsError
from engine.formats.step import WholeGraph
from engine.graphs.origin import Origin
from engine.graphs.reading_options import ReadingOptions

OFFLOAD = "offload"
"""the field of `ReadingOptions` for weights that may wait in CPU memory"""
PLACED_FILE = "placed"
"""name of the file that `write` leaves in its folder"""


@dataclass(frozen=True, slots=True)
class Format:
    """A row of `FORMATS`. `check`, `read` and `write` are `module:function`, imported on first use, in a child.

    - `check(source, report_progress)` raises GraphError or LimitError unless the file holds a graph that can be read,
      and returns the inputs (`OpenInput`) of which the file and the options leave lengths open. It loads no TensorFlow.
    - `read(source, report_progress) -> ReadFile` gives the graph and the model of its costs.
    - `write(source, placing, folder, report_progress)` leaves the placed file as `PLACED_FILE` in `folder`.
    """

    words: str
    """the content of such a file, for people"""
    check: str
    read: str
    write: str = ""
    """empty: only the placement itself is written from such a file"""
    placed: tuple[str, ...] = ()
    """suffixes of the files that `write` makes, the usual one first"""
    options: tuple[str, ...] = ()
    """fields of `ReadingOptions` that apply to it"""
    times: str = ""
    """function (content: bytes) -> MeasuredTimes of the file with them that may lie beside it; empty: none"""
    is_tensorflow: bool = False
    """whether TensorFlow can run the graph: RunMetadata may lie beside it, and it can be measured"""

    @property
    def is_closed(self) -> bool:
        """Whether a file fixes its step, so that a person may only say whether weights may wait elsewhere."""
        return not set(self.options) - {OFFLOAD}


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file that a child reads."""

    path: Path
    suffix: str
    most_bytes: int
    """largest size of a file in it, once unpacked"""
    options: ReadingOptions = field(default_factory=ReadingOptions)


@dataclass(frozen=True, slots=True)
class ReadFile:
    """The result of reading a file."""

    graph: GraphWithShapes
    costs: CostModel
    origin: Origin
    """without the findings of the cost model"""
    content: bytes = b""
    """the file's own bytes, where they hold this graph, or `whole`, unchanged and nothing else; else empty"""
    whole: WholeGraph | None = None
    """all ops of the file, to be written placed; None where `graph` has all that is written"""
    held: HeldParameters | None = None
    """the parameters that the ops hold, where the file says so apart from TensorFlow's messages"""


@dataclass(frozen=True, slots=True)
class Placing:
    """A placement to write, and the form in which to write it."""

    device_of_op: Mapping[str, str]
    suffix: str
    """suffix of the file to write"""
    short: bool
    """device strings say `/device:TYPE:N` alone, without job and task"""
    keep_pins: bool
    """an op on another device than the file fixes is refused"""


def require_offload(row: Format, options: ReadingOptions) -> None:
    """Raise SettingsError where weights shall wait in CPU memory and no runtime of the format does so."""
    if options.offload and OFFLOAD not in row.options:
        what = "nothing that runs it keeps weights in CPU memory for ops on a GPU"
        allowed = "offload of a PyTorch recording or node-link JSON"
        raise SettingsError(what, where=row.words, allowed=allowed, field=OFFLOAD)
