"""What is said of a placement that somebody brings: figures as of the simulated step."""

import pytest

from engine.clusters.parsing import parse_cluster
from engine.events import Json
from engine.explaining.judging import judgement
from engine.number_words import bytes_words, part_words, time_words
from engine.placement_files import simulated_step
from tests.engine.formats.modules.recorded_chain import SIZE, recorded_chain

CHAIN = recorded_chain(4)
HALVES: Json = {"embed": 0, "layers": 0, "head": 1}


def test_the_step_and_the_device_that_waits_are_those_of_the_timeline() -> None:
    cluster = parse_cluster("3xRTX4090")
    timeline = simulated_step(CHAIN, cluster, HALVES)
    idle = 1 - (timeline.busy_us[1] + timeline.rest_us[1]) / timeline.step_time_us
    assert judgement(CHAIN, cluster, HALVES, "yours") == (
        f"yours takes {time_words(timeline.step_time_us)}; GPU 1 idles {part_words(float(idle))} of it; "
        "GPU 2 without ops"
    )


def test_what_does_not_fit_is_said_with_what_is_kept_there() -> None:
    cluster = parse_cluster('{"devices": [{"name": "/device:GPU:0", "kind": "A100", "memory_bytes": 3000000}]}')
    timeline = simulated_step(CHAIN, cluster, {"": 0})
    more = bytes_words(int(timeline.peak_bytes[0]) - 3_000_000)
    said = judgement(CHAIN, cluster, {"": 0})
    assert said.startswith(f"this placement takes {time_words(timeline.step_time_us)}; it needs {more} more than the ")
    assert said.endswith(f" of GPU 0, where embed/weight keeps {bytes_words(SIZE)}")


@pytest.mark.parametrize("count", [1, 2])
def test_equal_halves_say_nothing_of_a_device_that_works_all_the_time(count: int) -> None:
    cluster = parse_cluster(f"{count}xA100")
    placement: Json = dict.fromkeys(CHAIN.graph.op_names, "/device:GPU:0")
    said = judgement(CHAIN, cluster, placement)
    assert "idles" not in said
    assert ("GPU 1 without ops" in said) == (count == 2)


def test_modules_of_a_map_in_which_nothing_lies_are_named() -> None:
    cluster = parse_cluster("2xA100")
    said = judgement(CHAIN, cluster, {"": 0, "layers.9": 1, "hed": 1, "layers.0": 0})
    assert said.endswith("; 2 paths of the map without ops here: layers.9, hed")
    many: Json = {"": 0, **{f"layers.{number}": 1 for number in range(4, 9)}}
    assert said.count(";") == judgement(CHAIN, cluster, many).count(";")
    assert judgement(CHAIN, cluster, many).endswith(
        "5 paths of the map without ops here: layers.4, layers.5, layers.6, …"
    )
    assert "without ops here" not in judgement(CHAIN, cluster, HALVES)
