"""The op types whose work TensorFlow's estimator does not know, and why."""

from collections.abc import Set

from engine.costs.tensorflow.work_of_types import EXPANDED_CALLS, hidden_work
from engine.costs.unknown import Unknown

OF_UNKNOWN_ARITHMETIC = frozenset(
    {
        *("Conv3D", "Conv3DBackpropFilter", "Conv3DBackpropFilterV2", "Conv3DBackpropInput", "Conv3DBackpropInputV2"),
        *("Conv", "QuantizedConv2D", "XlaConv", "XlaConvV2", "XlaDot", "XlaDotV2", "BatchMatMulV3"),
        *("CudnnRNN", "CudnnRNNV2", "CudnnRNNV3", "CudnnRNNBackprop", "CudnnRNNBackpropV2", "CudnnRNNBackpropV3"),
        *("BlockLSTM", "BlockLSTMV2", "BlockLSTMGrad", "BlockLSTMGradV2"),
        *("LSTMBlockCell", "LSTMBlockCellGrad", "GRUBlockCell", "GRUBlockCellGrad"),
        *("Cholesky", "CholeskyGrad", "Qr", "Svd", "SelfAdjointEig", "SelfAdjointEigV2", "Eig", "Lu"),
        *("MatrixInverse", "MatrixSolve", "MatrixSolveLs", "MatrixTriangularSolve", "MatrixDeterminant"),
        *("MatrixExponential", "MatrixLogarithm", "MatrixSquareRoot", "LogMatrixDeterminant"),
        *("FFT", "FFT2D", "FFT3D", "FFTND", "IFFT", "IFFT2D", "IFFT3D", "IFFTND"),
        *("RFFT", "RFFT2D", "RFFT3D", "RFFTND", "IRFFT", "IRFFT2D", "IRFFT3D", "IRFFTND"),
    }
)
"""ops with much arithmetic of which the estimator counts only the bytes"""


def why_type_is_unknown(op_type: str, known_types: Set[str], functions: Set[str]) -> Unknown:
    """Why the estimator does not know the work of ops of this type, or `Unknown.NOT_SAID`."""
    if op_type not in known_types:
        return Unknown.TYPE
    if op_type in EXPANDED_CALLS or op_type in functions:
        return Unknown.FUNCTION
    if reason := hidden_work(op_type):
        return reason
    return Unknown.ARITHMETIC if op_type in OF_UNKNOWN_ARITHMETIC else Unknown.NOT_SAID
