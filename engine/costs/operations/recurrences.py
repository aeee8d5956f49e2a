"""Operations of recurrent layers and cells that are one op: a multiply-add for each use of a weight.

A weight is used once for each time step and row of a batch. The elementwise work of the gates is left out, as it is
where the same layer is written as products. The gradient of a layer takes two products for each of the layer's: one by
the input and one by the weights.
"""

from engine.costs.operations.execution import Count, Execution, require, size

GATES = {b"lstm": 4, b"gru": 3, b"rnn_relu": 1, b"rnn_tanh": 1}
"""`rnn_mode` → number of a cell's products with the input, and with the state"""
CELL_GRADIENT = 22
"""operations of an LSTM cell's gradient for each unit: five derivatives of gates and the state, no product"""


def layers_of_library(passes: int) -> Count:
    """Count of NVIDIA's recurrent layers: all time steps, layers and directions."""

    def count(execution: Execution) -> int:
        steps, batch, features = execution.input(0, rank=3)
        state = execution.input(1, rank=3)
        gates = GATES.get(execution.content("rnn_mode", b"lstm"), 0)
        directions = 2 if execution.content("direction") == b"bidirectional" else 1
        cells = state[0] if execution.flag("time_major", default=True) else state[1]
        require(gates > 0 and cells > 0 and cells % directions == 0)
        width, units = state[2], state[2]
        projected = execution.number("num_proj", 0) > 0
        if projected:
            units = execution.input(2, rank=3)[2]
        mode = execution.content("input_mode", b"linear_input")
        skips = mode == b"skip_input" or (mode == b"auto_select" and features == units)
        first = gates * units * (width + (0 if skips else features))
        later = gates * units * (width + directions * width)
        weights = directions * first + (cells - directions) * later + (cells * units * width if projected else 0)
        require(size(execution.input(3, rank=1)) >= weights)
        return 2 * passes * steps * batch * weights

    return count


def layer_in_one_block(passes: int) -> Count:
    """Count of an LSTM layer over all time steps."""

    def count(execution: Execution) -> int:
        steps, batch, features = execution.input(1, rank=3)
        _, units = execution.input(3, rank=2)
        weights = execution.input(4, rank=2)
        require(weights == (features + units, 4 * units))
        return 2 * passes * steps * batch * size(weights)

    return count


def long_cell(execution: Execution) -> int:
    """One time step of an LSTM."""
    batch, features = execution.input(0, rank=2)
    _, units = execution.input(2, rank=2)
    weights = execution.input(3, rank=2)
    require(weights == (features + units, 4 * units))
    return 2 * batch * size(weights)


def long_cell_gradient(execution: Execution) -> int:
    """The gradient by the gates and the state; the products with the weights are separate ops."""
    return CELL_GRADIENT * size(execution.input(1, rank=2))


def gated_cell(execution: Execution) -> int:
    """One time step of a GRU; its gradient by the input takes as many (the one by the weights is separate ops)."""
    batch, features = execution.input(0, rank=2)
    _, units = execution.input(1, rank=2)
    gates, candidate = execution.input(2, rank=2), execution.input(3, rank=2)
    require(gates == (features + units, 2 * units) and candidate == (features + units, units))
    return 2 * batch * (size(gates) + size(candidate))


COUNTS: dict[str, Count] = {
    **dict.fromkeys(("CudnnRNN", "CudnnRNNV2", "CudnnRNNV3"), layers_of_library(1)),
    **dict.fromkeys(("CudnnRNNBackprop", "CudnnRNNBackpropV2", "CudnnRNNBackpropV3"), layers_of_library(2)),
    **dict.fromkeys(("BlockLSTM", "BlockLSTMV2"), layer_in_one_block(1)),
    **dict.fromkeys(("BlockLSTMGrad", "BlockLSTMGradV2"), layer_in_one_block(2)),
    "LSTMBlockCell": long_cell,
    **dict.fromkeys(("GRUBlockCell", "GRUBlockCellGrad"), gated_cell),
}
LIGHT_COUNTS: dict[str, Count] = {"LSTMBlockCellGrad": long_cell_gradient}
"""counts without products"""
