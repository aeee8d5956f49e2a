"""A quick look finds the inputs whose lengths the file and the options leave open."""

from collections.abc import Callable
from pathlib import Path

import pytest

from engine.formats.format import SourceFile
from engine.formats.graphdef import check
from engine.formats.open_inputs import MOST_LISTED, OpenInput
from engine.graphs.reading_options import ReadingOptions
from tests.engine.formats.graphdef_samples import identity, node, placeholder, type_attribute


@pytest.fixture
def found(tmp_path: Path) -> Callable[..., tuple[OpenInput, ...]]:
    """The open inputs of a GraphDef of these ops, under the given options."""

    def look(content: bytes, **options: object) -> tuple[OpenInput, ...]:
        path = tmp_path / "graph.pb"
        path.write_bytes(content)
        reading = ReadingOptions(**options)  # type: ignore[arg-type]
        return check(SourceFile(path, ".pb", 10**6, reading), lambda *_: None)

    return look


def test_open_lengths_are_found(found: Callable[..., tuple[OpenInput, ...]]) -> None:
    content = placeholder("images", -1, 224, 3) + placeholder("tokens", -1, -1) + placeholder("mask", 8, 5)
    images, tokens = found(content + identity("left", "images"))
    assert (images, images.needs_batch_size, images.needs_lengths) == (OpenInput("images", (-1, 224, 3)), True, False)
    assert (tokens.needs_batch_size, tokens.needs_lengths) == (True, True)
    assert [OpenInput.from_json(each.to_json()) for each in (images, tokens)] == [images, tokens]
    assert found(content, batch_size=4) == (OpenInput("tokens", (4, -1)),)
    assert found(content, batch_size=4, input_shapes={"tokens": (4, -1)}) == ()


def test_handles_scalars_and_inputs_of_any_shape_are_not_asked_for(
    found: Callable[..., tuple[OpenInput, ...]],
) -> None:
    any_shape = node("any", "Placeholder", attributes=type_attribute("dtype", 1))
    assert found(any_shape + placeholder("scalar") + placeholder("variable", -1, 3, data_type=20)) == ()


def test_a_hostile_number_of_inputs_is_cut(found: Callable[..., tuple[OpenInput, ...]]) -> None:
    content = b"".join(placeholder(f"input{index}", -1) for index in range(3 * MOST_LISTED))
    assert len(found(content)) == MOST_LISTED
