"""The signatures of TensorFlow's registered op types: they show arity, refs and resources without TensorFlow.

`python -m engine.graphs.tensorflow.op_table` writes `tensorflow_ops.json` from the installed TensorFlow; a test keeps
them equal. In that file an argument is `T` (an attribute that holds the type) or `DT_FLOAT`, with `&` before a ref,
`N*` before a repeated one (attribute N holds the number), `[]` after an attribute that holds a list of types.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Protocol, Self

TABLE_FILE = Path(__file__).with_name("tensorflow_ops.json")


class ArgumentMessage(Protocol):
    """The fields used of an OpDef.ArgDef."""

    is_ref: bool
    number_attr: str
    type_list_attr: str
    type_attr: str
    type: int


@dataclass(frozen=True, slots=True)
class Argument:
    """One input or output of an op type."""

    type: str
    """`DT_FLOAT`, or the attribute that holds the type (or, with `is_list`, the types)"""
    number: str = ""
    """the attribute that holds the number of repetitions"""
    is_list: bool = False
    is_ref: bool = False

    @classmethod
    def parse(cls, text: str) -> Self:
        """The inverse of `str`."""
        is_ref, text = text.startswith("&"), text.removeprefix("&")
        number, _, type_text = text.rpartition("*")
        return cls(type_text.removesuffix("[]"), number, type_text.endswith("[]"), is_ref)

    @classmethod
    def of_message(cls, message: ArgumentMessage, type_names: Mapping[int, str]) -> Self:
        """The argument of an ArgDef; `type_names` is number → `DT_...`."""
        held = message.type_list_attr or message.type_attr or type_names.get(message.type, "DT_INVALID")
        return cls(held, message.number_attr, bool(message.type_list_attr), message.is_ref)

    def __str__(self) -> str:
        number = f"{self.number}*" if self.number else ""
        return f"{'&' if self.is_ref else ''}{number}{self.type}{'[]' if self.is_list else ''}"


@dataclass(frozen=True, slots=True)
class Signature:
    """The inputs and outputs of an op type."""

    inputs: tuple[Argument, ...]
    outputs: tuple[Argument, ...]


@cache
def registered_ops() -> dict[str, Signature]:
    """Op type → signature, for every op that TensorFlow registers."""
    rows = json.loads(TABLE_FILE.read_text("utf-8"))
    parse = cache(Argument.parse)
    return {
        op_type: Signature(tuple(map(parse, inputs)), tuple(map(parse, outputs)))
        for op_type, (inputs, outputs) in rows.items()
    }


def table_of_installed_tensorflow() -> str:
    """The content of `TABLE_FILE` for the installed TensorFlow; loads TensorFlow."""
    from tensorflow.core.framework import op_def_pb2, types_pb2
    from tensorflow.python.client import pywrap_tf_session

    ops = op_def_pb2.OpList.FromString(pywrap_tf_session.TF_GetBuffer(pywrap_tf_session.TF_GetAllOpList()))
    type_names = {number: name for name, number in types_pb2.DataType.items()}
    lines = []
    for op in sorted(ops.op, key=lambda op: op.name):
        arguments = [
            [str(Argument.of_message(argument, type_names)) for argument in side]
            for side in (op.input_arg, op.output_arg)
        ]
        lines.append(f"{json.dumps(op.name)}: {json.dumps(arguments)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    TABLE_FILE.write_text(table_of_installed_tensorflow(), "utf-8")
