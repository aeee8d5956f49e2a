"""Cells as they are written in settings: read, written back, refused."""

import pytest

from engine.errors import SettingsError
from engine.zoo import ZOO
from engine.zoo.cells import (
    Block,
    CellNode,
    convolution_cell,
    recurrent_cell,
    written_convolution,
    written_recurrent,
)
from engine.zoo.enas_settings import PUBLISHED_NORMAL, PUBLISHED_RECURRENT, PUBLISHED_REDUCTION

ACTIVATIONS = "identity, sigmoid, tanh, relu"
OPERATIONS = "identity, separable_3x3, separable_5x5, average_pool, max_pool"


def test_a_recurrent_cell_is_read() -> None:
    assert recurrent_cell("cell", "tanh 0:relu 0:identity") == (
        CellNode(-1, "tanh"),
        CellNode(0, "relu"),
        CellNode(0, "identity"),
    )


def test_a_convolutional_cell_joins_what_no_block_takes() -> None:
    cell = convolution_cell("normal", "0:max_pool+0:identity 2:separable_3x3+0:average_pool 0:identity+0:identity")
    assert cell.blocks[1] == Block("separable_3x3", 2, "average_pool", 0)
    assert cell.joined == (1, 3, 4)


def test_the_published_cells_come_back_as_they_were_written() -> None:
    assert written_recurrent(recurrent_cell("cell", PUBLISHED_RECURRENT)) == PUBLISHED_RECURRENT
    for text in (PUBLISHED_NORMAL, PUBLISHED_REDUCTION):
        assert written_convolution(convolution_cell("normal", text).blocks) == text


def test_the_published_recurrent_cell_is_the_papers() -> None:
    """As the published script's numbers: node taken and activation (0 tanh, 1 ReLU, 2 identity, 3 sigmoid)."""
    numbers = [0, 0, 0, 1, 1, 2, 1, 2, 0, 2, 0, 5, 1, 1, 0, 6, 1, 8, 1, 8, 1, 8, 1]
    names = ("tanh", "relu", "identity", "sigmoid")
    pairs = [(-1, numbers[0]), *zip(numbers[1::2], numbers[2::2], strict=True)]
    assert recurrent_cell("cell", PUBLISHED_RECURRENT) == tuple(CellNode(node, names[kind]) for node, kind in pairs)


def test_the_published_convolutional_cells_are_the_papers() -> None:
    """As the published script's numbers: state and operation, twice a block; there state 1 is the cell's input."""
    numbers = {
        PUBLISHED_NORMAL: [0, 2, 0, 0, 0, 4, 0, 1, 0, 4, 1, 1, 1, 0, 0, 1, 0, 2, 1, 1],
        PUBLISHED_REDUCTION: [1, 0, 1, 0, 0, 3, 0, 2, 1, 1, 3, 1, 1, 0, 0, 4, 0, 3, 1, 1],
    }
    kinds = ("separable_3x3", "separable_5x5", "average_pool", "max_pool", "identity")
    for text, said in numbers.items():
        pairs = [
            (state if state > 1 else 1 - state, kinds[kind]) for state, kind in zip(said[::2], said[1::2], strict=True)
        ]
        blocks = tuple(
            Block(left, left_state, right, right_state)
            for (left_state, left), (right_state, right) in zip(pairs[::2], pairs[1::2], strict=True)
        )
        assert convolution_cell("cell", text).blocks == blocks


@pytest.mark.parametrize(
    ("model", "field", "value", "message"),
    [
        ("ptb", "cell", "", "cell: ''; allowed: 1 to 64 nodes, such as tanh 0:relu 1:identity"),
        ("ptb", "cell", 3, "cell: 3; allowed: 1 to 64 nodes, such as tanh 0:relu 1:identity"),
        (
            "ptb",
            "cell",
            "tanh" + 64 * " 0:tanh",
            "cell: 'tanh 0:tanh 0:tanh 0:tanh 0:tanh 0:tanh 0:tanh 0:tanh 0:tanh 0:tanh 0:tanh 0:t…; "
            "allowed: 1 to 64 nodes, such as tanh 0:relu 1:identity",
        ),
        ("ptb", "cell", "0:tanh", f"cell: '0:tanh'; allowed: {ACTIVATIONS}"),
        ("ptb", "cell", "tanh 0:gelu", f"cell: 'gelu'; allowed: {ACTIVATIONS}"),
        (
            "ptb",
            "cell",
            "tanh 1:tanh",
            f"cell: '1:tanh'; allowed: an integer from 0 to 0, a colon, one of {ACTIVATIONS}",
        ),
        (
            "ptb",
            "cell",
            "tanh -1:tanh",
            f"cell: '-1:tanh'; allowed: an integer from 0 to 0, a colon, one of {ACTIVATIONS}",
        ),
        ("cifar10", "normal", "", "normal: ''; allowed: 1 to 32 blocks, such as 0:separable_3x3+1:identity"),
        (
            "cifar10",
            "reduction",
            "0:identity",
            f"reduction: ''; allowed: an integer from 0 to 1, a colon, one of {OPERATIONS}",
        ),
        (
            "cifar10",
            "normal",
            "0:identity+2:max_pool",
            f"normal: '2:max_pool'; allowed: an integer from 0 to 1, a colon, one of {OPERATIONS}",
        ),
        ("cifar10", "normal", "0:identity+1:separable_7x7", f"normal: 'separable_7x7'; allowed: {OPERATIONS}"),
        ("cifar10", "filters", 3, "filters: 3; allowed: a multiple of 2"),
        ("cifar10", "image_size", 30, "image_size: 30; allowed: a multiple of 4"),
        ("cifar10", "cells", 0, "cells: 0; allowed: an integer from 1 to 32"),
    ],
)
def test_what_is_no_cell_is_reported(model: str, field: str, value: object, message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        ZOO[model].settings({field: value})  # type: ignore[dict-item]  # wrong types are part of the table
    assert str(caught.value) == message
