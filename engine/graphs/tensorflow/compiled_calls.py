"""Calls that XLA compiles whole: TensorFlow does not inline them, and keeps their resources on their device."""

from engine.graphs.tensorflow.messages import Message

COMPILED_AS_ONE = ("_XlaMustCompile", "_xla_compile_id", "_tpu_replicate")
"""attributes of calls that TensorFlow compiles whole"""


def is_compiled_as_one(node: Message) -> bool:
    """Whether the call has an attribute that lets XLA compile it whole."""
    return any(key in node.attr and _says_yes(node.attr[key]) for key in COMPILED_AS_ONE)


def _says_yes(value: Message) -> bool:
    return bool(value.b or value.s or value.i)
