"""What must share a device: labels, pairs, and fixed devices that must agree."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import GraphError
from engine.graphs.colocation import DisjointSets, colocation_classes, devices_of_classes
from engine.graphs.device_string import DeviceString
from tests.engine.graphs.graph_samples import make_graph, members


def classes(*args: object, **kwargs: object) -> set[frozenset[str]]:
    graph = make_graph(*args, **kwargs)  # type: ignore[arg-type]  # handed on as they are
    return members(graph, colocation_classes(graph))


def test_without_labels_every_op_is_alone() -> None:
    assert classes(["a", "b"], [("a", "b")]) == {frozenset("a"), frozenset("b")}


def test_a_label_ties_its_bearers_and_the_op_of_its_name() -> None:
    assert classes(list("abcd"), colocation={"b": ["a"], "c": ["a"]}) == {frozenset("abc"), frozenset("d")}


def test_a_label_that_no_op_has_as_name_ties_its_bearers() -> None:
    assert classes(list("abc"), colocation={"a": ["missing"], "c": ["missing"]}) == {frozenset("ac"), frozenset("b")}


def test_a_label_of_the_op_itself_ties_nothing() -> None:
    assert classes(list("ab"), colocation={"a": ["a"]}) == {frozenset("a"), frozenset("b")}


def test_labels_in_a_ring_are_one_class() -> None:
    assert classes(list("abcd"), colocation={"a": ["b"], "b": ["c"], "c": ["a"]}) == {frozenset("abc"), frozenset("d")}


def test_several_labels_tie_all() -> None:
    assert classes(list("abcde"), colocation={"e": ["a", "c"], "b": ["a"]}) == {frozenset("abce"), frozenset("d")}


def test_pairs_of_the_format_tie_too() -> None:
    tied = classes(list("abcd"), must_colocate=[("d", "a")], colocation={"b": ["a"]})
    assert tied == {frozenset("abd"), frozenset("c")}


def test_classes_are_numbered_by_their_first_op() -> None:
    graph = make_graph(list("abcd"), colocation={"d": ["a"], "c": ["b"]})
    assert colocation_classes(graph).tolist() == [0, 1, 1, 0]


@given(
    st.integers(1, 12).flatmap(
        lambda count: st.tuples(
            st.just(count), st.lists(st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)), max_size=12)
        )
    )
)
def test_disjoint_sets_are_the_reachable(case: tuple[int, list[tuple[int, int]]]) -> None:
    count, pairs = case
    sets = DisjointSets(count)
    reach = {number: {number} for number in range(count)}
    for one, other in pairs:
        sets.unite(one, other)
        union = reach[one] | reach[other]
        for number in union:
            reach[number] = union
    numbers = sets.numbered()
    for one in range(count):
        assert sets.find(one) == min(reach[one])
        for other in range(count):
            assert (numbers[one] == numbers[other]) == (other in reach[one])


def test_a_chain_of_a_hundred_thousand_labels() -> None:
    names = [f"op_{index}" for index in range(100_000)]
    graph = make_graph(names, colocation={name: [label] for label, name in itertools.pairwise(names)})
    assert colocation_classes(graph).max() == 0


def test_fixed_devices_of_a_class_are_read_together() -> None:
    graph = make_graph(
        list("abcd"), colocation={"b": ["a"], "c": ["a"]}, devices={"a": "/job:w/task:1", "c": "/gpu:0", "d": "/CPU:*"}
    )
    fixed = devices_of_classes(graph, colocation_classes(graph))
    assert fixed == [DeviceString(job="w", task="1", type="GPU", index="0"), DeviceString(type="CPU")]


def test_co_located_ops_on_two_devices_are_refused_by_name() -> None:
    devices = {"a": "/gpu:0", "b": "/job:w", "c": "/device:GPU:0", "d": "/device:GPU:1"}
    graph = make_graph(list("abcd"), colocation={name: ["x"] for name in "abcd"}, devices=devices)
    with pytest.raises(GraphError) as caught:
        devices_of_classes(graph, colocation_classes(graph))
    assert str(caught.value) == (
        "d: it is fixed to /device:GPU:1, but a, which must share its device, to /gpu:0; "
        "allowed: one device for ops that are co-located"
    )
    assert caught.value.field == "file"
