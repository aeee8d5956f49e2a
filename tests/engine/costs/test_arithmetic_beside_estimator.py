"""Our counts of heavy ops beside those of TensorFlow's estimator: where they agree, and where and how they do not."""

from collections import defaultdict
from typing import cast

import pytest

from engine.child.parent import Limits, Results, run_in_child
from engine.costs.arithmetic import AGREED, ELEMENT_BYTES, HEAVY, MISCOUNTED, OURS

OFF = {
    "conv valid odd": 90720 / 80640,
    "conv dilated valid": 465120 / 237600,
    "conv explicit padding": 142560 / 161280,
    "conv grouped to one": 8,
    "input gradient dilated": 465120 / 237600,
    "input gradient grouped to one": 8,
    "input gradient of sizes that are fed": 1 / 80,
    "filter gradient dilated": 465120 / 237600,
    "filter gradient grouped to one": 8,
    "depthwise dilated": 232560 / 102960,
    "depthwise input gradient dilated": 232560 / 102960,
    "depthwise filter gradient dilated": 232560 / 102960,
    "sparse tensor's product adjoint": 50 / 13,
    "einsum element by element": 2,
}
"""where the estimator's count is not 0: how many times ours it is"""
NO_ARITHMETIC = {"conv empty", "product empty", "batch empty", "einsum transpose"}
KNOWN_TYPES = AGREED | {
    *("Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter", "SparseTensorDenseMatMul", "Einsum", "XlaEinsum"),
    *("DepthwiseConv2dNative", "DepthwiseConv2dNativeBackpropInput", "DepthwiseConv2dNativeBackpropFilter"),
}
"""heavy op types for which the estimator counts anything at all"""
UNKNOWN_EQUATIONS = {
    *("einsum outer", "einsum inner", "einsum ellipsis", "einsum ellipsis broadcast", "einsum sum of one side"),
    *("einsum of one", "einsum vector", "XLA's einsum outer"),
}


@pytest.fixture(scope="module")
def compared() -> Results:
    """Both counts of all cases."""
    return run_in_child("tests.engine.costs.single_ops:compare_in_child", {}, Limits(), task="comparing", is_warm=True)


def test_the_estimator_is_off_where_we_say_so_and_nowhere_else(compared: Results) -> None:
    arrays, texts = compared
    names, types = cast(list[str], texts["names"]), cast(list[str], texts["types"])
    off: dict[str, float] = {}
    for name, op_type, theirs, ours in zip(names, types, arrays["theirs"], arrays["ours"], strict=True):
        if op_type not in KNOWN_TYPES or name in UNKNOWN_EQUATIONS:
            assert (name, int(theirs)) == (name, 0)
        elif theirs != ours:
            off[name] = theirs / ours
        assert (int(ours) == 0) == (name in NO_ARITHMETIC), name
    assert off == pytest.approx(OFF)


def test_we_count_what_the_estimator_is_off_on(compared: Results) -> None:
    arrays, texts = compared
    agrees: dict[str, bool] = defaultdict(lambda: True)
    types = cast(list[str], texts["types"])
    for op_type, theirs, ours in zip(types, arrays["theirs"], arrays["ours"], strict=True):
        agrees[op_type] &= bool(abs(theirs - ours) <= 0.02 * ours)
    assert {op_type for op_type, all_agree in agrees.items() if all_agree} == AGREED
    assert set(agrees) - AGREED <= OURS | MISCOUNTED
    assert OURS | AGREED | MISCOUNTED == HEAVY


def test_a_file_is_read_with_our_counts(compared: Results) -> None:
    arrays, texts = compared
    names = cast(list[str], texts["names"])
    read, ours = (dict(zip(names, arrays[key].tolist(), strict=True)) for key in ("read", "ours"))
    unknown = {"input gradient of sizes that are fed", "library's LSTM", "library's GRU"}  # as an output's shape is
    assert {name: found for name, found in read.items() if found != ours[name]} == dict.fromkeys(unknown, -1)


def test_bytes_are_those_of_the_estimator(compared: Results) -> None:
    """But for what is empty, a scalar that nobody knows, and a sparse matrix, of whose indices it reads a half."""
    arrays, texts = compared
    odd = {"conv empty", "input gradient of sizes that are fed"} | {"library's LSTM", "library's GRU"}
    for name, theirs, ours in zip(
        cast(list[str], texts["names"]), arrays["their_bytes"], arrays["our_bytes"], strict=True
    ):
        if name not in odd and "sparse tensor" not in name:
            assert (name, int(theirs)) == (name, int(ours))


def test_elements_have_the_sizes_that_tensorflow_gives_them(compared: Results) -> None:
    _, texts = compared
    assert texts["sizes"] == {str(number): size for number, size in ELEMENT_BYTES.items()}
