"""TensorFlow's protobuf messages without TensorFlow itself: 20 ms to load instead of seconds.

Only ever used inside a child process, where `tensorflow` is then a bare package that runs nothing.
"""

import importlib
import importlib.util
import sys
from types import ModuleType

from engine.errors import GraphError


def load_messages(name: str) -> ModuleType:
    """A generated module of messages, such as `tensorflow.core.framework.graph_pb2`.

    Raises GraphError where TensorFlow is not installed.
    """
    if "tensorflow" not in sys.modules:
        found = importlib.util.find_spec("tensorflow")
        if found is None or found.submodule_search_locations is None:
            raise GraphError("TensorFlow is not installed", allowed="an installation with requirements.txt")
        bare = ModuleType("tensorflow")
        bare.__path__ = list(found.submodule_search_locations)
        sys.modules["tensorflow"] = bare
    return importlib.import_module(name)
