"""One of the processes that torchrun starts: `torchrun … -m tests.client.carrying_process FOLDER`.

It trains `Residuals` by each plan of the reports in FOLDER/reports.json, and writes losses and its part's weights to
FOLDER/RANK.json: [reports][plans].
"""

import json
import sys
from functools import partial
from pathlib import Path

import placeto
import torch
from placeto.pytorch.carried_plan import CarriedPlan
from torch import Tensor, distributed, nn
from torch.nn import functional

from tests.client import models

LAYERS, WIDTH, BATCH, STEPS = 6, 16, 12, 2
OPTIMIZER = partial(torch.optim.AdamW, lr=0.01)


def model_and_batches() -> tuple[nn.Module, list[tuple[Tensor, Tensor]]]:
    """The same weights, and [steps] the same inputs and targets, in each process."""
    torch.manual_seed(3)
    model = models.Residuals(WIDTH, LAYERS)
    return model, [(torch.randn(BATCH, WIDTH), torch.randn(BATCH, 8)) for _ in range(STEPS)]


def loss_of(output: Tensor, target: Tensor) -> Tensor:
    return functional.mse_loss(output, target)


def trained(report: object, number: int) -> dict[str, object]:
    """Losses of all steps, the weights of this process's part, and what it says to another number of samples."""
    model, batches = model_and_batches()
    part = placeto.carry_out(report, model, batches[0][0], loss_of, OPTIMIZER, number=number)  # type: ignore[arg-type]
    losses = [part.step(inputs[part.rows], targets[part.rows]) for inputs, targets in batches]
    weights = {name: each.tolist() for name, each in part.module.state_dict().items()}
    return {"losses": losses, "weights": weights, "rows": part.rows.stop - part.rows.start, "refusal": refusal(part)}


def refusal(part: CarriedPlan) -> str:
    """Of a whole batch; empty where it is what the process takes."""
    _, [(inputs, targets), *_] = model_and_batches()
    try:
        part.step(inputs, targets)
    except placeto.PlanError as error:
        return str(error)
    return ""


def main(folder: Path) -> None:
    torch.set_num_threads(1)
    reports = json.loads((folder / "reports.json").read_text())
    found = [[trained(report, number) for number in range(len(report["plans"]))] for report in reports]
    (folder / f"{distributed.get_rank()}.json").write_text(json.dumps(found))
    distributed.destroy_process_group()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
