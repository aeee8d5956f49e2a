"""Python that goes with a placed ONNX model: it checks where ONNX Runtime puts the nodes, and runs the stages."""

RUN_STAGES = '''"""Runs the stages one after the other: `run(load(), inputs)` takes and returns {name: array}."""

import json
import pathlib

import onnxruntime

FOLDER = pathlib.Path(__file__).parent
STAGES = json.loads((FOLDER / "stages.json").read_text())
PROVIDERS = {"GPU": "CUDAExecutionProvider", "CPU": "CPUExecutionProvider"}


def session(stage, providers):
    name = providers[stage["class"]]
    options = {"device_id": stage["index"]} if name != "CPUExecutionProvider" else {}
    made = onnxruntime.InferenceSession(FOLDER / stage["file"], providers=[(name, options)])
    if made.get_providers()[0] != name:  # ONNX Runtime takes the CPU in place of what is missing
        raise SystemExit(f"{stage['file']}: {stage['device']} needs {name}, which this machine does not have")
    return made


def load(providers=PROVIDERS):
    return [session(stage, providers) for stage in STAGES["stages"]]


def run(sessions, inputs):
    values = dict(inputs)
    for stage, made in zip(STAGES["stages"], sessions):
        taken = {name: values[name] for name in stage["inputs"]}
        values |= zip(stage["outputs"], made.run(stage["outputs"], taken))
    return {name: values[name] for name in STAGES["outputs"]}
'''
"""`run_stages.py`"""

CHECK_PLACEMENT = '''"""Checks that ONNX Runtime runs each node of model.onnx on the kind of its device.

    python check_placement.py [PROVIDER ...]

Where a device is missing, ONNX Runtime logs an error and takes the CPU; this ends with status 1 and the nodes.
"""

import collections
import pathlib
import sys

import onnx
import onnxruntime

KEY = "placeto.layer_assignment_settings"
path = pathlib.Path(__file__).parent / "model.onnx"
model = onnx.load(path, load_external_data=False)
settings = {each.key: each.value for each in model.metadata_props}[KEY]
layer_of = {}
for node in model.graph.node:
    layer_of |= {node.name: each.value for each in node.metadata_props if each.key == "layer_ann"}
options = onnxruntime.SessionOptions()
options.add_session_config_entry("session.layer_assignment_settings", settings)
options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
session = onnxruntime.InferenceSession(path, options, providers=sys.argv[1:] or onnxruntime.get_available_providers())
found = collections.Counter()
for part in session.get_provider_graph_assignment_info():
    for node in part.get_nodes():
        if layer_of.get(node.name):
            found[layer_of[node.name], part.ep_name] += 1
wrong = 0
for (layer, provider), nodes in sorted(found.items()):
    fits = layer.startswith("cpu") == (provider == "CPUExecutionProvider")
    wrong += 0 if fits else nodes
    print(f"{layer}: {nodes} nodes on {provider}{'' if fits else ', WRONG'}")
if wrong:
    print(f"{wrong} nodes are not where they are placed; on this machine: {onnxruntime.get_available_providers()}")
sys.exit(1 if wrong else 0)
'''
"""`check_placement.py`"""
