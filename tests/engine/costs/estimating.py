"""Estimates many graphs in one child, which loads TensorFlow once; beside them what the tests compare with."""

import dataclasses
import importlib
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from tensorflow.core.protobuf import device_properties_pb2
from tensorflow.python.grappler import cluster as grappler_cluster

from engine.child.parent import ReportProgress, Results
from engine.clusters.device_kinds import CATALOGUE, COSTED_KINDS
from engine.costs.tensorflow import estimating, grappler
from engine.costs.tensorflow.placeholders import graph_to_cost, replace_feeds
from engine.errors import PlacetoError
from engine.events import Json
from engine.graphs.reading_options import ReadingOptions
from engine.graphs.tensorflow.graphdef_messages import read_messages
from engine.zoo import ZOO
from tests.engine.costs.grappler_devices import GRAPPLER_DEVICES
from tests.engine.costs.roofline import arithmetic

TIMES_SLOWER = 100
"""the estimator gives whole µs: it is told of a device that is so many times slower, and its answer is divided"""


def estimate_all_in_child(order: dict[str, Json], folder: Path, report_progress: ReportProgress) -> Results:
    """By job: `name.field` arrays as `estimate` gives them, op names and types, or the error's text.

    A job is {path, options}, {zoo, settings} for a graph of the zoo that is built first, and what is wanted beside:
    `roofline` or `direct`.
    """
    arrays: dict[str, NDArray[np.generic]] = {}
    texts: dict[str, Json] = {}
    for name, job in cast(dict[str, dict[str, Json]], order).items():
        path = _built(name, job, folder) if "zoo" in job else Path(cast(str, job["path"]))
        options = cast(dict[str, Json], job.get("options", ReadingOptions().to_json()))
        try:
            messages = read_messages(path.read_bytes(), path.suffix)
            graph = estimating.estimate(messages, ReadingOptions.from_json(options), COSTED_KINDS, report_progress)
        except PlacetoError as error:
            texts[name] = f"{type(error).__name__}: {error}"
            continue
        values = {each.name: getattr(graph.costs, each.name) for each in dataclasses.fields(graph.costs)}
        found: dict[str, NDArray[np.generic]] = {
            name: value for name, value in values.items() if isinstance(value, np.ndarray)
        }
        texts[name] = [node.name for node in messages.nodes]
        texts[f"{name}.said"] = {
            each.name: cast(Json, getattr(graph, each.name))
            for each in dataclasses.fields(graph)
            if each.name != "costs"
        }
        texts[f"{name}.types"] = [node.op for node in messages.nodes]
        if job.get("roofline"):
            names, found["roofline.operations"], found["roofline.bytes"] = arithmetic(path)
            texts[f"{name}.roofline.names"] = cast(list[Json], names)
        if job.get("direct"):
            found["direct"] = _direct(path)
        arrays |= {f"{name}.{key}": array for key, array in found.items()}
    return arrays, texts


def _built(name: str, job: dict[str, Json], folder: Path) -> Path:
    """A graph of the zoo, in the child's folder."""
    model = ZOO[cast(str, job["zoo"])]
    module, _, function = model.builder.partition(":")
    graph = getattr(importlib.import_module(module), function)(model.settings(cast(dict[str, Json], job["settings"])))
    path = folder / f"{name}.pb"
    path.write_bytes(graph.SerializeToString())
    return path


def _direct(path: Path) -> NDArray[np.float64]:
    """[kinds, ops] µs, as the estimator answers for each device kind itself."""
    messages = read_messages(path.read_bytes(), path.suffix)
    to_cost = graph_to_cost(messages, {})
    replace_feeds(to_cost.graph)
    item = grappler.item_of(to_cost.meta_graph)
    return np.array([_direct_times(item, [node.name for node in messages.nodes], kind) for kind in COSTED_KINDS])


def _direct_times(item: Any, names: list[str], name: str) -> list[float]:
    """[ops] µs on a device of the kind `name`; NaN for what the estimator has not come to."""
    kind, asked = CATALOGUE[name], GRAPPLER_DEVICES[name]
    speed = asked.frequency_mhz * asked.cores
    slow_speed = max(1, round(speed / TIMES_SLOWER))
    slower = speed / slow_speed
    properties = device_properties_pb2.DeviceProperties(
        type=kind.device_class,
        frequency=slow_speed,
        num_cores=1,
        bandwidth=round(kind.memory_bandwidth_bytes_per_us * 1000 / slower),
        memory_size=2**60,
    )
    if asked.architecture:
        properties.environment["architecture"] = asked.architecture
    device = device_properties_pb2.NamedDevice(
        name=f"/job:localhost/replica:0/task:0/device:{kind.device_class}:0", properties=properties
    )
    performances, _, _ = grappler_cluster.Cluster(devices=[device]).MeasureCosts(item)
    time_of_name = {each.node: each.compute_cost / 1000 / slower for each in performances}
    return [time_of_name.get(name, float("nan")) for name in names]
