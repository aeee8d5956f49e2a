"""Cells of the searched networks, and their text form in settings. Free of TensorFlow.

A recurrent cell is written as its nodes, `tanh 0:relu 1:identity`: the activation of node 0, and for each further node
the node that it takes and its activation. A convolutional cell is written as its blocks,
`0:separable_3x3+1:identity 2:max_pool+0:average_pool`: two states that a block takes, each with an operation. State 0
is the cell's input, 1 the one before it, and block i gives state i + 2.

Source: Pham et al. 2018, "Efficient Neural Architecture Search via Parameter Sharing" (arXiv 1802.03268), sections 2.1
and 2.4; Zoph et al. 2017 (arXiv 1707.07012), figure 4.
"""

from dataclasses import dataclass

from engine.settings.fields import refused

ACTIVATIONS = ("identity", "sigmoid", "tanh", "relu")
SEARCHED_OPERATIONS = ("identity", "separable_3x3", "separable_5x5", "average_pool", "max_pool")
"""operations of ENAS; NASNet has a third window"""
MOST_NODES = 64
MOST_BLOCKS = 32
RECURRENT_CELL = f"1 to {MOST_NODES} nodes, such as tanh 0:relu 1:identity"
"""the text form that `recurrent_cell` reads"""
CONVOLUTION_CELL = f"1 to {MOST_BLOCKS} blocks, such as 0:separable_3x3+1:identity"
"""the text form that `convolution_cell` reads"""
INPUTS = 2
"""states of a convolutional cell that come before its blocks"""


@dataclass(frozen=True, slots=True)
class CellNode:
    """A node of a recurrent cell."""

    previous: int
    """the node whose state it takes; -1 for the first node, which takes the cell's inputs"""
    activation: str


@dataclass(frozen=True, slots=True)
class Block:
    """The sum of two operations, each on one of the cell's states."""

    left: str
    left_state: int
    right: str
    right_state: int


@dataclass(frozen=True, slots=True)
class Cell:
    """A convolutional cell."""

    blocks: tuple[Block, ...]
    joined: tuple[int, ...]
    """states that make up the cell's output"""


def loose_ends(blocks: tuple[Block, ...]) -> tuple[int, ...]:
    """The states that no block takes, which ENAS joins."""
    taken = {state for block in blocks for state in (block.left_state, block.right_state)}
    return tuple(state for state in range(INPUTS + len(blocks)) if state not in taken)


def recurrent_cell(name: str, text: str) -> tuple[CellNode, ...]:
    """The nodes in `text`, the value of setting `name`. Raises SettingsError."""
    words = text.split()
    if not 1 <= len(words) <= MOST_NODES:
        raise refused(name, text, RECURRENT_CELL)
    first = CellNode(-1, _one_of(words[0], ACTIVATIONS, name))
    rest = [_taken(word, index, ACTIVATIONS, name) for index, word in enumerate(words[1:], 1)]
    return (first, *(CellNode(previous, activation) for previous, activation in rest))


def convolution_cell(name: str, text: str) -> Cell:
    """The cell in `text`, the value of setting `name`. Raises SettingsError."""
    words = text.split()
    if not 1 <= len(words) <= MOST_BLOCKS:
        raise refused(name, text, CONVOLUTION_CELL)
    blocks = tuple(_block(word, INPUTS + index, name) for index, word in enumerate(words))
    return Cell(blocks, loose_ends(blocks))


def written_recurrent(nodes: tuple[CellNode, ...]) -> str:
    """The inverse of `recurrent_cell`."""
    return " ".join(node.activation if node.previous < 0 else f"{node.previous}:{node.activation}" for node in nodes)


def written_convolution(blocks: tuple[Block, ...]) -> str:
    """The inverse of `convolution_cell`."""
    return " ".join(f"{block.left_state}:{block.left}+{block.right_state}:{block.right}" for block in blocks)


def _block(word: str, states: int, name: str) -> Block:
    """The block in `word`, which may take the first `states` states. Raises SettingsError."""
    left, _, right = word.partition("+")
    left_state, left_operation = _taken(left, states, SEARCHED_OPERATIONS, name)
    right_state, right_operation = _taken(right, states, SEARCHED_OPERATIONS, name)
    return Block(left_operation, left_state, right_operation, right_state)


def _taken(word: str, below: int, known: tuple[str, ...], name: str) -> tuple[int, str]:
    """The parts of `word`, such as `3:tanh`: a number below `below`, and one of `known`. Raises SettingsError."""
    number, _, kind = word.partition(":")
    if number not in map(str, range(below)):
        allowed = f"an integer from 0 to {below - 1}, a colon, one of {', '.join(known)}"
        raise refused(name, word, allowed)
    return int(number), _one_of(kind, known, name)


def _one_of(word: str, known: tuple[str, ...], name: str) -> str:
    if word not in known:
        raise refused(name, word, ", ".join(known))
    return word
