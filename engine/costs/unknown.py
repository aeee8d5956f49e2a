"""Why the cost of an op is not known: a number in a graph's costs, a sentence for people."""

from enum import IntEnum


class Unknown(IntEnum):
    """Why there is no estimate. The numbers are stored: new reasons get new ones."""

    NOT_SAID = 0
    """the cost is known, or nobody has said why it is not"""
    TYPE = 1
    FUNCTION = 2
    ARITHMETIC = 3
    OUTPUT_SHAPE = 4
    TEXT = 5
    CONTENT = 6
    NOT_REACHED = 7
    INPUT_SHAPE = 8
    """the last one: mostly the consequence of another op's"""


SENTENCES = {
    Unknown.NOT_SAID: "no estimate could be had",
    Unknown.TYPE: "TensorFlow does not know ops of this type",
    Unknown.FUNCTION: "its work is in a function, which the estimator does not look into",
    Unknown.ARITHMETIC: "the estimator does not know the arithmetic of this type",
    Unknown.OUTPUT_SHAPE: "the shape of an output is unknown",
    Unknown.TEXT: "its output is text, whose length is unknown",
    Unknown.CONTENT: "its output is of a type without a fixed size",
    Unknown.NOT_REACHED: "the estimator has not come to it",
    Unknown.INPUT_SHAPE: "the shape of an input is unknown",
}
