"""A training whose processes torchrun started: one is killed, and the answer is still that of one machine's team."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from torch.distributed import HashStore  # type: ignore[attr-defined]  # torch documents it

from engine import api
from engine.cli.main import main
from engine.errors import SettingsError
from engine.events import Json
from engine.policies import processes
from engine.policies.learner import Learner
from engine.policies.settings import make_training_settings
from engine.policies.team_plan import team_plan
from engine.policies.training_problem import TrainingProblem
from tests.engine.cli.small_files import GRAPH
from tests.engine.placers.small_problems import small_problem
from tests.engine.policies.small_trainings import COUNTED

TORCHRUN = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "--max-restarts", "1"]
LONGER: dict[str, Json] = {**COUNTED, "learners": 2, "batch_episodes": 4, "reinforcement_batches": 300}


@pytest.mark.slow
def test_a_training_by_torchrun_goes_on_after_a_kill_to_the_weights_of_one_machine(tmp_path: Path) -> None:
    graphs = [tmp_path / f"{name}.json" for name in ("one", "two")]
    for number, graph in enumerate(graphs, 1):
        described: dict[str, Any] = json.loads(json.dumps(GRAPH | {"graph": {"name": graph.stem}}))
        for node in described["nodes"]:
            node["persistent_bytes"] = number
        graph.write_text(json.dumps(described))
    settings = [part for name, value in LONGER.items() for part in ("--set", f"{name}={json.dumps(value)}")]
    words = ["train", *map(str, graphs), "--cluster", "2xK80", *settings, "--name", "policy", "--out"]
    out, of_one_machine = tmp_path / "policy.safetensors", tmp_path / "alone.safetensors"
    command = [sys.executable, *TORCHRUN, "-m", "engine", *words, str(out)]
    with subprocess.Popen(command, cwd=Path(__file__).parents[3], stderr=subprocess.PIPE, text=True) as torchrun:
        until = time.monotonic() + 120
        while not out.with_name(f"{out.name}.state").exists():
            assert torchrun.poll() is None and time.monotonic() < until
            time.sleep(0.01)
        workers = Path(f"/proc/{torchrun.pid}/task/{torchrun.pid}/children").read_text().split()
        os.kill(int(workers[-1]), signal.SIGKILL)
        assert "goes on from" in torchrun.communicate()[1]
    assert torchrun.returncode == 0
    assert main([*words, str(of_one_machine)]) == 0
    one, other = (api.read_policy(path.read_bytes(), "policy") for path in (out, of_one_machine))
    for name, array in one.weights.items():
        np.testing.assert_array_equal(array, other.weights[name])
    assert one.card.episodes == other.card.episodes == 4 * 300


def test_torchrun_with_more_processes_than_learners_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "rendezvous", lambda _: iter([(HashStore(), 0, 3)]))
    problems = [TrainingProblem("small", "2xGPU", small_problem(number, ops=10, devices=2)) for number in range(2)]
    plan = team_plan(problems, make_training_settings({"learners": 3}), 5, Learner)
    with pytest.raises(SettingsError) as caught:
        processes.meet_by_torchrun(plan)
    said = "learners: 2 for 3 processes of torchrun; allowed: a learner, and a problem, for each process"
    assert str(caught.value) == said
