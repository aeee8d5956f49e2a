"""The models of the table of streams: recorded PyTorch models, and two of the zoo."""

import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from engine import api
from experiments.elsewhere import Recorded
from experiments.folders import ROOT
from experiments.zoo_graphs import prepared_zoo_graph

TRAINING, PREFILL = "training", "prefill"
FROM_HERE = (
    f"import sys; sys.path[:0] = {[str(ROOT), str(ROOT / 'client')]!r}; "
    "from placeto.command_line import main; sys.exit(main())"
)
"""placeto's command, for functions of this checkout"""


@dataclass(frozen=True, slots=True)
class StreamedModel:
    """A model whose micro-batches flow over several clusters."""

    name: str
    step: str
    samples: int
    """of a micro-batch"""
    clusters: tuple[str, ...]
    prepare: Callable[[], api.PreparedGraph]
    """records or builds the step of one micro-batch, and reads it"""

    @property
    def pipeline(self) -> api.Pipeline:
        return api.Pipeline.ONE_F_ONE_B if self.step == TRAINING else api.Pipeline.INFERENCE


def _recorded(
    model: str, step: str, samples: int, clusters: tuple[str, ...], length: int = 1024, dtype: str = "bfloat16"
) -> StreamedModel:
    recorded = Recorded(model, step, samples, clusters, length, dtype)
    return StreamedModel(model, step, samples, clusters, recorded.prepare)


def _unet(samples: int) -> api.PreparedGraph:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "step.json.gz"
        recording = ["record", f"{__package__}.unet:training_step", "--batch", str(samples), "--out", str(out)]
        subprocess.run([sys.executable, "-c", FROM_HERE, *recording], check=True)  # noqa: S603  # our own words
        return api.prepare(out, api.suffix_of(out.name), lambda *_: None, api.Limits())


def _of_zoo(name: str, label: str, samples: int, clusters: tuple[str, ...]) -> StreamedModel:
    return StreamedModel(
        label, TRAINING, samples, clusters, lambda: prepared_zoo_graph(name, lambda _: None, {"batch": samples})
    )


TWO, FOUR, UNEVEN = "2xRTX4090", "4xA100", "2xRTX4090+2xRTX3090"
OF_ZOO = ("4xV100", "2xA100+2xV100")
MODELS = (
    _recorded("GPT-2", TRAINING, 4, (TWO, UNEVEN), dtype="float32"),
    _recorded("GPT-2, untied", TRAINING, 4, (TWO, UNEVEN), dtype="float32"),
    _recorded("7B", TRAINING, 1, (FOUR, "2xA100+4xL40S")),
    _recorded("8x7B", PREFILL, 4, ("4xRTX4090+4xRTX3090", "2xA100:80GiB+2xL40S")),
    _recorded("BART-large", TRAINING, 4, (FOUR, UNEVEN), dtype="float32"),
    StreamedModel("U-Net", TRAINING, 4, (TWO, UNEVEN), lambda: _unet(4)),
    _of_zoo("inception_v3", "Inception-V3", 32, OF_ZOO),
    _of_zoo("nmt", "NMT", 32, OF_ZOO),
)
