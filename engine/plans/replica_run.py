"""One replica of a plan as a run, so that whatever shows runs shows it: its devices, its placement, its stream."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from engine.clusters.cluster import part_of_cluster
from engine.graphs.grouping.nesting import SplitPlacement
from engine.plans.request import PlanRequest
from engine.problem import Budget
from engine.run.request import RunRequest


def replica_request(request: PlanRequest, replica: Mapping[str, Any]) -> RunRequest:
    """A run that evaluates the placement of `replica`, a row of a plan's JSON, and no other one.

    Its cluster has the replica's devices alone, its stream the replica's micro-batches, and its budget ends with that
    placement. It is for the graph of the replica's micro-batch.
    """
    devices = replica["devices"]
    index = {device: own for own, device in enumerate(devices)}
    placement = [index[device] for device in replica["device_of_group"]]
    return RunRequest(
        part_of_cluster(request.cluster, np.array(devices)),
        request.method,
        Budget(1),
        request.seed,
        drop_devices=request.drop_devices,
        start=SplitPlacement(placement),
        stream=request.rules.stream(replica["micro_batches"]),
    )
