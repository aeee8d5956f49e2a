"""A machine that is made up, what its trials say and what its training steps show."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from engine import api
from engine.clusters.calibration import Calibration
from engine.clusters.cluster import Cluster, Contention, Device, MemoryModel
from engine.clusters.device_kinds import DeviceKind
from engine.clusters.shares import Efficiency
from engine.measuring.calibrating.training_steps import StepOnOneDevice
from engine.measuring.step_record import Sent, Spans, StepRecord
from engine.simulator import Simulator

IN_STEPS = {"Conv2D": Efficiency(0.6, 0.3), "Conv2DBackpropFilter": Efficiency(0.05, 0.2), "Relu": Efficiency(1.6, 1.6)}
OF_OTHERS = 0.5
NEVER_SEEN = "Rare"
OF_TRIALS = {"Conv2D": Efficiency.of_both(0.9), NEVER_SEEN: Efficiency.of_both(0.3)}
NOTHING = np.empty(0)


def machine_of(efficiency: float = 0.8, of_types: Mapping[str, Efficiency] = OF_TRIALS) -> Cluster:
    kind = DeviceKind(
        name="this-CPU",
        device_class="CPU",
        memory_bytes=2**33,
        peak_gflops=0.05,
        memory_bandwidth_bytes_per_us=10.0,
        source="made up",
        efficiency=efficiency,
        efficiency_by_op_type=of_types,
        op_rest_us=0.1,
    )
    return Cluster(
        devices=tuple(Device(f"/device:CPU:{index}", "this-CPU", 2**33, kind) for index in range(2)),
        contention=Contention.SENDER,
        bandwidth_bytes_per_us=np.full((2, 2), 5.0),
        latency_us=np.full((2, 2), 200.0),
        link_rest_us=50.0,
        op_rest_us=0.1,
        memory_model=MemoryModel.FULL,
        calibration=Calibration("made up", "2026-01-31", {}),
    )


def true_machine() -> Cluster:
    """What the trials should have said, had they known it."""
    return machine_of(OF_OTHERS, IN_STEPS)


def step_on_one(prepared: api.PreparedGraph, machine: Cluster, tracing: float = 1.0) -> StepOnOneDevice:
    """A step as `machine` runs it; its trace takes `tracing` times as long."""
    time_us = np.nan_to_num(prepared.costs.time_on_devices(machine.devices[:1])[0]) * tracing
    end_us = np.cumsum(time_us)
    ops = np.arange(len(time_us))
    added = np.array([len(ops)])  # TensorFlow's own op, which no graph has
    ran = Spans(
        np.append(ops, added),
        np.zeros(len(ops) + 1, np.int64),
        np.append(end_us - time_us, 0.0),
        np.append(end_us, 9e9),
    )
    none = np.empty(0, np.int64)
    sent = Sent(none, none, NOTHING, NOTHING, none, none)
    record = StepRecord(float(end_us[-1]), ran, sent, np.zeros(len(ops) + 1), ("_SOURCE",))
    return StepOnOneDevice(
        prepared, record, simulated_us(prepared, machine, np.zeros(prepared.grouping.group_count, np.int32))
    )


def simulated_us(prepared: api.PreparedGraph, machine: Cluster, placement: NDArray[np.int32]) -> float:
    simulator = Simulator(prepared.graph, prepared.costs, machine, prepared.grouping.group_of_op)
    return float(simulator.evaluate(placement[None]).step_time_us[0])
