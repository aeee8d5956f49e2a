"""GraphDefs made by hand, from the wire up: no protobuf classes are needed in the tests' own process."""

from engine.graphs.tensorflow.graphdef_writer import DEVICE
from engine.graphs.tensorflow.wire import bytes_field, fields


def text(number: int, content: str | bytes) -> bytes:
    """A field of text or bytes."""
    return bytes_field(number, content.encode() if isinstance(content, str) else content)


def attribute(key: str, value: bytes) -> bytes:
    """An entry of NodeDef.attr; `value` is an AttrValue."""
    return bytes_field(5, text(1, key) + bytes_field(2, value))


def type_attribute(key: str, number: int) -> bytes:
    """An attribute that holds a DataType."""
    return attribute(key, bytes([0x30, number]))


def count_attribute(key: str, count: int) -> bytes:
    """An attribute that holds a small integer."""
    return attribute(key, bytes([0x18, count]))


def colocated_with(*names: str) -> bytes:
    """The `_class` attribute."""
    return attribute("_class", bytes_field(1, b"".join(text(2, f"loc:@{name}") for name in names)))


def node(name: str | bytes, op: str | bytes = "NoOp", *inputs: str, device: str = "", attributes: bytes = b"") -> bytes:
    """A node, as a field of a GraphDef."""
    fields = text(1, name) + text(2, op) + b"".join(text(3, each) for each in inputs)
    return bytes_field(1, fields + (text(4, device) if device else b"") + attributes)


def constant(name: str, device: str = "", attributes: bytes = b"") -> bytes:
    """A constant without a value: enough for a reader."""
    return node(name, "Const", device=device, attributes=type_attribute("dtype", 1) + attributes)


def identity(name: str, source: str, *control: str, number: int = 1) -> bytes:
    """An Identity of `source`."""
    return node(name, "Identity", source, *control, attributes=type_attribute("T", number))


def total(name: str, *sources: str) -> bytes:
    """The sum of `sources`."""
    return node(name, "AddN", *sources, attributes=type_attribute("T", 1) + count_attribute("N", len(sources)))


def devices(content: bytes) -> list[list[str]]:
    """The devices of each node, however many there are."""
    return [
        [
            content[each.payload : each.end].decode()
            for each in fields(content, field.payload, field.end)
            if each.number == DEVICE
        ]
        for field in fields(content)
        if field.number == 1
    ]


CALL_IN_TEXT = """
node { name: "a" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
node { name: "c" op: "StatefulPartitionedCall" input: "a" attr { key: "f" value { func { name: "f" } } }
  attr { key: "Tin" value { list { type: DT_FLOAT } } } attr { key: "Tout" value { list { type: DT_FLOAT } } } }
library { function {
  signature { name: "f" input_arg { name: "x" type: DT_FLOAT } output_arg { name: "y" type: DT_FLOAT } }
  node_def { name: "n" op: "Neg" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
  ret { key: "y" value: "n:y:0" } } }
"""
"""a graph whose one op calls a function that negates"""


def placeholder(name: str, *lengths: int, data_type: int = 1) -> bytes:
    """An input of these lengths, −1 for an open one."""
    dimensions = b"".join(bytes_field(2, b"\x08" + _varint(length)) for length in lengths)
    shape = attribute("shape", bytes_field(7, dimensions))
    return node(name, "Placeholder", attributes=type_attribute("dtype", data_type) + shape)


def _varint(number: int) -> bytes:
    """A number of a message; a negative one has all 64 bits."""
    number &= (1 << 64) - 1
    groups = []
    while number > 0x7F:
        groups.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*groups, number])
