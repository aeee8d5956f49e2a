"""Where groups may go: fixed devices, kinds without a time, and groups that are left with nothing."""

import dataclasses
import itertools
import math

import numpy as np
import pytest

from engine.clusters.parsing import parse_cluster
from engine.costs.costs import Costs, CostSource
from engine.errors import GraphError
from engine.graphs.graph import ComputationGraph
from engine.graphs.grouping.grouping import group_ops
from engine.problem.pins import allowed_devices, allowed_of_ops
from tests.engine.graphs.graph_samples import make_costs, make_graph

NAN = math.nan


def allowed(
    graph: ComputationGraph, costs: Costs, cluster: str, groups: int | None = None, *, drop_pins: bool = False
) -> dict[str, str]:
    """The devices of each group, as digits."""
    grouping = group_ops(graph, costs, groups)
    table = allowed_devices(graph, costs, grouping, parse_cluster(cluster), drop_pins=drop_pins)
    rows = ["".join(str(device) for device, free in enumerate(row) if free) for row in table.tolist()]
    return dict(zip(grouping.names, rows, strict=True))


def test_without_pins_everything_may_go_everywhere() -> None:
    assert allowed(make_graph(list("ab"), [("a", "b")]), make_costs(2), "2xK80+cpu") == {"a": "012", "b": "012"}


def test_fixed_devices_match_by_type_and_number() -> None:
    devices = {"a": "/gpu:1", "b": "/job:x/task:3/device:GPU:0", "c": "/device:CPU:0", "d": "/GPU:*", "e": "/job:x"}
    found = allowed(make_graph(list("abcdef"), devices=devices), make_costs(6), "2xK80+cpu")
    assert found == {"a": "1", "b": "0", "c": "2", "d": "01", "e": "012", "f": "012"}


def test_dropped_pins_are_not_looked_at() -> None:
    graph = make_graph(list("ab"), devices={"a": "/gpu:7"})
    assert allowed(graph, make_costs(2), "2xK80", drop_pins=True) == {"a": "01", "b": "01"}


def test_a_fixed_op_holds_its_whole_class() -> None:
    graph = make_graph(list("abc"), colocation={"b": ["a"]}, devices={"b": "/gpu:1"})
    assert allowed(graph, make_costs(3), "2xK80") == {"a": "1", "c": "01"}


def test_kinds_without_a_time_are_closed_and_the_narrower_kind_counts() -> None:
    times = {"K80": [1, NAN, NAN, NAN], "GPU": [NAN, 1, NAN, NAN], "CPU": [NAN, NAN, 1, NAN], "*": [NAN, NAN, NAN, 1]}
    found = allowed(make_graph(list("abcd")), make_costs(4, times), "K80+V100+cpu")
    assert found == {"a": "0", "b": "01", "c": "2", "d": "012"}


def test_merging_never_closes_a_device() -> None:
    names = [f"op_{index}" for index in range(20)]
    edges = list(itertools.pairwise(names))
    cpu_only = [NAN if index % 5 == 2 else 1.0 for index in range(20)]
    graph = make_graph(names, edges, devices={"op_9": "/gpu:1"})
    found = allowed(graph, make_costs(20, {"GPU": cpu_only, "CPU": [1.0] * 20}), "2xK80+cpu", groups=2)
    assert set(found.values()) == {"012", "2", "1"}


def with_strings(graph: ComputationGraph, *names: str) -> ComputationGraph:
    """`graph` with ops that no GPU can run."""
    return dataclasses.replace(
        graph, cpu_reason=tuple("it works on strings" if name in names else "" for name in graph.op_names)
    )


def test_what_no_gpu_can_run_goes_to_the_cpus_with_its_class() -> None:
    graph = with_strings(make_graph(list("abcd"), colocation={"c": ["b"]}), "b")
    assert allowed(graph, make_costs(4), "2xK80+2xcpu") == {"a": "0123", "b": "23", "d": "0123"}


def test_without_a_cpu_in_the_cluster_it_is_free() -> None:
    assert allowed(with_strings(make_graph(list("ab")), "b"), make_costs(2), "2xK80") == {"a": "01", "b": "01"}


def test_a_device_that_the_file_fixes_counts_more() -> None:
    graph = with_strings(make_graph(list("ab"), devices={"b": "/gpu:1"}), "b")
    assert allowed(graph, make_costs(2), "2xK80+cpu") == {"a": "012", "b": "1"}
    assert allowed(graph, make_costs(2), "2xK80+cpu", drop_pins=True) == {"a": "012", "b": "2"}


def with_layers(graph: ComputationGraph, *names: str) -> ComputationGraph:
    """`graph` with ops that no CPU can run."""
    return dataclasses.replace(graph, gpu_reason=tuple(LAYER if name in names else "" for name in graph.op_names))


LAYER = "TensorFlow has no CPU kernel for it"


def test_what_no_cpu_can_run_goes_to_the_gpus_with_its_class() -> None:
    graph = with_layers(make_graph(list("abcd"), colocation={"c": ["b"]}), "b")
    assert allowed(graph, make_costs(4), "2xK80+2xcpu") == {"a": "0123", "b": "01", "d": "0123"}
    of_ops = allowed_of_ops(graph, make_costs(4), parse_cluster("K80+cpu"))
    assert of_ops.tolist() == [[True, True], [True, False], [True, True], [True, True]]


def test_merging_joins_nothing_that_needs_a_gpu_with_the_rest() -> None:
    names = [f"op_{index}" for index in range(20)]
    graph = with_layers(make_graph(names, list(itertools.pairwise(names))), "op_3", "op_10")
    grouping = group_ops(graph, make_costs(20), 3)
    table = allowed_devices(graph, make_costs(20), grouping, parse_cluster("2xK80+cpu"))
    rows = table[grouping.group_of_op].tolist()
    assert [name for name, row in zip(names, rows, strict=True) if not row[2]] == ["op_3", "op_10"]


def refusal(graph: ComputationGraph, cluster: str, *, drop_pins: bool = False) -> str:
    """The sentence with which a run of the graph is refused."""
    with pytest.raises(GraphError) as caught:
        allowed(graph, make_costs(graph.op_count), cluster, drop_pins=drop_pins)
    return str(caught.value)


def test_without_a_gpu_in_the_cluster_what_needs_one_is_refused() -> None:
    graph = with_layers(make_graph(list("ab")), "b")
    sentence = f"b: it needs a GPU ({LAYER}), but it may go to none; allowed: a cluster with a GPU; this one has "
    assert refusal(graph, "2xcpu") == f"{sentence}/device:CPU:0, /device:CPU:1"
    with pytest.raises(GraphError, match="it may go to none"):
        allowed_of_ops(graph, make_costs(2), parse_cluster("cpu"))


def test_ops_that_need_a_gpu_and_a_cpu_and_must_share_a_device_are_refused() -> None:
    both = with_layers(with_strings(make_graph(list("ab"), colocation={"b": ["a"]}), "a"), "b")
    assert refusal(both, "2xK80+cpu") == (
        f"b: it needs a GPU ({LAYER}), but a, which must share its device, a CPU (it works on strings); "
        "allowed: one device for all ops that are co-located"
    )
    alone = with_layers(with_strings(make_graph(["a"]), "a"), "a")
    assert refusal(alone, "2xK80+cpu") == (
        f"a: neither a CPU nor a GPU can run it: {LAYER}; allowed: ops that one of them can run"
    )


TOWERS = {"w": "/job:ps/task:0", "a": "/job:worker/task:0/device:GPU:0", "b": "/job:worker/task:1/device:GPU:0"}


def test_devices_of_several_machines_are_never_one() -> None:
    graph = make_graph(list("wab"), devices=TOWERS)
    assert refusal(graph, "2xV100+cpu") == (
        "the file fixes ops to 3 machines (/job:ps/task:0, /job:worker/task:0, /job:worker/task:1), and the cluster's "
        "devices name none; allowed: cluster JSON with names such as /job:worker/task:0/device:GPU:0, or --drop-devices"
    )
    assert allowed(graph, make_costs(3), "2xV100+cpu", drop_pins=True) == {"w": "012", "a": "012", "b": "012"}


MACHINES = """{"devices": [
  {"name": "/job:ps/task:0/device:CPU:0", "kind": "CPU"},
  {"name": "/job:worker/task:0/device:GPU:0", "kind": "V100"},
  {"name": "/job:worker/task:1/device:GPU:0", "kind": "V100"}]}"""


def test_a_cluster_that_names_machines_has_each_op_on_its_own() -> None:
    graph = make_graph(list("wabcd"), devices=TOWERS | {"c": "/gpu:0"})
    assert allowed(graph, make_costs(5), MACHINES) == {"w": "0", "a": "1", "b": "2", "c": "12", "d": "012"}
    other = make_graph(["a"], devices={"a": "/job:chief/task:0/device:GPU:0"})
    with pytest.raises(GraphError, match="a: it is fixed to /job:chief/task:0/device:GPU:0, which is not in the"):
        allowed(other, make_costs(1), MACHINES)


def test_one_machine_has_any_name_in_full_or_in_part() -> None:
    whole = "/job:localhost/replica:0/task:0"
    devices = {"a": f"{whole}/device:GPU:1", "b": f"{whole}/device:CPU:0", "c": "/job:localhost", "d": "/gpu:0"}
    found = allowed(make_graph(list("abcd"), devices=devices), make_costs(4), "2xK80+cpu")
    assert found == {"a": "1", "b": "2", "c": "012", "d": "0"}


def test_merging_takes_nothing_to_the_cpu_that_a_gpu_can_run() -> None:
    names = [f"op_{index}" for index in range(20)]
    graph = with_strings(make_graph(names, list(itertools.pairwise(names))), "op_3", "op_10")
    grouping = group_ops(graph, make_costs(20), 3)
    table = allowed_devices(graph, make_costs(20), grouping, parse_cluster("2xK80+cpu"))
    rows = table[grouping.group_of_op].tolist()
    assert [name for name, row in zip(names, rows, strict=True) if not any(row[:2])] == ["op_3", "op_10"]


@pytest.mark.parametrize(
    ("graph", "costs", "cluster", "message"),
    [
        (
            make_graph(list("ab"), devices={"b": "/device:GPU:3"}),
            make_costs(2),
            "2xK80+cpu",
            "b: it is fixed to /device:GPU:3, which is not in the cluster; "
            "allowed: /device:GPU:0, /device:GPU:1, /device:CPU:0, or --drop-devices",
        ),
        (
            make_graph(["a"], devices={"a": "/device:TPU:*"}),
            make_costs(1),
            "2xK80",
            "a: it is fixed to /device:TPU:*, which is not in the cluster; "
            "allowed: /device:GPU:0, /device:GPU:1, or --drop-devices",
        ),
        (
            make_graph(list("ab")),
            make_costs(2, {"V100": [1, 1], "CPU": [1, NAN]}),
            "K80+cpu",
            "b: it has no time on the cluster's devices; allowed: a time on one of CPU, GPU, K80",
        ),
        (
            make_graph(["a"], devices={"a": "/gpu:0"}),
            make_costs(1, {"CPU": [1]}),
            "K80+cpu",
            "a: it has no time on the cluster's devices, where it is fixed to /gpu:0; "
            "allowed: a time on one of CPU, GPU, K80",
        ),
        (
            make_graph(list("abcd"), colocation={name: ["x"] for name in "bcd"}),
            make_costs(4, {"GPU": [1, 1, 1, NAN], "CPU": [1, 1, NAN, 1]}),
            "2xK80+cpu",
            "d: it may go to /device:CPU:0 only, but the ops that must share its device, such as c, to "
            "/device:GPU:0, /device:GPU:1 only; allowed: a device for all ops that are co-located",
        ),
        (
            make_graph(list("ab"), devices={"a": "/gpu:0"}, colocation={"b": ["a"]}),
            make_costs(2, {"GPU": [1, NAN], "CPU": [1, 1]}),
            "K80+cpu",
            "b: it may go to /device:CPU:0 only, but the ops that must share its device, such as a, to /device:GPU:0 "
            "only; allowed: a device for all ops that are co-located, or --drop-devices",
        ),
    ],
    ids=["absent device", "absent type", "no time", "no time where it is fixed", "nothing in common", "pins"],
)
def test_groups_that_may_go_nowhere(graph: ComputationGraph, costs: Costs, cluster: str, message: str) -> None:
    with pytest.raises(GraphError) as caught:
        allowed(graph, costs, cluster)
    assert str(caught.value) == message
    assert caught.value.field == "cluster"


def test_costs_of_an_older_version_on_a_newer_kind_are_to_be_read_again() -> None:
    """Such costs have rows of times, and no work from which the times on other kinds would follow."""
    older = make_costs(1, {"K80": [1], "CPU": [1]})
    older = dataclasses.replace(older, source=np.full(1, CostSource.ESTIMATED, dtype=np.uint8))
    with pytest.raises(GraphError) as caught:
        allowed(make_graph(["a"]), older, "2xL4")
    assert str(caught.value) == (
        "a: it has no time on the cluster's devices; allowed: a time on one of GPU, L4; "
        "the graph was read before other kinds were known: read it again"
    )
    assert allowed(make_graph(["a"]), older, "2xK80") == {"a": "01"}
