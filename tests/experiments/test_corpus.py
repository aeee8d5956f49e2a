"""The corpus: families and their sides, near-duplicates, a fill that goes on, the cache."""

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine import api
from engine.errors import GraphError, SettingsError
from engine.prepared import PreparedGraph
from engine.zoo import ZOO
from engine.zoo.families.members import members
from experiments.architectures.forked import ForkLimits
from experiments.corpus.cached import (
    MODES,
    CorpusGraph,
    graph_path,
    graphs_of,
    listed_graphs,
    prepared_in_corpus,
    problem_in_corpus,
)
from experiments.corpus.choosing import LEAST, MOST, most_of
from experiments.corpus.digest import OpShares, group_graph_digest
from experiments.corpus.filling import fill, key_of, listed_cases
from experiments.corpus.lineage import FAMILIES, KINDS, families_with, family_of
from experiments.corpus.listing import listing, near_in
from experiments.corpus.page import DOES_NOT_RUN, NO_MODEL, page, reason_of
from experiments.corpus.prepared_facts import facts_of, keep
from experiments.corpus.split import MEMBERS_OF, duplicates_in, split_of_families
from experiments.corpus.split import ZOO as FAMILIES_OF_THE_ZOO
from experiments.grid import KeptResults
from experiments.pages import write_json
from tests.engine.explaining.sessions import prepared_of
from tests.experiments.small_recordings import DIES, NEVER_ENDS

# -- families ------------------------------------------------------------------------------------------------------


def test_every_name_of_the_corpus_has_one_family() -> None:
    names = [case["architecture"] for case in listed_cases()]
    names += [*ZOO, *(member.name for family in MEMBERS_OF for member in members(family))]
    names += ["chain_mm", "ffnn", "bert_l-3_inference_ops"]
    assert {name: len(families_with(name)) for name in names} == dict.fromkeys(names, 1)
    assert len({(case["library"], case["architecture"]) for case in listed_cases()}) == len(listed_cases())


def test_what_is_like_a_resnet_is_one_family_whatever_the_library() -> None:
    like = "resnet50 ResNet50V2 seresnext50_32x4d wide_resnet50_2 resnetv2_50 ecaresnet26t res2net50d fcn_resnet50 bit"
    assert {family_of(name).name for name in like.split()} == {"resnet"}
    other = (
        "inception_resnet_v2 InceptionResNetV2 densenet121 vit_base_resnet50d_224 cspresnet50 halonet50ts dla60_res2net"
    )
    assert "resnet" not in {family_of(name).name for name in other.split()}
    assert {family_of(name).name for name in ("vit_b_16", "deit_base_patch16_224", "eva02_base_patch14_224")} == {"vit"}
    assert {family_of(name).name for name in ("llama-1b", "qwen3", "gemma2", "olmo2-1b")} == {"llama"}


def test_a_name_of_no_family_is_refused() -> None:
    with pytest.raises(SettingsError, match="0 families have this name"):
        family_of("nothing_like_it")


def test_the_rule_gives_each_kind_tests_and_about_the_shares() -> None:
    sides = split_of_families()
    for kind in KINDS:
        assert "test" in {sides[family.name] for family in FAMILIES if family.kind == kind}
    shares = [sum(side == each for side in sides.values()) / len(sides) for each in ("train", "development", "test")]
    assert np.allclose(shares, (0.6, 0.15, 0.25), atol=0.06)
    assert all(sides[name] == "test" for name in FAMILIES_OF_THE_ZOO)


def test_the_split_is_the_one_that_was_written_first_in_whatever_order_the_families_stand() -> None:
    sides = split_of_families()
    assert split_of_families(FAMILIES[::-1]) == sides
    text = json.dumps(sides, sort_keys=True)
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == "fca5014a62e5f905"


def test_no_family_has_more_than_its_part() -> None:
    counts: dict[str, int] = {}
    for case in listed_cases():
        name = family_of(case["architecture"]).name
        counts[name] = counts.get(name, 0) + 1
    assert max(counts.values()) <= MOST
    assert [most_of(count) for count in (1, LEAST, 9, 25, 100, 1000)] == [1, LEAST, LEAST, 10, 20, MOST]


# -- near-duplicates -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def graph() -> PreparedGraph:
    return prepared_of(3)


def scaled(graph: PreparedGraph, times: int) -> PreparedGraph:
    costs, grouping = graph.costs, graph.grouping
    larger = dataclasses.replace(
        costs,
        time_us=costs.time_us * times,
        output_bytes=costs.output_bytes * times,
        persistent_bytes=costs.persistent_bytes * times,
    )
    return dataclasses.replace(
        graph, costs=larger, grouping=dataclasses.replace(grouping, edge_bytes=grouping.edge_bytes * times)
    )


def test_scale_and_names_do_not_count(graph: PreparedGraph) -> None:
    digest = group_graph_digest(graph)
    assert group_graph_digest(scaled(graph, 7)) == digest
    names = tuple(f"other_{op}" for op in range(graph.graph.op_count))
    groups = tuple(f"group_{group}" for group in range(graph.grouping.group_count))
    renamed = dataclasses.replace(
        graph,
        graph=dataclasses.replace(graph.graph, op_names=names),
        grouping=dataclasses.replace(graph.grouping, names=groups),
    )
    assert group_graph_digest(renamed) == digest


def test_another_edge_or_another_share_of_the_costs_counts(graph: PreparedGraph) -> None:
    digest, grouping = group_graph_digest(graph), graph.grouping
    without = dataclasses.replace(
        grouping,
        edge_source=grouping.edge_source[1:],
        edge_target=grouping.edge_target[1:],
        edge_bytes=grouping.edge_bytes[1:],
    )
    assert group_graph_digest(dataclasses.replace(graph, grouping=without)) != digest
    time_us = graph.costs.time_us.copy()
    time_us[:, 0] += 0.1 * time_us.sum()
    costs = dataclasses.replace(graph.costs, time_us=time_us)
    assert group_graph_digest(dataclasses.replace(graph, costs=costs)) != digest


def test_a_graph_is_near_one_whose_costs_lie_elsewhere_by_little(graph: PreparedGraph) -> None:
    shares = OpShares.of(graph)
    assert shares.is_near(OpShares.of(scaled(graph, 7)))

    def with_more(part: float) -> OpShares:
        """The same, with a part of the whole time more in the first op."""
        time_us = graph.costs.time_us.copy()
        time_us[:, 0] += part * time_us.sum(axis=1)
        return OpShares.of(dataclasses.replace(graph, costs=dataclasses.replace(graph.costs, time_us=time_us)))

    assert shares.is_near(with_more(0.04)) and not shares.is_near(with_more(0.08))
    types = ("another", *graph.graph.op_types[1:])
    retyped = dataclasses.replace(graph, graph=dataclasses.replace(graph.graph, op_types=types))
    assert not shares.is_near(OpShares.of(retyped))


def row(name: str, digest: str, split: str = "train", mode: str = "training", ops: int = 9) -> dict[str, Any]:
    return {"name": name, "digest": digest, "split": split, "mode": mode, "ops": ops}


def none_near(*_: Mapping[str, Any]) -> bool:
    return False


def test_a_near_duplicate_counts_once_and_on_the_test_side() -> None:
    rows = [row("a", "1"), row("b", "1"), row("c", "1", "test"), row("d", "1", "test"), row("e", "2"), row("f", "2")]
    assert duplicates_in(rows, none_near) == {"d": "c", "a": "c", "b": "c", "f": "e"}
    assert duplicates_in([row("a", "1"), row("b", "1", mode="inference")], none_near) == {}
    near = [row("a", "1"), row("b", "2"), row("c", "3", ops=8), row("d", "4", mode="inference")]
    assert duplicates_in(near, lambda *_: True) == {"b": "a"}


# -- filling -------------------------------------------------------------------------------------------------------


def case(name: str) -> dict[str, str]:
    return {"library": "networkx", "architecture": name}


@pytest.mark.slow
def test_a_child_that_dies_is_a_failure_and_a_further_call_goes_on(tmp_path: Path) -> None:
    kept, lines = KeptResults(tmp_path / "rows.jsonl"), list[str]()
    cases = [case(DIES), case(NEVER_ENDS), case("resnet18"), case("resnet152")]

    def go(cases: list[dict[str, str]], **options: Any) -> None:
        limits = ForkLimits(processor_seconds=1, memory_bytes=2**34, waits=100)
        fill(
            kept,
            cases,
            tmp_path,
            lines.append,
            work="tests.experiments.small_recordings:record_small",
            limits=limits,
            **options,
        )

    go(cases[:3])
    assert kept[key_of("networkx", DIES, "inference")]["batch"] == 2
    died = kept[key_of("networkx", DIES, "training")]
    assert (died["failed"], died["sentence"]) == ("record", "its process died")
    slow = kept[key_of("networkx", NEVER_ENDS, "inference")]
    assert (slow["failed"], slow["sentence"]) == ("record", "it takes more than 1 s of a processor")
    first = kept[key_of("networkx", "resnet18", "training")]["pid"]

    go(cases, processor_seconds=0)
    assert lines[-1] == "1 architectures are left for a further call"
    kept = KeptResults(tmp_path / "rows.jsonl")  # as a further call reads it
    go(cases)
    assert kept[key_of("networkx", "resnet18", "training")]["pid"] == first
    assert "failed" not in kept[key_of("networkx", "resnet152", "training")]
    assert len((tmp_path / "rows.jsonl").read_text().splitlines()) == 2 * len(cases)


# -- the list and the cache ----------------------------------------------------------------------------------------


def kept_row(architecture: str, mode: str, prepared: PreparedGraph) -> dict[str, Any]:
    head = {"library": "timm", "architecture": architecture, "mode": mode, "version": "1", "batch": 8}
    return head | {"parameters": 10, "parameter_bytes": 40} | facts_of(prepared)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache with the list in it: two families for training, one for tests, a near-duplicate, a failure."""
    cache = tmp_path_factory.mktemp("corpus")
    rows: list[dict[str, Any]] = []
    for seed, architecture in ((1, "resnet50"), (2, "vgg16"), (2, "densenet121"), (4, "xcit_small_12_p8_224")):
        for mode in MODES:
            prepared = prepared_of(seed)
            keep(cache, prepared, "timm", architecture, mode)
            rows.append(kept_row(architecture, mode, prepared))
    sentence = "modeling (/somewhere/else/modeling.py:3): aten.nonzero depends on the values of the data, and so on"
    head = {"library": "timm", "architecture": "dpn68", "mode": "training", "version": "1"}
    rows.append(head | {"failed": "record", "sentence": sentence})
    write_json(cache / "corpus.json", listing(rows, near_in(cache)))
    return cache


def test_a_side_has_its_graphs_and_none_that_equals_one_of_a_test(filled: Path) -> None:
    listed = filled / "corpus.json"
    train = graphs_of("train", cache=filled, listed=listed)
    assert {graph.architecture for graph in train} == {"resnet50", "xcit_small_12_p8_224"}
    tests = graphs_of("test", ("training",), filled, listed=listed)
    assert [graph.name for graph in tests] == ["timm/densenet121 training"]
    assert len(listed_graphs(listed)) == 6
    rows = json.loads(listed.read_text())
    assert {row["duplicate_of"] for row in rows["graphs"] if row["architecture"] == "vgg16"} == {
        "timm/densenet121 inference",
        "timm/densenet121 training",
    }
    assert "(modeling.py:3)" in rows["failures"][0]["sentence"]


def test_a_graph_comes_back_from_the_cache_as_it_was(filled: Path) -> None:
    (found,) = graphs_of("test", ("training",), filled, listed=filled / "corpus.json")
    prepared, was = prepared_in_corpus(found, filled), prepared_of(2)
    assert group_graph_digest(prepared) == found.digest == group_graph_digest(was)
    cluster = api.parse_cluster("2xK80")
    problem = problem_in_corpus(found, cluster, cache=filled)
    placements = np.zeros((1, found.groups), dtype=np.int32)
    placements[0, ::2] = 1
    again = api.PreparedGraph.from_bytes(was.to_bytes())
    other = problem_in_corpus(found, cluster, cache=filled)
    assert again.grouping.group_count == problem.group_count == found.groups
    assert problem.evaluate(placements).step_time_us == other.evaluate(placements).step_time_us


def test_what_the_cache_does_not_have_is_refused(filled: Path, tmp_path: Path) -> None:
    listed = filled / "corpus.json"
    with pytest.raises(SettingsError, match="the cache lacks this graph"):
        graphs_of("test", cache=tmp_path, listed=listed)
    with pytest.raises(SettingsError, match="there is no list of the corpus"):
        listed_graphs(tmp_path / "corpus.json")
    with pytest.raises(SettingsError, match="no such mode"):
        graphs_of("test", ("prefill",), filled, listed=listed)
    with pytest.raises(SettingsError, match="no such split"):
        graphs_of("validation", cache=filled, listed=listed)  # type: ignore[arg-type]


def test_a_file_of_another_graph_is_refused(filled: Path) -> None:
    found = listed_graphs(filled / "corpus.json")[0]
    wrong = dataclasses.replace(found, ops=found.ops + 1)
    with pytest.raises(GraphError, match="the cache has"):
        prepared_in_corpus(wrong, filled)
    assert isinstance(wrong, CorpusGraph) and graph_path(filled, wrong) == graph_path(filled, found)


def test_the_page_counts_kinds_families_and_failures(filled: Path) -> None:
    text = page(json.loads((filled / "corpus.json").read_text()), {"timm": 5}, "command", "cost", "hand")
    assert text.startswith("# The corpus: 4 architectures of 4 families, 8 graphs")
    assert "| all | 4 | 4 | 4 | 4 | 2 | 4 | 0 | 2 |" in text
    assert "| what the model does depends on the values of its data | record | 1 |" in text
    assert reason_of("build", "ValueError: it requires grid") == "it needs inputs that the experiment does not make"
    assert [reason_of(step, "KeyError: x") for step in ("build", "size")] == [NO_MODEL, DOES_NOT_RUN]
