"""`placeto.carry_out`: processes train by a plan as one process does with the whole batch."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import placeto
import pytest
import torch
from placeto.staged_plan import read_plan

from engine import api
from engine.formats.modules.stages import BEGINNING, SPLIT_SPEC, devices_of_split
from engine.formats.node_link.reader import parsed
from engine.graphs.grouping.grouping import group_ops
from engine.graphs.origin import Origin
from engine.plans.plan import Plan, Replica
from engine.plans.report import FORMAT, plan_to_json
from engine.plans.simulated import PlanSimulator
from engine.prepared import PreparedGraph
from experiments.folders import ROOT
from tests.client.carrying_process import BATCH, OPTIMIZER, loss_of, model_and_batches

CLUSTER = api.parse_cluster("4xCPU")
SECONDS = 240.0
"""processes that wait for each other longer are stuck"""
Share = tuple[tuple[int, ...], tuple[str, ...], int, int]
"""of a replica: the devices of its stages, the modules with which the later ones begin, micro-batch, micro-batches"""

EQUAL: list[Share] = [((device,), (), 1, 3) for device in range(4)]
UNEQUAL: list[Share] = [((0,), (), 2, 3), ((1,), (), 2, 1), ((2,), (), 1, 3), ((3,), (), 1, 1)]
TWO_BY_TWO: list[Share] = [((0, 1), ("blocks.2",), 2, 3), ((2, 3), ("blocks.2",), 2, 3)]
CROSSED: list[Share] = [((3, 0), ("blocks.4",), 2, 4), ((1, 2), ("blocks.4",), 1, 4)]
FOUR_STAGES: list[Share] = [((0, 1, 2, 3), ("blocks.1", "blocks.3", "blocks.5"), 3, 4)]
UNLIKE: list[Share] = [((2, 0), ("blocks.3",), 2, 3), ((1,), (), 3, 1), ((3,), (), 1, 3)]
PLANS = [EQUAL, UNEQUAL, TWO_BY_TWO, CROSSED, FOUR_STAGES, UNLIKE]


def recorded(batch: int) -> PreparedGraph:
    model, [(inputs, targets), *_] = model_and_batches()
    step = placeto.record(
        model, inputs[:batch], loss=lambda output: loss_of(output, targets[:batch]), optimizer=OPTIMIZER, batch=batch
    )
    found = parsed(json.dumps(step.to_json()).encode())
    origin = Origin(".json", framework="torch", beside=found.beside, samples=batch)
    return PreparedGraph(found.graph, found.costs, group_ops(found.graph, found.costs, None), origin)


def report_of(plans: list[list[Share]], pipeline: str) -> dict[str, Any]:
    """The report of these plans, as `plan --report` writes it."""
    model = api.model_by_batch([recorded(2), recorded(4)])
    rules = api.PlanRules(api.pipeline_of(pipeline))
    simulator = PlanSimulator(model, CLUSTER, rules)
    made = [
        plan_to_json(model, simulator.simulate(Plan(tuple(replica_of(model.prepared, share) for share in plan))))
        for plan in plans
    ]
    return {
        "format": FORMAT,
        "rules": rules.to_json(),
        "devices": [device.name for device in CLUSTER.devices],
        "plans": made,
    }


def replica_of(prepared: PreparedGraph, share: Share) -> Replica:
    devices, begins, micro_batch, micro_batches = share
    stage_of_op = devices_of_split(prepared, CLUSTER, {SPLIT_SPEC: dict.fromkeys(begins, BEGINNING)})
    placement = np.zeros(prepared.grouping.group_count, np.int32)
    placement[prepared.grouping.group_of_op] = stage_of_op
    return Replica(devices, placement, micro_batch, micro_batches)


def alone() -> tuple[list[float], dict[str, torch.Tensor]]:
    """The losses and the weights of one process with whole batches."""
    model, batches = model_and_batches()
    optimizer = OPTIMIZER(model.parameters())
    losses = []
    for inputs, targets in batches:
        loss = loss_of(model(inputs), targets)
        loss.backward()  # type: ignore[no-untyped-call]  # torch's own
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return losses, model.state_dict()


@pytest.mark.slow
def test_four_processes_train_by_each_plan_as_one_does(tmp_path: Path) -> None:
    (tmp_path / "reports.json").write_text(json.dumps([report_of(PLANS, name) for name in ("1f1b", "gpipe")]))
    module = ["-m", "tests.client.carrying_process", str(tmp_path)]
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "4"]
    own = {"GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1", "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'client'}"}
    subprocess.run([sys.executable, *torchrun, *module], cwd=ROOT, env=os.environ | own, check=True, timeout=SECONDS)
    losses, weights = alone()
    for rank in range(4):
        for of_pipeline in json.loads((tmp_path / f"{rank}.json").read_text()):
            assert len(of_pipeline) == len(PLANS)
            for found in of_pipeline:
                said = f"this process takes {found['rows']} samples of a batch of {BATCH}, and got {BATCH}"
                assert found["refusal"] == ("" if found["rows"] == BATCH else said)
                assert found["losses"] == pytest.approx(losses, abs=1e-5)
                for name, values in found["weights"].items():
                    assert torch.allclose(torch.tensor(values), weights[name], rtol=0, atol=1e-5), name


@pytest.mark.parametrize("plan", PLANS)
def test_shares_are_all_samples_of_a_batch(plan: list[Share]) -> None:
    assert sum(micro_batch * count for _, _, micro_batch, count in plan) == BATCH


def refusal(change: dict[str, Any], **options: Any) -> str:
    report = report_of([FOUR_STAGES], "1f1b") | change
    model, [(inputs, _), *_] = model_and_batches()
    with pytest.raises(placeto.PlanError) as error:
        placeto.carry_out(report, model, inputs, loss_of, OPTIMIZER, **options)
    return str(error.value)


RULES = {"pipeline": "1f1b", "recompute": "none", "shards_optimizer": False}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"rules": RULES | {"pipeline": "interleaved"}}, "pipeline 'interleaved' is not carried out"),
        ({"rules": RULES | {"recompute": "stages"}}, "plan without --recompute"),
        ({"rules": RULES | {"shards_optimizer": True}}, "plan without --shard-optimizer"),
        ({"plans": []}, "there is no plan 0: the report has 0, from 0"),
        ({"plans": [{}]}, "this is no report of plans: KeyError 'replicas'"),
        ({"plans": [{"replicas": [None]}]}, "this is no report of plans: AttributeError"),
        ({"devices": ["/device:CPU:0"]}, "this is no report of plans: IndexError"),
        ({"format": 2}, "a report of form 2 is not read: only 1"),
        (
            {"devices": ["/device:GPU:0", "/device:GPU:1", "/device:GPU:2", "/device:CPU:0"]},
            "the plan uses GPUs and CPUs, which are not carried out together: plan on GPUs alone, or take on_cpu=True",
        ),
    ],
)
def test_plans_that_are_refused_in_one_line(change: dict[str, Any], words: str) -> None:
    found = refusal(change)
    assert words in found and "\n" not in found


def test_a_placement_that_is_no_chain_is_refused_with_its_reason() -> None:
    """A block goes back to the first device, and the report says so of its module."""
    model = api.model_by_batch([recorded(2), recorded(4)])
    back = replica_of(model.prepared, ((0, 1), ("blocks.1",), 2, 6))
    middle = replica_of(model.prepared, ((0, 1), ("blocks.2",), 2, 6))
    back.placement[:] = back.placement - middle.placement
    simulated = PlanSimulator(model, CLUSTER, api.PlanRules(api.pipeline_of("1f1b"))).simulate(Plan((back,)))
    found = refusal({"plans": [plan_to_json(model, simulated)]})
    assert found.startswith("replica 0 has no stages along the model: module blocks.2: the placement is no chain")


def test_a_stage_on_devices_that_take_turns_is_refused() -> None:
    report = report_of([TWO_BY_TWO], "1f1b")
    report["plans"][0]["replicas"][1]["turns"] = [[2, 3]]
    assert refusal(report).startswith("replica 1 has a stage on several devices that take turns")


def test_fewer_micro_batches_than_stages_are_refused_for_1f1b() -> None:
    few: list[Share] = [((0, 1, 2, 3), ("blocks.1", "blocks.3", "blocks.5"), 4, 3)]
    assert "replica 0 has 3 micro-batches for 4 stages" in refusal(report_of([few], "1f1b"))


def test_on_cpus_a_plan_of_gpus_and_cpus_is_tried() -> None:
    names = ["/device:GPU:0", "/device:GPU:1", "/device:GPU:2", "/device:CPU:0"]
    report = report_of([FOUR_STAGES], "1f1b")
    assert read_plan(report | {"devices": names}, 0, on_cpu=True).device_type == "cpu"
    assert read_plan(report, 0, on_cpu=False).device_type == "cpu"
    gpus = [name.replace("CPU", "GPU") for name in report["devices"]]
    assert read_plan(report | {"devices": gpus}, 0, on_cpu=False).device_type == "cuda"


def test_inputs_shorter_than_a_micro_batch_are_refused_before_processes_meet() -> None:
    model, [(inputs, _), *_] = model_and_batches()
    with pytest.raises(placeto.PlanError, match="have 2 samples, and a micro-batch of the plan has 3"):
        placeto.carry_out(report_of([FOUR_STAGES], "1f1b"), model, inputs[:2], loss_of, OPTIMIZER)


def test_a_file_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(placeto.PlanError, match=r"plan\.json: No such file"):
        placeto.carry_out(tmp_path / "plan.json", torch.nn.Linear(1, 1), torch.ones(1, 1), loss_of, OPTIMIZER)
