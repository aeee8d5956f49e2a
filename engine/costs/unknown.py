"""The reasons why the cost of an op is unknown: numbers in a graph's costs, sentences for people."""

from enum import IntEnum


class Unknown(IntEnum):
    """Why there is no estimate. The numbers are stored: new reasons get new numbers."""

    NOT_SAID = 0
    """the cost is known, or unknown without a reason"""
    TYPE = 1
    FUNCTION = 2
    ARITHMETIC = 3
    OUTPUT_SHAPE = 4
    TEXT = 5
    CONTENT = 6
    NOT_REACHED = 7
    INPUT_SHAPE = 8
    """mostly a consequence of another op's unknown output"""
    ESTIMATE = 9
    OVERFLOW = 10
    LOST_SHAPE = 11
    MODULE = 12
    CODE = 13
    PIPELINE = 14
    TPU = 15
    EXCHANGE = 16


HIDDEN = frozenset({Unknown.MODULE, Unknown.CODE, Unknown.PIPELINE, Unknown.TPU, Unknown.EXCHANGE})
"""the reasons that lie in the op's type, so that no shape helps"""
SENTENCES = {
    Unknown.NOT_SAID: "there is no estimate of its cost",
    Unknown.TYPE: "TensorFlow does not know ops of this type",
    Unknown.FUNCTION: "its work is in a function whose cost is unknown",
    Unknown.ARITHMETIC: "there is no formula for the operations of this op",
    Unknown.OUTPUT_SHAPE: "the shape of an output is unknown",
    Unknown.TEXT: "its output is text, whose length is unknown",
    Unknown.CONTENT: "its output is a list or another value of unknown size",
    Unknown.NOT_REACHED: "the estimator gives no answer for it",
    Unknown.INPUT_SHAPE: "the shape of an input is unknown",
    Unknown.ESTIMATE: "the estimator answers with a negative number",
    Unknown.OVERFLOW: "its operations or bytes are too many to count",
    Unknown.LOST_SHAPE: "the file lacks the shape of the variable that it reads",
    Unknown.MODULE: "its work is in a compiled module, which is not read",
    Unknown.CODE: "its work is in code outside the file",
    Unknown.PIPELINE: "its functions run in a data pipeline, whose work is not counted",
    Unknown.TPU: "its work is on a TPU, for which there is no model",
    Unknown.EXCHANGE: "it exchanges data with other devices by itself, for which there is no model",
}
