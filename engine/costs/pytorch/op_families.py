"""Types of ops that are one op to a recording and another one to the device that runs it.

A recording takes the way of GPUs; a trace has the way that was taken where it ran.
"""

import re

ATTENTION, ATTENTION_BACKWARD = "attention", "attention_backward"
COMPOSITES = {
    "dropout": "native_dropout",
    "scaled_dot_product_attention": ATTENTION,
    "_scaled_dot_product_attention_math": ATTENTION,
}
"""type of an op that the CPU may run as several → the family of the one op that a recording has"""
BACKWARD_OF = {"native_dropout": "native_dropout_backward", ATTENTION: ATTENTION_BACKWARD}
"""family of such an op → that of its backward op"""
BY_FIRST_TENSOR = frozenset((ATTENTION, ATTENTION_BACKWARD, "native_batch_norm", "native_batch_norm_backward"))
"""families whose members take different arguments: the first tensor stands for all"""
FOREACH = "_foreach_"
_BATCH_NORM = re.compile(r"(?:cudnn|miopen|native)_batch_norm(_backward)?\Z")
_ATTENTION = re.compile(r"_scaled_dot_product_\w*attention\w*\Z")


def family_of(op_type: str) -> str:
    """The family of a type: itself, without the `_` of an op in place, or the name that its kinds have in common."""
    if op_type in COMPOSITES:
        return op_type
    if _ATTENTION.match(op_type):
        return ATTENTION_BACKWARD if op_type.endswith("_backward") else ATTENTION
    if batch_norm := _BATCH_NORM.match(op_type):
        return f"native_batch_norm{batch_norm[1] or ''}"
    return op_type.removesuffix("_") or op_type
