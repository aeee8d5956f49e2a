"""RunMetadata made by hand, from the wire up."""

from engine.graphs.tensorflow.wire import bytes_field
from tests.engine.formats.graphdef_samples import text

CPU = "/job:localhost/replica:0/task:0/device:CPU:0"
GPU = "/job:localhost/replica:0/task:0/device:GPU:0"


def number(field: int, value: int) -> bytes:
    """An integer; a negative one takes ten bytes, as protobuf has it."""
    value &= 2**64 - 1
    encoded = bytearray([field << 3])
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*encoded, value])


def output(slot: int, dtype: int, *lengths: int, requested_bytes: int = 0) -> bytes:
    """NodeExecStats.output."""
    shape = b"".join(bytes_field(2, number(1, length)) for length in lengths)
    allocation = bytes_field(4, number(1, requested_bytes))
    return bytes_field(7, number(1, slot) + bytes_field(3, number(1, dtype) + bytes_field(2, shape) + allocation))


def stats(name: str | bytes, end_us: int, start_us: int = 0, more: bytes = b"") -> bytes:
    """DeviceStepStats.node_stats of one execution that takes from `start_us` to `end_us`."""
    return bytes_field(2, text(1, name) + number(3, start_us) + number(4, end_us) + more)


def temporary(size: int) -> bytes:
    """NodeExecStats.memory_stats."""
    return bytes_field(12, number(1, size))


def device(name: str, *of_ops: bytes) -> bytes:
    """StepStats.dev_stats."""
    return bytes_field(1, text(1, name) + b"".join(of_ops))


def run_metadata(*devices: bytes) -> bytes:
    return bytes_field(1, b"".join(devices))
