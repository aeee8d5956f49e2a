"""The seeds: inputs of every format that the application accepts as they are."""

import gzip
import io
import json
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from engine.child.parent import Limits, run_in_child
from engine.clusters.cluster_json import cluster_to_json
from engine.clusters.parsing import parse_cluster
from tests.engine.costs.profiler_traces import kernel, launch, node, op, recording, span, trace
from tests.engine.costs.step_stats_samples import CPU, GPU, device, output, run_metadata, stats, temporary
from tests.engine.formats import container_samples
from tests.engine.formats.graphdef_samples import CALL_IN_TEXT
from tests.engine.onnx import models
from tests.engine.policies.small_policies import card_with_a_misfit, small_policy
from tests.fuzz.inputs import CLUSTER, GRAPH, POLICY, Input
from tests.webapp.graph_files import graphdef, measured_times, node_link

BUILDING = Limits(memory_bytes=16 * 1024**3, seconds=300.0)
FORMATS = Path(__file__).parents[2] / "docs" / "formats"
META_GRAPH_IN_TEXT = """
meta_info_def { tags: "serve" }
graph_def {
  node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "shape" value { shape { dim { size: 4 } } } } }
  node { name: "v" op: "VariableV2" attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "shape" value { shape { dim { size: 4 } } } } }
  node { name: "v/start" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
    attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape { dim { size: 4 } } float_val: 1 } } } }
  node { name: "v/Assign" op: "Assign" input: "v" input: "v/start" attr { key: "T" value { type: DT_FLOAT } } }
  node { name: "y" op: "Mul" input: "x" input: "v" attr { key: "T" value { type: DT_FLOAT } } }
  versions { producer: 1087 }
}
signature_def {
  key: "serving_default"
  value { inputs { key: "x" value { name: "x:0" } } outputs { key: "y" value { name: "y:0" } } }
}
"""  # noqa: E501
SAVED_MODEL_IN_TEXT = f"saved_model_schema_version: 1\nmeta_graphs {{{META_GRAPH_IN_TEXT}}}"
SHORTHANDS = ("2xK80", "4xV100+cpu", "k80 + K80+2 x P100")


def build_samples(folder: Path) -> None:
    """Let TensorFlow build the seeds that it writes itself, into `folder`: some 20 seconds."""
    folder.mkdir(parents=True, exist_ok=True)
    order = {"folder": str(folder)}
    run_in_child("tests.fuzz.seed_graphs:build_in_child", order, BUILDING, task="building the seeds", is_warm=True)


def seeds_by_hand() -> list[Input]:
    """The seeds for which no TensorFlow is needed."""
    return [
        Input(GRAPH, ".pb", graphdef(), made="hand"),
        Input(GRAPH, ".pb", graphdef(), measured_times(), made="hand with times"),
        Input(GRAPH, ".pb", graphdef(), _detailed_times(), {"profile_kind": "K80", "groups": "all"}, "hand on a kind"),
        Input(GRAPH, ".pbtxt", CALL_IN_TEXT.encode(), fields={"input_shapes": "a=4,8"}, made="text with a call"),
        Input(GRAPH, ".pb", graphdef(), fields={"fetches": "left:0\nsum"}, made="hand with fetches"),
        Input(GRAPH, ".meta", _meta_graph(), made="hand MetaGraphDef"),
        Input(GRAPH, ".meta", META_GRAPH_IN_TEXT.encode(), fields={"fetches": "y"}, made="text MetaGraphDef"),
        Input(GRAPH, ".pbtxt", META_GRAPH_IN_TEXT.encode(), made="text MetaGraphDef"),
        Input(GRAPH, ".pbtxt", SAVED_MODEL_IN_TEXT.encode(), fields={"tags": "serve"}, made="text SavedModel"),
        Input(GRAPH, ".zip", _saved_model(), made="hand zip"),
        Input(GRAPH, ".onnx", _encoder(), fields={"sizes": "sequence=7"}, made="BERT"),
        Input(GRAPH, ".onnx", models.branches().SerializeToString(), fields={"batch_size": "4"}, made="branches"),
        Input(GRAPH, ".json", node_link(), made="tree"),
        Input(GRAPH, ".json.gz", gzip.compress(node_link(), mtime=0), made="compressed tree"),
        Input(GRAPH, ".json", _documented("graph"), fields={"groups": "3"}, made="all keys"),
        Input(GRAPH, ".json", *_step_with_trace(), made="step with a trace"),
        Input(POLICY, ".safetensors", small_policy().to_bytes(), made="policy"),
        Input(POLICY, ".safetensors", _policy_with_a_misfit(), made="policy with a misfit"),
        *(Input(CLUSTER, ".txt", text.encode(), made="shorthand") for text in SHORTHANDS),
        Input(CLUSTER, ".txt", _documented("cluster"), made="cluster"),
        Input(CLUSTER, ".txt", json.dumps(cluster_to_json(parse_cluster("3xK80+CPU"))).encode(), made="cluster"),
    ]


def seeds_of(folder: Path) -> list[Input]:
    """All seeds; `folder` is that of `build_samples`."""
    return [*seeds_by_hand(), *_built(folder)]


def _built(folder: Path) -> Iterator[Input]:
    read = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    for name in ("branches", "calls", "captured", "compiled", "dataset", "families", "training"):
        yield Input(GRAPH, ".pb", read[f"{name}.pb"], made=name)
    for name in ("calls", "branches"):
        yield Input(GRAPH, ".pbtxt", read[f"{name}.pbtxt"], made=name)
    yield Input(GRAPH, ".meta", read["training.meta"], made="training")
    yield Input(GRAPH, ".pb", read["training.pb"], read["recorded.times"], made="recorded")
    with_options = {"batch_size": "8", "trips": "loop/while_context=7", "sizes": "chosen/Where=5", "groups": "16"}
    yield Input(GRAPH, ".pb", read["families.pb"], fields=with_options, made="families with options")
    module = _zipped(folder / "module")
    yield Input(GRAPH, ".zip", module, fields={"signature": "loop"}, made="module, loop")
    options = {"signature": "train", "input_shapes": "train_x=16,8"}
    yield Input(GRAPH, ".zip", module, fields=options, made="module, train")
    yield Input(GRAPH, ".zip", _zipped(folder / "keras", "exported/"), fields={"batch_size": "32"}, made="keras")


def _encoder() -> bytes:
    return bytes(models.bert(1, 16, 2, 30).SerializeToString())


def _zipped(folder: Path, inside: str = "") -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as target:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                target.write(path, inside + str(path.relative_to(folder)))
    return buffer.getvalue()


def _meta_graph() -> bytes:
    more = container_samples.signature("serving_default", "sum:0") + container_samples.collection("train_op", "sum")
    return container_samples.meta_graph(graphdef(), more=more)


def _saved_model() -> bytes:
    return container_samples.archive(("saved_model.pb", container_samples.saved_model(_meta_graph())))


def _step_with_trace() -> tuple[bytes, bytes]:
    """A recorded step with all that its trace can say of it."""
    step = recording({"id": "a/mul", "type": "mul", "shapes": [[4]]}, modules={"": "Net", "a": "Layer"})
    events: list[Any] = [
        span("user_annotation", "ProfilerStep#1", 0, 90),
        span("python_function", "nn.Module: Layer_0", 1, 60),
        op("aten::mul", 2, 5, [[4], []], **{"External id": 3, "Sequence number": 2}),
        node("MulBackward0", 2, 70, 9),
        launch(6, 3),
        kernel(12, correlation=6),
    ]
    return step, trace(*events)


def _detailed_times() -> bytes:
    more = output(0, 1, 4, requested_bytes=16) + temporary(64)
    return run_metadata(
        device(CPU, stats("a", 3, 1), stats("sum", 9, 4, more)),
        device(GPU, stats("sum", 5)),
        device(f"{GPU}/stream:all", stats("sum:AddN", 7, 2), stats("left:Identity", 3)),
    )


def _policy_with_a_misfit() -> bytes:
    policy = small_policy()
    return type(policy)(policy.weights, policy.settings, card_with_a_misfit()).to_bytes()


def _documented(kind: str) -> bytes:
    """The first example of `kind` in docs/formats, which shows all keys."""
    pages = "".join(page.read_text() for page in sorted(FORMATS.glob("*.md")))
    found = re.search(rf"```json {kind}\n(.*?)```", pages, re.DOTALL)
    assert found is not None
    return found.group(1).encode()
