"""One process's part of a plan, by torch.distributed: a stage, its schedule, its gradients and its optimizer.

The loss of a micro-batch is weighted by its share of the batch. So the sum of all gradients over micro-batches and
replicas is that of one process with the whole batch, whatever the shares. What DistributedDataParallel adds up it
divides by the replicas, by which the loss is multiplied then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from inspect import signature
from itertools import chain
from typing import Any

import torch
from torch import Tensor, distributed, nn
from torch.distributed import ProcessGroup
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.pipelining import Schedule1F1B, ScheduleGPipe, SplitPoint, pipeline
from torch.nn.parallel import DistributedDataParallel

from placeto.errors import PlanError
from placeto.pytorch.shared_weights import SharedWeights
from placeto.staged_plan import StagedPlan, StagedReplica

SCHEDULES = {"gpipe": ScheduleGPipe, "1f1b": Schedule1F1B}
BACKENDS = {"cpu": "gloo", "cuda": "nccl"}
REPLICAS, STAGES = "replicas", "stages"
Inputs = Tensor | tuple[Tensor, ...]
Loss = Callable[[Any, Tensor], Tensor]
Passes = Callable[[Inputs, Tensor], Sequence[Tensor]]
"""inputs and targets of a replica's share → the weighted losses of its micro-batches, where this process has them"""


class CarriedPlan:
    """This process's part of a plan. All processes call `step` equally often.

    Attributes:
        module: The stage, or the whole model. Its weights have the model's names: the state dicts of a replica's stages
            together are the model's.
        optimizer: Of the weights of this part.
        rows: The samples of a batch that go to this replica.
        batch: Samples of a batch.
    """

    def __init__(
        self,
        plan: StagedPlan,
        module: nn.Module,
        optimizer: torch.optim.Optimizer,
        passes: Passes,
        shared: SharedWeights | None,
    ) -> None:
        self.module, self.optimizer, self.batch = module, optimizer, plan.batch
        self.rows = plan.rows_of(plan.place_of(distributed.get_rank())[0])
        self._passes, self._shared = passes, shared
        self._device, self._times = device_of(plan), times_of(plan)

    def step(self, inputs: Inputs, targets: Tensor) -> float:
        """Trains with one batch; gives the loss of the whole batch, in every process.

        Args:
            inputs: The replica's `rows`; only its first stage looks at them.
            targets: Likewise; only its last stage looks at them.

        Raises:
            PlanError: Another number of samples.
        """
        self._require_rows(*_as_tuple(inputs), targets)
        losses = self._passes(inputs, targets)
        if self._shared is not None:
            self._shared.add_up()
        self.optimizer.step()
        self.optimizer.zero_grad()
        total = torch.zeros((), device=self._device)
        for loss in losses:
            total += loss.detach() / self._times
        distributed.all_reduce(total)
        return float(total)

    def _require_rows(self, *given: Tensor) -> None:
        wanted = self.rows.stop - self.rows.start
        for each in given:
            if len(each) != wanted:
                raise PlanError(f"this process takes {wanted} samples of a batch of {self.batch}, and got {len(each)}")


def carried_plan(
    plan: StagedPlan,
    model: nn.Module,
    inputs: Inputs,
    loss: Loss,
    optimizer: Callable[[Any], torch.optim.Optimizer],
) -> CarriedPlan:
    """See `placeto.carry_out`."""
    _require_example(plan, _as_tuple(inputs))
    _join(plan)
    replica = plan.replicas[plan.place_of(distributed.get_rank())[0]]
    names = [name for name, _ in model.named_parameters()]
    of_replicas, of_stages = _groups(plan)
    factor = replica.micro_batch / plan.batch * times_of(plan)

    def weighted(output: Any, targets: Tensor) -> Tensor:
        return loss(output, targets) * factor

    if len(replica.ranks) == 1:
        part = model.to(device_of(plan))
        passes = _whole_passes(_replicated(part, of_replicas), replica, weighted, device_of(plan))
    else:
        part, passes = _stage_and_passes(plan, model, inputs, weighted, of_replicas, of_stages)
    shared = None if plan.is_regular else SharedWeights(part, names, device_of(plan))
    return CarriedPlan(plan, part, optimizer(part.parameters()), passes, shared)


def device_of(plan: StagedPlan) -> torch.device:
    """This process's device."""
    if plan.device_type == "cpu":
        return torch.device("cpu")
    return torch.device("cuda", distributed.get_node_local_rank(fallback_rank=distributed.get_rank()))


def times_of(plan: StagedPlan) -> int:
    """How often a loss counts, because the sum of its gradients will be divided by that."""
    return len(plan.replicas) if plan.is_regular else 1


def _require_example(plan: StagedPlan, inputs: tuple[Tensor, ...]) -> None:
    """Raise PlanError, in all processes alike, where stages cannot be traced by so few samples."""
    wanted = max((replica.micro_batch for replica in plan.replicas if len(replica.ranks) > 1), default=0)
    for each in inputs:
        if len(each) < wanted:
            raise PlanError(f"the inputs have {len(each)} samples, and a micro-batch of the plan has {wanted}")


def _join(plan: StagedPlan) -> None:
    """Meet the other processes. Raises PlanError where they are not those of the plan."""
    if not distributed.is_initialized():
        distributed.init_process_group(BACKENDS[plan.device_type])
    found = distributed.get_world_size()
    if found != plan.processes:
        raise PlanError(f"the plan has {plan.processes} processes, and {found} were started: torchrun --nproc-per-node")
    if plan.device_type == "cuda":
        torch.cuda.set_device(device_of(plan))


def _groups(plan: StagedPlan) -> tuple[ProcessGroup | None, ProcessGroup | None]:
    """The processes that have this one's stage, if there are several; and those of its replica.

    Replicas with the same stages are a mesh, which `init_device_mesh` makes of processes in order.
    """
    if not plan.is_regular:
        rank = distributed.get_rank()
        groups = [distributed.new_group(sorted(replica.ranks)) for replica in plan.replicas]
        return None, groups[plan.place_of(rank)[0]]
    ranks = [list(replica.ranks) for replica in plan.replicas]
    shape, names = (len(ranks), len(ranks[0])), (REPLICAS, STAGES)
    if [*chain.from_iterable(ranks)] == list(range(plan.processes)):
        mesh = init_device_mesh(plan.device_type, shape, mesh_dim_names=names)
    else:
        mesh = DeviceMesh(plan.device_type, ranks, mesh_dim_names=names)
    return (mesh.get_group(REPLICAS) if shape[0] > 1 else None), mesh.get_group(STAGES)


def _replicated(part: nn.Module, group: ProcessGroup | None) -> nn.Module:
    """`part` with its gradients added up over `group` beside the last backward pass."""
    if group is None or not any(each.requires_grad for each in part.parameters()):
        return part
    known = signature(DistributedDataParallel).parameters
    name = "forward_sync_buffers" if "forward_sync_buffers" in known else "broadcast_buffers"
    no_buffers: dict[str, Any] = {name: False}  # replicas may run their forward passes unequally often
    replicated = DistributedDataParallel(part, process_group=group, **no_buffers)
    if isinstance(part, torch.fx.GraphModule):
        replicated.graph = part.graph  # type: ignore[assignment]  # a traced stage reads there what it sends
    return replicated


def _whole_passes(module: nn.Module, replica: StagedReplica, weighted: Loss, device: torch.device) -> Passes:
    """The micro-batches of a replica of one stage, one after the other."""

    def run(inputs: Inputs, targets: Tensor) -> list[Tensor]:
        losses = []
        count = replica.micro_batches
        columns = [each.to(device).chunk(count) for each in _as_tuple(inputs)]
        for number, target in enumerate(targets.to(device).chunk(count)):
            waits = isinstance(module, DistributedDataParallel) and number < count - 1
            with module.no_sync() if waits else nullcontext():  # type: ignore[operator]
                losses.append(weighted(module(*(column[number] for column in columns)), target))
                losses[-1].backward()  # type: ignore[no-untyped-call]
        return losses

    return run


def _stage_and_passes(
    plan: StagedPlan,
    model: nn.Module,
    inputs: Inputs,
    weighted: Loss,
    of_replicas: ProcessGroup | None,
    of_stages: ProcessGroup | None,
) -> tuple[nn.Module, Passes]:
    """This process's stage, and the passes of all micro-batches through it."""
    number, stage_number = plan.place_of(distributed.get_rank())
    replica, device = plan.replicas[number], device_of(plan)
    example = tuple(each[: replica.micro_batch] for each in _as_tuple(inputs))
    points = dict.fromkeys(replica.begins, SplitPoint.BEGINNING)
    stage = pipeline(model, example, split_spec=points).build_stage(stage_number, device, of_stages)
    in_group = sorted(replica.ranks)  # as torch numbers the processes of a group
    stage.stage_index_to_group_rank = {index: in_group.index(rank) for index, rank in enumerate(replica.ranks)}
    part = stage.submod
    stage.submod = _replicated(part, of_replicas)
    schedule = SCHEDULES[plan.pipeline](stage, replica.micro_batches, loss_fn=weighted, scale_grads=False)

    def run(inputs: Inputs, targets: Tensor) -> list[Tensor]:
        losses: list[Tensor] = []
        given = tuple(each.to(device) for each in _as_tuple(inputs)) if stage.is_first else ()
        wanted: dict[str, Any] = {"target": targets.to(device), "losses": losses} if stage.is_last else {}
        schedule.step(*given, **wanted)
        return losses

    return part, run


def _as_tuple(inputs: Inputs) -> tuple[Tensor, ...]:
    return (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
