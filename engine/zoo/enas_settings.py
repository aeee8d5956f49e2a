"""Settings of the networks of ENAS's search spaces. The defaults are the cells that it published.

Source: Pham et al. 2018 (arXiv 1802.03268), figures 6 and 8, and the published code's scripts (melodyguan/enas,
`ptb_final.sh` and `cifar10_micro_final.sh`).
"""

from dataclasses import dataclass

from engine.settings.fields import text, whole
from engine.zoo.cells import CONVOLUTION_CELL, RECURRENT_CELL, convolution_cell, recurrent_cell
from engine.zoo.settings import ModelSettings

PUBLISHED_RECURRENT = "tanh 0:tanh 1:relu 2:relu 2:tanh 2:tanh 5:relu 1:tanh 6:relu 8:relu 8:relu 8:relu"
PUBLISHED_NORMAL = (
    "1:average_pool+1:separable_3x3 1:identity+1:separable_5x5 1:identity+0:separable_5x5 "
    "0:separable_3x3+1:separable_5x5 1:average_pool+0:separable_5x5"
)
PUBLISHED_REDUCTION = (
    "0:separable_3x3+0:separable_3x3 1:max_pool+1:average_pool 0:separable_5x5+3:separable_5x5 "
    "0:separable_3x3+1:identity 1:max_pool+0:separable_5x5"
)


@dataclass(frozen=True, slots=True)
class PtbSettings(ModelSettings):
    """A language model of one recurrent cell, for Penn Treebank. The sizes are ENAS's."""

    batch: int = whole(64, 1, 65_536, "sequences in one step")
    cell: str = text(
        PUBLISHED_RECURRENT,
        "nodes of the cell: activation of the first one, then taken node and activation of each "
        "(`engine/zoo/cells.py`)",
        RECURRENT_CELL,
        recurrent_cell,
    )
    steps: int = whole(35, 1, 256, "words of every sequence: the number of unrolled steps")
    units: int = whole(748, 1, 16_384, "width of the embedding and of each node")
    vocabulary: int = whole(10_000, 2, 1_000_000, "words")


@dataclass(frozen=True, slots=True)
class Cifar10Settings(ModelSettings):
    """A network of convolutional cells, for CIFAR-10, like ENAS's."""

    batch: int = whole(144, 1, 65_536, "images in one step")
    normal: str = text(
        PUBLISHED_NORMAL,
        "blocks of the cells that keep height and width: state and operation, twice each (`engine/zoo/cells.py`)",
        CONVOLUTION_CELL,
        convolution_cell,
    )
    reduction: str = text(
        PUBLISHED_REDUCTION, "blocks of the cells that halve height and width", CONVOLUTION_CELL, convolution_cell
    )
    cells: int = whole(5, 1, 32, "normal cells in each of the three stages (ENAS: 2 to search with, 5 to train)")
    filters: int = whole(
        36,
        2,
        4096,
        "channels of a cell's blocks in the first stage, an even number; twice and four times as many in the next "
        "(ENAS: 20 and 36)",
        multiple_of=2,
    )
    image_size: int = whole(32, 4, 2048, "height and width of the images, a multiple of 4", multiple_of=4)
    classes: int = whole(10, 2, 1_000_000, "number of classes")
