"""The split of an answer in the hands of torch.distributed.pipelining: two processes train as the whole model does."""

import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import placeto
import pytest
import torch

from engine import api
from engine.formats.modules.stages import SPLIT_SPEC, split_spec_of
from engine.formats.node_link.reader import parsed
from engine.graphs.grouping.grouping import group_ops
from engine.graphs.origin import Origin
from engine.prepared import PreparedGraph
from experiments.folders import ROOT
from tests.engine.formats.modules.stage_process import MICRO_BATCHES, SAMPLES, STAGES, loss_of, model_and_batch

CLUSTER = api.parse_cluster("2xA100")
SECONDS = 120.0
"""a process that waits for the other longer is stuck"""


def exported_split(pipeline: str) -> dict[str, str]:
    """The split of the exact contiguous answer for the model's training."""
    model, inputs, targets = model_and_batch()
    recording = placeto.record(
        model,
        inputs[:SAMPLES],
        loss=lambda output: loss_of(output, targets[:SAMPLES]),
        optimizer=partial(torch.optim.SGD, lr=0.1),
    )
    found = parsed(json.dumps(recording.to_json()).encode())
    origin = Origin(".json", framework="torch", beside=found.beside)
    prepared = PreparedGraph(found.graph, found.costs, group_ops(found.graph, found.costs, None), origin)
    stream = api.Stream(MICRO_BATCHES, api.pipeline_of(pipeline), contiguous=True)
    request = api.RunRequest(CLUSTER, "pipeline_dp", api.Budget(100), 0, baselines=(), robustness=False, stream=stream)
    report = api.place(prepared, request, lambda _: None, lambda: False)
    device_of_op = prepared.device_of_op(api.placement_of_report(report))
    split = split_spec_of(prepared, CLUSTER, device_of_op)[SPLIT_SPEC]
    assert isinstance(split, dict)
    return {module: str(how) for module, how in split.items()}


@pytest.mark.slow
@pytest.mark.parametrize("pipeline", ["gpipe", "1f1b"])
def test_two_processes_with_the_exported_split_train_as_the_whole_model(tmp_path: Path, pipeline: str) -> None:
    split = exported_split(pipeline)
    assert len(split) == STAGES - 1
    (tmp_path / "split.json").write_text(json.dumps(split))
    module = "tests.engine.formats.modules.stage_process"
    environment = os.environ | {"GLOO_SOCKET_IFNAME": "lo", "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'client'}"}
    processes = [
        subprocess.Popen([sys.executable, "-m", module, str(tmp_path), str(rank), pipeline], cwd=ROOT, env=environment)
        for rank in range(STAGES)
    ]
    try:
        assert [process.wait(SECONDS) for process in processes] == [0, 0]
    finally:
        for process in processes:
            process.kill()
    first, last = (json.loads((tmp_path / f"{rank}.json").read_text()) for rank in range(STAGES))

    model, inputs, targets = model_and_batch()
    loss = loss_of(model(inputs), targets)
    loss.backward()  # type: ignore[no-untyped-call]  # torch's own
    assert sum(last["losses"]) / MICRO_BATCHES == pytest.approx(loss.item(), rel=1e-5)
    assert not set(first["gradients"]) & set(last["gradients"])
    gradients = first["gradients"] | last["gradients"]
    assert gradients.keys() == dict(model.named_parameters()).keys()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None
        assert torch.allclose(torch.tensor(gradients[name]), parameter.grad, atol=1e-6), name
