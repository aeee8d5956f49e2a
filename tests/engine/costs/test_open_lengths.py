"""Lengths that stay open: what is known all the same, what is named to close them, and shapes behind lookups."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from engine.child.parent import Limits, no_progress, run_in_child
from engine.cli.reading_summary import what_was_read
from engine.costs.costs import CostSource
from engine.errors import SettingsError
from engine.formats.reading import prepare
from engine.graphs.reading_options import OPEN_LENGTH, ReadingOptions
from engine.prepared import PreparedGraph

FIRST, SECOND = 2 * 8 * 32 * 32 * 27 * 16, 2 * 8 * 16 * 16 * 9 * 16 * 32
"""operations of the detector's convolutions, for 8 pictures"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The graphs of `open_lengths.py`."""
    folder = tmp_path_factory.mktemp("open")
    run_in_child("tests.engine.costs.open_lengths:build_in_child", {"folder": str(folder)}, Limits(), task="building")
    shutil.make_archive(str(folder / "user_tower"), "zip", folder, "user_tower")
    return folder


@pytest.fixture(scope="module")
def read(folder: Path) -> Any:
    """Read a file with options, each once."""
    found: dict[Any, PreparedGraph] = {}

    def read_once(name: str, **options: Any) -> PreparedGraph:
        key = (name, repr(sorted(options.items())))
        if key not in found:
            path = folder / name
            found[key] = prepare(path, path.suffix, no_progress, Limits(), options=ReadingOptions(**options))
        return found[key]

    return read_once


def flops_of(graph: PreparedGraph, op_type: str) -> list[int]:
    """Operations of each op of this type, in order."""
    return [int(graph.costs.flops[op]) for op, each in enumerate(graph.graph.op_types) if each == op_type]


def lines_of(graph: PreparedGraph) -> str:
    return "\n".join(what_was_read(graph.summary()))


def unknown_of(graph: PreparedGraph) -> set[str]:
    pairs = zip(graph.graph.op_names, graph.costs.source, strict=True)
    return {name for name, source in pairs if source == CostSource.UNKNOWN}


def test_a_batch_of_pictures_of_any_size_has_its_trips_and_convolutions(read: Any) -> None:
    graph = read("detector.pb", batch_size=8)
    assert [(loop["trips"], loop["source"]) for loop in graph.summary()["loops"]] == [(8, "length")]
    assert flops_of(graph, "Conv2D") == [FIRST, SECOND]
    lines = lines_of(graph)
    assert "FLOPs of a step: at least 26" in lines
    assert "2 ops that may be heavy are unknown: Cast × 1, ResizeBilinear × 1." in lines
    assert "  --input-shape image_tensor=8,?,?,3" in lines
    assert "--batch-size N" not in lines


def test_without_a_batch_size_both_options_are_named(read: Any) -> None:
    lines = lines_of(read("detector.pb"))
    assert "A batch size (--batch-size N) makes the costs of" in lines
    assert "  --input-shape image_tensor=?,?,?,3" in lines


def test_with_all_lengths_nothing_is_unknown_and_nothing_is_advised(read: Any) -> None:
    graph = read("detector.pb", input_shapes={"image_tensor": (8, 300, 300, 3)})
    assert unknown_of(graph) == set()
    lines = lines_of(graph)
    assert "100 % estimated" in lines
    assert "--input-shape" not in lines
    assert "--batch-size N" not in lines


def test_an_open_length_of_a_given_shape_is_the_file_s_or_the_batch_s(read: Any) -> None:
    given = {"image_tensor": (OPEN_LENGTH, 300, 300, OPEN_LENGTH)}
    assert unknown_of(read("detector.pb", input_shapes=given, batch_size=8)) == set()
    half = read("detector.pb", input_shapes={"image_tensor": (8, OPEN_LENGTH, OPEN_LENGTH, 3)})
    assert half.costs.flops.tolist() == read("detector.pb", batch_size=8).costs.flops.tolist()


def test_a_given_shape_still_has_to_agree(read: Any) -> None:
    with pytest.raises(
        SettingsError, match=r"the shape \[8, \?, \?, 4\] contradicts the file; allowed: \[\?, \?, \?, 3\]"
    ):
        read("detector.pb", input_shapes={"image_tensor": (8, OPEN_LENGTH, OPEN_LENGTH, 4)})


def test_lengths_that_are_cut_out_of_a_partly_known_shape_count(read: Any) -> None:
    assert flops_of(read("segmentation.pb", batch_size=8), "MatMul") == [2 * 8 * 4 * 16 * 8]
    assert flops_of(read("tokens.pb", batch_size=8), "MatMul") == [2 * 8 * 32 * 10]
    assert "  --input-shape tokens=8,?" in lines_of(read("tokens.pb", batch_size=8))


@pytest.mark.parametrize("name", ["lookup.pb", "lookup with text handle.pb", "lookup of rows.pb"])
def test_what_follows_a_lookup_is_counted(read: Any, name: str) -> None:
    graph = read(name, batch_size=8)
    assert flops_of(graph, "MatMul") == [2 * 8 * 64 * 512]
    assert graph.summary()["heavy_unknown"] == []


def test_a_keras_model_with_a_vocabulary_has_the_operations_of_its_layers(read: Any) -> None:
    graph = read("user_tower.zip", batch_size=8)
    assert sum(flops_of(graph, "MatMul")) == 139_264
    assert {graph.graph.op_types[graph.graph.op_names.index(name)] for name in unknown_of(graph)} == {
        *("Placeholder", "Identity", "LookupTableFindV2"),  # of text alone
    }


def test_the_size_of_a_decoded_picture_can_be_given(read: Any) -> None:
    graph = read("decoded.pb")
    [size] = [size["name"] for size in graph.summary()["sizes"]]
    assert "--size NAME=N" in lines_of(graph)
    assert flops_of(read("decoded.pb", sizes={size: 100}), "Conv2D") == [2 * 100 * 100 * 27 * 16]
