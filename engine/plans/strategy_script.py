"""`strategy.py`: the file that trains a Keras model by a plan with TensorFlow's strategies for equal replicas."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engine.clusters.cluster import Cluster
from engine.events import Json
from engine.plans.by_batch import ModelByBatch
from engine.plans.mirrored import Mirrored, mirrored
from engine.plans.plan import Plan, Replica
from engine.plans.price import devices_used, prices_of
from engine.plans.report import plan_to_json
from engine.plans.request import PlanRequest

NAME = "strategy.py"

SCRIPT = '''"""Trains a Keras model by the plan in plan.json, with TensorFlow's strategies for equal replicas.

    python strategy.py MODULE:FUNCTION [--steps N] [--cpus]@USAGE@

FUNCTION() makes a model, an optimizer, a loss without reduction (one for each sample) and a tf.data.Dataset of single
samples (inputs, targets). It is called once in a process, in the scope of the strategy.
The plan: @WORDS@.
"""

import argparse
import importlib
import json
import os
import sys

import tensorflow as tf

HOSTS = @HOSTS@  # the devices on each
MICRO_BATCH, MICRO_BATCHES = @MICRO_BATCH@, @MICRO_BATCHES@  # of each device in a batch
SHARE = MICRO_BATCH * MICRO_BATCHES
REPLICAS = sum(map(len, HOSTS))
BATCH = SHARE * REPLICAS


def arguments():
    parser = argparse.ArgumentParser(description="Trains a Keras model by the plan in plan.json.")
    parser.add_argument("function", metavar="MODULE:FUNCTION", help="makes model, optimizer, loss and data")
    parser.add_argument("--steps", type=int, default=-1, help="batches (without it all of the data)")
    parser.add_argument("--cpus", action="store_true", help="try it without GPUs: a virtual CPU for each device")
    parser.add_argument("--hosts", default="", help="of several hosts: ADDRESS:PORT of each, by commas, as in HOSTS")
    parser.add_argument("--host", type=int, default=0, help="of several hosts: the number of this one, from 0")
    return parser.parse_args()


def strategy_for(asked):
    names = HOSTS[asked.host]
    if asked.cpus:
        names = [f"CPU:{number}" for number in range(len(names))]
    numbers = [int(name.partition(":")[2]) for name in names]
    if names[0].startswith("CPU"):
        tf.config.set_visible_devices([], "GPU")
        own = [tf.config.LogicalDeviceConfiguration()] * (max(numbers) + 1)
        tf.config.set_logical_device_configuration(tf.config.list_physical_devices("CPU")[0], own)
    else:
        gpus = tf.config.list_physical_devices("GPU")
        if len(gpus) <= max(numbers):
            sys.exit(f"the plan has {', '.join(names)}, and here are {len(gpus)} GPUs; --cpus tries it without")
    if len(HOSTS) == 1:
        return tf.distribute.MirroredStrategy(names)
    if "TF_CONFIG" not in os.environ:
        workers = asked.hosts.split(",")
        if len(workers) != len(HOSTS):
            sys.exit(f"--hosts names {len(workers) if asked.hosts else 0} hosts, and the plan has {len(HOSTS)}")
        task = {"type": "worker", "index": asked.host}
        os.environ["TF_CONFIG"] = json.dumps({"cluster": {"worker": workers}, "task": task})
    if names[0].startswith("CPU"):
        if len(names) > 1:
            sys.exit("MultiWorkerMirroredStrategy uses one CPU a host, and the plan has several devices on each")
    else:
        tf.config.set_visible_devices([gpus[number] for number in numbers], "GPU")
    return tf.distribute.MultiWorkerMirroredStrategy()


def own_shares(data, steps):
    """The shares of this process's replicas, batch after batch."""

    def make(context):
        own = REPLICAS // context.num_input_pipelines
        batches = data.batch(BATCH, drop_remainder=True).take(steps).unbatch()
        shares = batches.batch(SHARE, drop_remainder=True).enumerate()
        mine = shares.filter(lambda number, _: number % REPLICAS // own == context.input_pipeline_id)
        return mine.map(lambda _, share: share)

    return make


def main():
    asked = arguments()
    strategy = strategy_for(asked)
    if strategy.num_replicas_in_sync != REPLICAS:
        sys.exit(f"the plan has {REPLICAS} replicas, and the strategy made {strategy.num_replicas_in_sync}")
    sys.path.insert(0, os.getcwd())
    module, _, function = asked.function.partition(":")
    with strategy.scope():
        model, optimizer, loss, data = getattr(importlib.import_module(module), function)()
        optimizer.build(model.trainable_variables)

    def passes(inputs, targets):
        variables = model.trainable_variables
        sums = [tf.zeros_like(variable) for variable in variables]
        total = tf.zeros(())
        for number in tf.range(MICRO_BATCHES):
            first = number * MICRO_BATCH
            part = tf.nest.map_structure(lambda all_of_it: all_of_it[first : first + MICRO_BATCH], (inputs, targets))
            with tf.GradientTape() as tape:
                value = tf.reduce_sum(loss(part[1], model(part[0], training=True))) / BATCH
                if model.losses:
                    value += tf.add_n(model.losses) / (REPLICAS * MICRO_BATCHES)
            gradients = tape.gradient(value, variables, unconnected_gradients="zero")
            sums = [one + other for one, other in zip(sums, gradients)]
            total += value
        optimizer.apply(sums, variables)
        return total

    @tf.function
    def step(share):
        return strategy.reduce("SUM", strategy.run(passes, args=share), axis=None)

    for number, share in enumerate(strategy.distribute_datasets_from_function(own_shares(data, asked.steps)), 1):
        print(f"step {number}: loss {float(step(share)):.9g}", flush=True)


main()
'''


def write_strategy(model: ModelByBatch, request: PlanRequest, row: Mapping[str, Any], folder: Path) -> dict[str, Json]:
    """Write the file to `folder`, of what is carried out of a plan, `row` of the report of `request`.

    Returns the field `strategy` of the report: `file` and `plan`, null where nothing is carried out, and `words`.
    """
    plan = Plan(tuple(Replica.from_json(each) for each in row["replicas"]))
    found = mirrored(model, request, plan)
    if found.simulated is None:
        return {"file": None, "words": found.words, "plan": None}
    (folder / NAME).write_text(strategy_script(request.cluster, found))
    carried_out = plan_to_json(model, found.simulated) | prices_of(request.cluster, found.simulated)
    return {"file": NAME, "words": found.words, "plan": carried_out}


def strategy_script(cluster: Cluster, found: Mirrored) -> str:
    """The file for what is carried out of a plan, which is something."""
    assert found.simulated is not None
    plan = found.simulated.plan
    hosts = _hosts(cluster, devices_used(plan))
    usage = " [--hosts HOST:PORT,...  --host NUMBER]" if len(hosts) > 1 else ""
    replica = plan.replicas[0]
    values: Mapping[str, object] = {
        "USAGE": usage,
        "WORDS": found.words,
        "HOSTS": json.dumps(hosts),
        "MICRO_BATCH": replica.micro_batch,
        "MICRO_BATCHES": replica.micro_batches,
    }
    text = SCRIPT
    for name, value in values.items():
        text = text.replace(f"@{name}@", str(value))
    return text


def _hosts(cluster: Cluster, devices: list[int]) -> list[list[str]]:
    """[hosts] the devices of each, `GPU:0`, in the order of the cluster."""
    found: dict[str, list[str]] = {}
    for device in (cluster.devices[number] for number in devices):
        found.setdefault(device.machine, []).append(device.name.rpartition("/device:")[2])
    return [*found.values()]
