"""What TensorFlow moves when it partitions a graph: Switches, to what they switch, and to the CPU where that is fed."""

from pathlib import Path

import pytest

from engine.child.parent import Limits
from engine.graphs.tensorflow.must_colocate import SWITCHED_FEED
from tests.engine.formats.graphdef_samples import constant, count_attribute, identity, node, type_attribute
from tests.engine.formats.reading import read_graph

FLOAT, BOOL, INT32 = 1, 10, 3


def switch(name: str, data: str, choice: str, op: str = "Switch") -> bytes:
    return node(name, op, data, choice, attributes=type_attribute("T", FLOAT) + count_attribute("num_outs", 2))


@pytest.mark.parametrize("op", ["Switch", "_SwitchN"])
def test_a_switch_shares_the_device_of_its_data_and_not_of_its_choice(tmp_path: Path, op: str) -> None:
    path = tmp_path / "graph.pb"
    path.write_bytes(constant("data") + constant("choice") + switch("switch", "data", "choice", op))
    assert read_graph(path, ".pb", Limits()).must_colocate.tolist() == [[0, 2]]


def test_a_fed_value_and_its_switches_are_for_the_cpu(tmp_path: Path) -> None:
    path = tmp_path / "graph.pb"
    fed = node("fed", "Placeholder", attributes=type_attribute("dtype", FLOAT))
    plain = node("plain", "Placeholder", attributes=type_attribute("dtype", FLOAT))
    path.write_bytes(
        switch("one", "fed", "plain") + fed + plain + identity("behind", "plain") + switch("two", "behind", "plain")
    )
    graph = read_graph(path, ".pb", Limits())
    assert graph.cpu_reason == (SWITCHED_FEED, SWITCHED_FEED, "", "", "")
