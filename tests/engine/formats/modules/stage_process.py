"""One process of a pipeline of two: `python -m tests.engine.formats.modules.stage_process FOLDER RANK SCHEDULE`.

It runs a batch of `Residuals` with the stages of FOLDER/split.json, and writes its losses and gradients to
FOLDER/RANK.json.
"""

import json
import sys
from pathlib import Path

import torch
from torch import Tensor, distributed, nn
from torch.distributed.pipelining import Schedule1F1B, ScheduleGPipe, SplitPoint, pipeline
from torch.nn import functional

from tests.client import models

LAYERS, WIDTH, SAMPLES, MICRO_BATCHES = 6, 16, 4, 3
STAGES = 2
SCHEDULES = {"gpipe": ScheduleGPipe, "1f1b": Schedule1F1B}


def model_and_batch() -> tuple[nn.Module, Tensor, Tensor]:
    """The same weights, inputs and targets in each process."""
    torch.manual_seed(3)
    model = models.Residuals(WIDTH, LAYERS)
    samples = SAMPLES * MICRO_BATCHES
    return model, torch.randn(samples, WIDTH), torch.randn(samples, 8)


def loss_of(output: Tensor, target: Tensor) -> Tensor:
    return functional.mse_loss(output, target)


def main(folder: Path, rank: int, schedule_name: str) -> None:
    torch.set_num_threads(1)
    model, inputs, targets = model_and_batch()
    points = {module: SplitPoint[how] for module, how in json.loads((folder / "split.json").read_text()).items()}
    store = distributed.FileStore(  # type: ignore[attr-defined]  # torch does not list it
        str(folder / "store"), STAGES
    )
    distributed.init_process_group("gloo", store=store, rank=rank, world_size=STAGES)
    stage = pipeline(model, (inputs[:SAMPLES],), split_spec=points).build_stage(rank, torch.device("cpu"))
    schedule = SCHEDULES[schedule_name](stage, MICRO_BATCHES, loss_fn=loss_of)
    losses: list[Tensor] = []
    if rank == 0:
        schedule.step(inputs)
    else:
        schedule.step(target=targets, losses=losses)
    gradients = {name: each.grad.tolist() for name, each in stage.submod.named_parameters() if each.grad is not None}
    result = {"losses": [float(loss) for loss in losses], "gradients": gradients}
    (folder / f"{rank}.json").write_text(json.dumps(result))
    distributed.destroy_process_group()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
