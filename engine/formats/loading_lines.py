"""Lines of Python that load a placed file, with TensorFlow, PyTorch or ONNX Runtime, on somebody's devices."""

import json
from collections.abc import Iterable, Sequence
from pathlib import PurePath

from engine.formats.onnx.layers import layers_of, session_settings

DEVICE_MAP = ".device_map.json"
LOADED_FORMATS = (".zip", ".pb", ".onnx", DEVICE_MAP)
"""endings of the names of files that the lines load: a SavedModel, a GraphDef, an ONNX model, a PyTorch device map"""
PREFIX = "/device:"


def loading_lines(name: str, devices: Sequence[str], *, offload: bool = False) -> str:
    """A script that loads the placed file `name`, which ends in one of `LOADED_FORMATS`, from its folder.

    `devices` are those of the file, such as `/device:GPU:0`. The script's line `devices` maps them to those of the
    machine, and a person changes it: at first the n-th device of a class is the machine's n-th. `offload`: whether the
    graph was read so that weights may wait in CPU memory, which only accelerate does.
    """
    if name.endswith(DEVICE_MAP):
        lines = _of_offloading_map(name) if offload else _of_device_map(name)
    else:
        made = {".zip": _of_saved_model, ".pb": _of_graphdef, ".onnx": _of_onnx}[PurePath(name).suffix]
        lines = made(name, devices)
    return "\n".join(lines) + "\n"


def _of_onnx(name: str, devices: Sequence[str]) -> Iterable[str]:
    settings = json.dumps(session_settings(layers_of(devices)))
    yield "import onnxruntime"
    yield "options = onnxruntime.SessionOptions()"
    yield f'options.add_session_config_entry("session.layer_assignment_settings", {settings})'
    yield "providers = onnxruntime.get_available_providers()  # a device that is missing is replaced by the CPU"
    yield f"session = onnxruntime.InferenceSession({json.dumps(name)}, options, providers=providers)"


def _of_device_map(name: str) -> Iterable[str]:
    """The numbers in the map are those of the machine's GPUs."""
    yield "import json, pathlib, placeto"
    yield f"placeto.apply(model, {json.dumps(name)})  # the model that you recorded"
    yield "# or, of Hugging Face, without placeto:"
    yield f"device_map = json.loads(pathlib.Path({json.dumps(name)}).read_text())"
    yield "model = AutoModelForCausalLM.from_pretrained(folder, device_map=device_map)"


def _of_offloading_map(name: str) -> Iterable[str]:
    yield "import accelerate, json, pathlib"
    yield f"device_map = json.loads(pathlib.Path({json.dumps(name)}).read_text())"
    yield "accelerate.dispatch_model(model, device_map)  # the model that you recorded"
    yield "# or, of Hugging Face:"
    yield "model = AutoModelForCausalLM.from_pretrained(folder, device_map=device_map)"


def _of_saved_model(name: str, devices: Sequence[str]) -> Iterable[str]:
    folder = PurePath(name).stem
    yield "import pathlib, shutil, tensorflow as tf"
    yield "from tensorflow.core.protobuf.saved_model_pb2 import SavedModel"
    yield _mapping(devices)
    yield f"shutil.unpack_archive({json.dumps(name)}, {json.dumps(folder)})"
    yield f'file = pathlib.Path({json.dumps(folder)}, "saved_model.pb")'
    yield "model = SavedModel.FromString(file.read_bytes())"
    yield f"for node in model.meta_graphs[0].graph_def.node: {_renaming(devices)}"
    yield "file.write_bytes(model.SerializeToString())"
    yield f"[step] = tf.saved_model.load({json.dumps(folder)}).signatures.values()"


def _of_graphdef(name: str, devices: Sequence[str]) -> Iterable[str]:
    yield "import pathlib, tensorflow as tf"
    yield _mapping(devices)
    yield f"graph_def = tf.compat.v1.GraphDef.FromString(pathlib.Path({json.dumps(name)}).read_bytes())"
    yield f"for node in graph_def.node: {_renaming(devices)}"
    yield 'with tf.Graph().as_default() as graph: tf.import_graph_def(graph_def, name="")'
    yield "session = tf.compat.v1.Session(graph=graph)"


def _mapping(devices: Sequence[str]) -> str:
    counts: dict[str, int] = {}
    pairs = []
    for device in devices:
        device_class = device.rpartition(PREFIX)[2].partition(":")[0]
        number = counts.get(device_class, 0)
        counts[device_class] = number + 1
        pairs.append(f"{json.dumps(device)}: {json.dumps(f'{PREFIX}{device_class}:{number}')}")
    return f"devices = {{{', '.join(pairs)}}}  # in the file: on your machine"


def _renaming(devices: Sequence[str]) -> str:
    """Where the devices name no machine, that of the file's device string is left out."""
    has_machines = any(not device.startswith(PREFIX) for device in devices)
    key = "node.device" if has_machines else f'"{PREFIX}" + node.device.rpartition("{PREFIX}")[2]'
    return f"node.device = devices.get({key}, node.device)"
