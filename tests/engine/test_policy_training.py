"""What may be asked of a training; what it learns stands in `policies/test_family_training.py`."""

import dataclasses

import pytest

from engine.errors import SettingsError
from engine.graphs.grouping.grouping import group_ops
from engine.prepared import PreparedGraph
from tests.engine.policies.small_trainings import request
from tests.engine.small_runs import prepared_graph


def held_out_line(held_out: PreparedGraph) -> str:
    """What is said where `held_out` is held out beside another graph."""
    with pytest.raises(SettingsError) as caught:
        request(held_out=(prepared_graph(9), held_out))
    assert caught.value.field == "held_out"
    return str(caught.value)


def test_a_graph_that_is_trained_on_is_not_held_out_however_it_is_named_or_grouped() -> None:
    trained_on = request().graphs[1]
    renamed = dataclasses.replace(trained_on.graph, name="other")
    grouping = group_ops(trained_on.graph, trained_on.costs, 4)
    assert held_out_line(trained_on) == "small: trained on and held out; allowed: one of the two"
    regrouped = dataclasses.replace(trained_on, graph=renamed, grouping=grouping)
    assert held_out_line(regrouped) == "other: trained on, named 'small', and held out; allowed: one of the two"


def test_a_graph_of_a_name_that_was_trained_on_is_held_out_where_it_is_another() -> None:
    trained_on = request().graphs[1]
    longer = dataclasses.replace(trained_on.costs, time_us=2.0 * trained_on.costs.time_us)
    other = dataclasses.replace(trained_on, costs=longer)
    assert request(held_out=(other,)).held_out == (other,)
