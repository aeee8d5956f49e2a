"""Loads TensorFlow's protobuf messages without TensorFlow itself, in 20 ms instead of seconds.

Used only inside a child process, where `tensorflow` is then a bare package that runs nothing, until `load_tensorflow`
puts the real one in its place.
"""

import importlib
import importlib.util
import sys
from types import ModuleType
from typing import Any, TypeAlias

from engine.errors import GraphError

Message: TypeAlias = Any
"""a protobuf message: its classes exist only in the child, once loaded"""
NO_MEMORY = "alloc failed"
"""text in the error by which protobuf's parser reports that memory ran out; the error is that of a damaged message"""


class BarePackage(ModuleType):
    """TensorFlow as a package that runs nothing."""


def load_messages(name: str) -> ModuleType:
    """Import a generated module of messages, such as `tensorflow.core.framework.graph_pb2`.

    Raises GraphError where TensorFlow is not installed.
    """
    if "tensorflow" in sys.modules and name in sys.modules:
        return sys.modules[name]  # at once: it is asked for with each message
    if "tensorflow" not in sys.modules:
        found = importlib.util.find_spec("tensorflow")
        if found is None or found.submodule_search_locations is None:
            raise GraphError("TensorFlow is not installed", allowed="an installation with requirements.txt")
        bare = BarePackage("tensorflow")
        bare.__path__ = list(found.submodule_search_locations)
        bare.__spec__ = found  # torch looks for it
        sys.modules["tensorflow"] = bare
    return importlib.import_module(name)


def load_tensorflow() -> None:
    """Load TensorFlow itself, also after its messages alone were loaded: their classes stay the same."""
    if isinstance(sys.modules.get("tensorflow"), BarePackage):
        del sys.modules["tensorflow"]
    importlib.import_module("tensorflow")


def parsed(module: str, name: str, content: bytes) -> Message | None:
    """`content` as message `name` of `module`, or None where it is no such message. Raises MemoryError."""
    message = load_messages("google.protobuf.message")
    try:
        return getattr(load_messages(module), name).FromString(content)
    except message.DecodeError as fault:
        if NO_MEMORY in str(fault):
            raise MemoryError from None
        return None
