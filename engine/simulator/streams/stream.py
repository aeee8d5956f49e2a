"""What a stream is: how many micro-batches make a batch, and in which order the stages take them."""

from dataclasses import dataclass
from enum import StrEnum

from engine.errors import SettingsError
from engine.events import Json

MOST_MICRO_BATCHES = 1024


class Objective(StrEnum):
    """What a run makes small."""

    STEP_TIME = "step_time"
    """the time of one step"""
    THROUGHPUT = "throughput"
    """the time of a micro-batch in a stream of them"""


class Pipeline(StrEnum):
    """The order in which the stages of a placement take the micro-batches of a batch."""

    GPIPE = "gpipe"
    """all forward passes, then all backward passes (Huang et al. 2019)"""
    ONE_F_ONE_B = "1f1b"
    """one forward, one backward, after as many forward passes as there are stages behind (Narayanan et al. 2019)"""
    INTERLEAVED = "interleaved"
    """1f1b with several stages a device, taken in turns (Narayanan et al. 2021)"""
    INFERENCE = "inference"
    """forward passes alone, one micro-batch behind the other"""


class Recompute(StrEnum):
    """What of the forward pass runs again before the backward pass, so that it need not be held until then."""

    NONE = "none"
    """nothing: the backward pass finds what it needs"""
    STAGES = "stages"
    """what the backward pass needs of each stage, from what the stage was given (Chen et al. 2016)"""


GPIPE_CODE, ONE_F_ONE_B_CODE, INTERLEAVED_CODE, INFERENCE_CODE = range(4)
PIPELINE_CODES = {
    Pipeline.GPIPE: GPIPE_CODE,
    Pipeline.ONE_F_ONE_B: ONE_F_ONE_B_CODE,
    Pipeline.INTERLEAVED: INTERLEAVED_CODE,
    Pipeline.INFERENCE: INFERENCE_CODE,
}
"""`Pipeline` as a number, for compiled code"""


@dataclass(frozen=True, slots=True)
class Stream:
    """A batch of `micro_batches` that flow through the graph in the order of `pipeline`. Raises SettingsError."""

    micro_batches: int
    pipeline: Pipeline
    contiguous: bool = False
    """whether the groups of each device must be an interval of an order in which a pass can run"""
    recompute: Recompute = Recompute.NONE
    """what of the forward pass runs again before the backward pass"""

    def __post_init__(self) -> None:
        if not 1 <= self.micro_batches <= MOST_MICRO_BATCHES:
            raise SettingsError(
                f"{self.micro_batches} micro-batches",
                where="micro_batches",
                allowed=f"1 to {MOST_MICRO_BATCHES}",
                field="micro_batches",
            )
        if self.recomputes and self.pipeline is Pipeline.INFERENCE:
            what = "inference has no backward pass for which a stage could run again"
            raise SettingsError(what, where="recompute", allowed=str(Recompute.NONE), field="recompute")

    @property
    def recomputes(self) -> bool:
        """Whether stages run again before their backward pass."""
        return self.recompute is Recompute.STAGES

    def to_json(self) -> dict[str, Json]:
        """The field `stream` of requests and reports; `recompute` is there where something is."""
        return {
            "micro_batches": self.micro_batches,
            "pipeline": str(self.pipeline),
            "contiguous": self.contiguous,
            **({"recompute": str(self.recompute)} if self.recomputes else {}),
        }

    @staticmethod
    def from_json(value: Json) -> "Stream":
        """The inverse of `to_json`. Raises SettingsError."""
        if not isinstance(value, dict) or value.keys() - {"recompute"} != {"micro_batches", "pipeline", "contiguous"}:
            allowed = "micro_batches, pipeline, contiguous, and perhaps recompute"
            raise SettingsError("an unknown form", where="stream", allowed=allowed)
        micro_batches, contiguous = value["micro_batches"], value["contiguous"]
        if not isinstance(micro_batches, int) or isinstance(micro_batches, bool) or not isinstance(contiguous, bool):
            raise SettingsError(
                "a field of another type", where="stream", allowed="an integer micro_batches, true or false contiguous"
            )
        recompute = recompute_of(str(value.get("recompute", Recompute.NONE)))
        return Stream(micro_batches, pipeline_of(str(value["pipeline"])), contiguous, recompute)


def is_contiguous(stream: Stream | None) -> bool:
    """Whether there is a stream whose stages must be contiguous."""
    return stream is not None and stream.contiguous


def pipeline_of(word: str) -> Pipeline:
    """The pipeline of a word. Raises SettingsError."""
    if word not in list(Pipeline):
        raise SettingsError(f"{word!r} is not known", where="pipeline", allowed=", ".join(Pipeline), field="pipeline")
    return Pipeline(word)


def recompute_of(word: str) -> Recompute:
    """What a word says of recomputation. Raises SettingsError."""
    if word not in list(Recompute):
        raise SettingsError(
            f"{word!r} is not known", where="recompute", allowed=", ".join(Recompute), field="recompute"
        )
    return Recompute(word)
