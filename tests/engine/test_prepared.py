"""A prepared graph: through the database and back, and what it tells of its file and of ops that need a CPU."""

import dataclasses

import numpy as np

from engine.clusters.parsing import parse_cluster
from engine.files.archive import pack, unpack
from engine.graphs.grouping.grouping import group_ops
from engine.graphs.origin import Origin
from engine.graphs.reading_options import ReadingOptions
from engine.prepared import OPS_NAMED, PreparedGraph
from engine.simulator import Simulator
from tests.engine.costs.known_work import estimated
from tests.engine.graphs.graph_samples import make_costs, make_graph

STRINGS, FILES = "it works on strings", "it reads or writes files"
OPTIONS = ReadingOptions("serve", 8, {"images": (8, 224, 224, 3)})


def prepared(*reasons: str, origin: Origin | None = None) -> PreparedGraph:
    """A chain of ops with these reasons to run on a CPU."""
    names = [f"op_{index}" for index in range(len(reasons))]
    edges = [(names[index], names[index + 1]) for index in range(len(names) - 1)]
    graph = dataclasses.replace(make_graph(names, edges), cpu_reason=reasons)
    costs = make_costs(len(names))
    return PreparedGraph(graph, costs, group_ops(graph, costs, None), origin or Origin())


def test_where_it_comes_from_goes_through_the_database() -> None:
    origin = Origin(".zip", OPTIONS.to_json(), ("images",), ("scores",), ("serve", "train"), ("One was inlined.",))
    back = PreparedGraph.from_bytes(prepared(STRINGS, "", origin=origin).to_bytes())
    assert back.origin == origin
    assert ReadingOptions.from_json(back.origin.options) == OPTIONS
    assert back.graph.cpu_reason == (STRINGS, "")
    summary = back.summary()
    assert [summary[key] for key in ("format", "options", "signatures", "notes")] == [
        ".zip",
        OPTIONS.to_json(),
        ["serve", "train"],
        ["One was inlined."],
    ]


def test_what_was_stored_before_these_fields_were_is_still_read() -> None:
    arrays, texts = unpack(prepared("", "").to_bytes())
    older = {key: value for key, value in texts.items() if "Origin." not in key and "cpu_reason" not in key}
    assert len(older) < len(texts)
    back = PreparedGraph.from_bytes(pack(arrays, older))
    assert back.origin == Origin()
    assert back.graph.cpu_reason == ("", "")
    assert back.summary()["cpu_ops"] == {"ops": 0, "reasons": []}


def test_estimates_know_the_types_of_their_ops_also_where_they_were_stored_without() -> None:
    graph = dataclasses.replace(make_graph(["a", "b", "c"], []), op_types=("Relu", "MatMul", "Relu"))
    whole = PreparedGraph(graph, estimated(), group_ops(graph, estimated(), None))
    arrays, texts = unpack(whole.to_bytes())
    for one in (whole, PreparedGraph.from_bytes(pack(arrays, texts))):
        assert [one.costs.op_type_names[index] for index in one.costs.type_of_op] == [*graph.op_types]
    del arrays["Costs.type_of_op"], texts["Costs.op_type_names"]
    older = PreparedGraph.from_bytes(pack(arrays, texts)).costs
    assert older.op_type_names == whole.costs.op_type_names and np.array_equal(older.type_of_op, whole.costs.type_of_op)
    given = prepared("").costs
    assert not len(given.type_of_op), "times that a file gives have no work"


def test_what_was_stored_before_trips_were_runs_every_op_once() -> None:
    arrays, texts = unpack(prepared("", "").to_bytes())
    older = {key: value for key, value in arrays.items() if key not in ("Costs.trips", "Costs.flops")}
    assert len(older) == len(arrays) - 2
    back = PreparedGraph.from_bytes(pack(older, texts))
    assert back.costs.trips_of_op().tolist() == [1, 1]
    cluster = parse_cluster("2xK80")
    placements = np.array([[0, 0], [0, 1]], dtype=np.int32)
    wanted = Simulator(prepared("", "").graph, prepared("", "").costs, cluster).evaluate(placements)
    found = Simulator(back.graph, back.costs, cluster).evaluate(placements)
    assert found.step_time_us.tolist() == wanted.step_time_us.tolist()


def test_trips_go_through_the_database() -> None:
    once = prepared("", "")
    looped = PreparedGraph(once.graph, dataclasses.replace(once.costs, trips=np.array([40, 0])), once.grouping)
    assert PreparedGraph.from_bytes(looped.to_bytes()).costs.trips.tolist() == [40, 0]


def test_ops_that_need_a_cpu_are_counted_by_reason_the_most_frequent_first() -> None:
    found = prepared(FILES, *[STRINGS] * (OPS_NAMED + 2), "", FILES).summary()["cpu_ops"]
    strings = [f"op_{index}" for index in range(1, OPS_NAMED + 1)]
    assert found == {
        "ops": OPS_NAMED + 4,
        "reasons": [[STRINGS, OPS_NAMED + 2, strings], [FILES, 2, ["op_0", f"op_{OPS_NAMED + 4}"]]],
    }


def test_the_step_on_one_device_is_what_the_simulator_says() -> None:
    one = prepared("", "", "")
    costs = dataclasses.replace(one.costs, time_us=np.array([[3.0, 0.0, 2.0]]), trips=np.array([40, 1, 2]))
    looped = PreparedGraph(one.graph, costs, one.grouping)
    simulated = Simulator(one.graph, costs, parse_cluster("1xK80")).evaluate(np.zeros((1, 3), dtype=np.int32))
    assert looped.summary()["one_device_us"] == {"*": simulated.step_time_us[0]}
    assert looped.summary()["time_us"] == {"*": 124.0}


def test_a_kind_that_cannot_run_an_op_has_no_step() -> None:
    one = prepared("", "")
    costs = dataclasses.replace(one.costs, kinds=("GPU", "CPU"), time_us=np.array([[1.0, np.nan], [2.0, 2.0]]))
    assert PreparedGraph(one.graph, costs, one.grouping).summary()["one_device_us"] == {"GPU": None, "CPU": 15.4}
