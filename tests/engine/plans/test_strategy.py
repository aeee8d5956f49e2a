"""TensorFlow's strategies for equal replicas: what of a plan they carry out, and the file that trains by it."""

import dataclasses
import json
import re
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from engine.clusters.parsing import parse_cluster
from engine.plans.mirrored import mirrored
from engine.plans.plan import Plan, PlanRules, Replica
from engine.plans.report import plan_to_json
from engine.plans.request import PlanRequest
from engine.plans.simulated import PlanSimulator
from engine.plans.strategy_script import NAME, write_strategy
from engine.simulator.streams.stream import Pipeline, Recompute
from tests.engine.plans.layered_step import layered_model
from tests.json_schema import faults

MODEL = layered_model()
RULES = PlanRules(Pipeline.ONE_F_ONE_B)
TWO_HOSTS = json.dumps(
    {"devices": [{"name": f"/job:worker/task:{task}/device:GPU:0", "kind": "V100"} for task in range(2)]}
)
SCHEMA = json.loads((Path(__file__).resolve().parents[3] / "docs" / "formats" / "plans.schema.json").read_text())

TRAINED = """
import numpy, tensorflow as tf, keras

def made():
    keras.utils.set_random_seed(7)
    layers = [keras.Input((6,)), keras.layers.Dense(16, activation="tanh"), keras.layers.Dense(3)]
    model = keras.Sequential(layers)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction=None)
    rng = numpy.random.default_rng(3)
    inputs, targets = rng.normal(size=(40, 6)).astype("float32"), rng.integers(0, 3, 40)
    data = tf.data.Dataset.from_tensor_slices((inputs, targets))
    return model, keras.optimizers.Adam(0.1), loss, data
"""
ALONE = """
import sys, tensorflow as tf, trained
model, optimizer, loss, data = trained.made()
for number, (inputs, targets) in enumerate(data.batch(int(sys.argv[1]), drop_remainder=True).take(2), 1):
    with tf.GradientTape() as tape:
        value = tf.reduce_mean(loss(targets, model(inputs, training=True)))
    optimizer.apply(tape.gradient(value, model.trainable_variables), model.trainable_variables)
    print(f"step {number}: loss {float(value):.9g}")
"""


def shares(*samples: tuple[int, int]) -> Plan:
    """A replica on each device, of (micro_batch, micro_batches)."""
    alone = MODEL.prepared.grouping.group_of_op * 0
    return Plan(tuple(Replica((device,), alone, *share) for device, share in enumerate(samples)))


def request_on(cluster: str, plan: Plan, rules: PlanRules = RULES) -> PlanRequest:
    return PlanRequest(parse_cluster(cluster), plan.samples, rules)


def row_of(plan: Plan, request: PlanRequest) -> dict[str, Any]:
    return plan_to_json(MODEL, PlanSimulator(MODEL, request.cluster, request.rules).simulate(plan))


def test_equal_shares_are_carried_out_as_the_plan() -> None:
    plan = shares((2, 3), (2, 3))
    found = mirrored(MODEL, request_on("2xV100", plan), plan)
    assert found.words == "as the plan" and found.simulated is not None
    assert [(each.micro_batch, each.micro_batches) for each in found.simulated.plan.replicas] == [(2, 3)] * 2


def test_of_unequal_shares_the_nearest_equal_ones_and_what_they_cost() -> None:
    plan = shares((1, 12), (1, 4))
    request = request_on("2xV100", plan)
    found = mirrored(MODEL, request, plan)
    assert found.simulated is not None
    assert [replica.samples for replica in found.simulated.plan.replicas] == [8, 8]
    own_us = PlanSimulator(MODEL, request.cluster, RULES).simulate(plan).batch_time_us
    slower = 100 * (found.simulated.batch_time_us / own_us - 1)
    assert found.words == (
        "its shares are unequal, which TensorFlow's strategies cannot do: with equal shares of 8 samples a batch takes "
        f"{slower:.1f} % longer"
    )


@pytest.mark.parametrize(
    ("plan", "cluster", "rules", "words"),
    [
        (shares((1, 4)), "2xV100", RULES, "one device alone needs no strategy"),
        (shares((1, 4), (1, 3)), "2xV100", RULES, "7 samples in equal shares on 2 devices cannot be made"),
        (shares((1, 4), (1, 4)), "V100+cpu", RULES, "its replicas are on GPUs and CPUs"),
        (shares((1, 4), (1, 4)), "2xV100", dataclasses.replace(RULES, shards_optimizer=True), "shard no optimizer"),
        (
            shares((1, 4), (1, 4)),
            "2xV100",
            dataclasses.replace(RULES, recompute=Recompute.STAGES),
            "run no stage again",
        ),
        (shares((1, 4), (1, 4)), "2xV100", PlanRules(Pipeline.INFERENCE), "the graph is not trained"),
    ],
)
def test_what_cannot_be_carried_out_is_said(
    tmp_path: Path, plan: Plan, cluster: str, rules: PlanRules, words: str
) -> None:
    request = request_on(cluster, plan, rules)
    found = mirrored(MODEL, request, plan)
    assert found.simulated is None and words in found.words and "\n" not in found.words
    row = {"replicas": [replica.to_json() for replica in plan.replicas]}
    assert write_strategy(MODEL, request, row, tmp_path) == {"file": None, "words": found.words, "plan": None}
    assert list(tmp_path.iterdir()) == []


def test_a_replica_of_several_devices_and_unequal_hosts_are_not_carried_out() -> None:
    two = Plan(
        (Replica((0, 1), MODEL.prepared.grouping.group_of_op % 2, 1, 4), *shares((1, 1), (1, 1), (1, 4)).replicas[2:])
    )
    assert "one device a replica" in mirrored(MODEL, request_on("3xV100", two), two).words
    names = ["task:0/device:GPU:0", "task:0/device:GPU:1", "task:1/device:GPU:0"]
    cluster = json.dumps({"devices": [{"name": f"/job:worker/{name}", "kind": "V100"} for name in names]})
    plan = shares((1, 4), (1, 4), (1, 4))
    assert "its hosts have unequal numbers of devices" in mirrored(MODEL, request_on(cluster, plan), plan).words


def test_the_field_of_the_report_is_as_the_schema_says(tmp_path: Path) -> None:
    plan = shares((1, 12), (1, 4))
    request = request_on("2xV100", plan)
    found = write_strategy(MODEL, request, row_of(plan, request), tmp_path)
    assert found["file"] == NAME and str(found["words"]) in (tmp_path / NAME).read_text()
    assert [*faults(json.loads(json.dumps(found)), SCHEMA["properties"]["strategy"], SCHEMA)] == []


def losses(folder: Path, *words: str) -> list[float]:
    """The losses that a script of the folder prints."""
    run = subprocess.run([sys.executable, *words], cwd=folder, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    return [float(found) for found in re.findall(r"^step \d+: loss (\S+)$", run.stdout, flags=re.MULTILINE)]


def folder_with(tmp_path: Path, cluster: str, plan: Plan) -> Path:
    """A folder with the file for a plan, and the model that is trained."""
    request = request_on(cluster, plan)
    assert write_strategy(MODEL, request, row_of(plan, request), tmp_path)["file"] == NAME
    (tmp_path / "trained.py").write_text(TRAINED)
    (tmp_path / "alone.py").write_text(ALONE)
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("share", [(4, 1), (2, 3)])
def test_two_virtual_devices_train_as_one(tmp_path: Path, share: tuple[int, int]) -> None:
    plan = shares(share, share)
    folder = folder_with(tmp_path, "2xV100", plan)
    found = losses(folder, NAME, "trained:made", "--steps", "2", "--cpus")
    assert found == pytest.approx(losses(folder, "alone.py", str(plan.samples)), abs=1e-5) and len(found) == 2


def free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [int(each.getsockname()[1]) for each in sockets]
    for each in sockets:
        each.close()
    return ports


@pytest.mark.slow
def test_two_hosts_train_as_one(tmp_path: Path) -> None:
    plan = shares((2, 2), (2, 2))
    folder = folder_with(tmp_path, TWO_HOSTS, plan)
    hosts = ",".join(f"127.0.0.1:{port}" for port in free_ports(2))
    words = [sys.executable, NAME, "trained:made", "--steps", "2", "--cpus", "--hosts", hosts, "--host"]
    both = [
        subprocess.Popen([*words, str(host)], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for host in range(2)
    ]
    outputs = [process.communicate(timeout=300) for process in both]
    expected = losses(folder, "alone.py", str(plan.samples))
    for process, (printed, errors) in zip(both, outputs, strict=True):
        assert process.returncode == 0, errors
        found = [float(each) for each in re.findall(r"loss (\S+)", printed)]
        assert found == pytest.approx(expected, abs=1e-5) and len(found) == 2


@pytest.mark.slow
def test_a_host_without_the_gpus_of_the_plan_is_told(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, "2xV100", shares((1, 4), (1, 4)))
    words = [sys.executable, NAME, "trained:made"]
    run = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=300)
    assert run.returncode == 1
    assert run.stderr.strip().splitlines()[-1].startswith("the plan has GPU:0, GPU:1, and here are 0 GPUs")


def test_hosts_are_in_the_order_of_the_cluster(tmp_path: Path) -> None:
    text = (folder_with(tmp_path, TWO_HOSTS, shares((1, 4), (1, 4))) / NAME).read_text()
    assert 'HOSTS = [["GPU:0"], ["GPU:0"]]' in text and "--hosts HOST:PORT" in text
    assert re.findall("@[A-Z_]+@", text) == []
