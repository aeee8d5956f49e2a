"""Files that fix ops to devices, or need some: what `inspect` and `place` say, and where ops go."""

import json
import re
import zipfile
from pathlib import Path
from typing import cast

import pytest

from engine.child.parent import Limits, ReportProgress, Results, run_in_child
from engine.cli.main import main
from engine.events import Json
from engine.graphs.tensorflow.messages import load_messages
from tests.engine.formats.graphdef_samples import devices, node, total, type_attribute

FLOAT = 1
GPU, CPU = "/device:GPU:0", "/device:CPU:0"
QUICK = ["--method", "random", "--evaluations", "20"]
LIMITS = Limits(memory_bytes=8 * 1024**3, seconds=300.0)


def stored(tmp_path: Path, content: bytes) -> str:
    path = tmp_path / "graph.pb"
    path.write_bytes(content)
    return str(path)


def given(name: str, device: str = "") -> bytes:
    """An op without inputs."""
    return node(name, "Placeholder", device=device, attributes=type_attribute("dtype", FLOAT))


def save_in_child(order: dict[str, Json], folder: Path, _report_progress: ReportProgress) -> Results:
    """Leave a SavedModel whose ops are all fixed to a GPU."""
    from experiments.placed.samples import zipped
    from tests.engine.placed_saved_models.samples import fixed_to_a_gpu

    fixed_to_a_gpu(folder / "model")
    zipped(Path(cast(str, order["folder"])), "model", folder / "model")
    return {}, {}


def call_in_child(order: dict[str, Json], folder: Path, _report_progress: ReportProgress) -> Results:
    """What the signature answers in TensorFlow, with soft placement, since this machine may have no GPU."""
    import tensorflow as tf

    with zipfile.ZipFile(cast(str, order["path"])) as archive:
        archive.extractall(folder / "model")
    tf.config.set_soft_device_placement(True)
    served = tf.saved_model.load(str(folder / "model")).signatures["serving_default"]
    return {"out": served(inputs=tf.ones([2, 16]), words=tf.constant(["a", "b"]))["out"].numpy()}, {}


@pytest.fixture(scope="module")
def saved_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fixed")
    run_in_child(f"{__name__}:save_in_child", {"folder": str(folder)}, LIMITS, task="saving")
    return folder / "model.zip"


@pytest.mark.parametrize("cluster", ["2xV100+cpu", "2xV100"])
def test_a_device_without_a_kernel_counts_as_not_fixed_and_the_file_is_written(
    saved_model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], cluster: str
) -> None:
    out = tmp_path / "placed.zip"
    assert main(["place", str(saved_model), "--cluster", cluster, *QUICK, "--out", str(out)]) == 0
    said = capsys.readouterr().err
    assert "2 ops are fixed to a device that cannot run them" in said and "--drop-devices" in said
    lacks = "The cluster has no CPU: 2 ops that need one stay on GPUs. TensorFlow runs this only with soft placement."
    assert (lacks in said) == (cluster == "2xV100")
    with zipfile.ZipFile(out) as archive:
        content = archive.read("saved_model.pb")
    placed = load_messages("tensorflow.core.protobuf.saved_model_pb2").SavedModel.FromString(content)
    device_of = {each.name: each.device for each in placed.meta_graphs[0].graph_def.node}
    host = CPU if cluster == "2xV100+cpu" else GPU
    filling = next(name for name in device_of if name.startswith("filling/") and "LookupTableImport" in name)
    for name in ("table", "found/LookupTableFindV2", filling):
        assert device_of[name] in (host, host.replace("0", "1"))
    assert {device_of[name] for name in ("inputs", "weights", "out")} == {GPU}
    if cluster == "2xV100+cpu":
        arrays, _ = run_in_child(f"{__name__}:call_in_child", {"path": str(out)}, LIMITS, task="calling")
        assert arrays["out"].tolist() == [[8.0] * 8, [16.0] * 8]


LAYER = b"".join(given(name) for name in "abcd") + node(
    "layer", "CudnnRNN", *"abcd", attributes=type_attribute("T", FLOAT)
)
KERNEL = "TensorFlow has no CPU kernel for it"


def test_what_no_cpu_can_run_is_reported_and_goes_to_a_gpu(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = stored(tmp_path, LAYER), tmp_path / "placed.pb"
    assert main(["inspect", path]) == 0
    reported = capsys.readouterr().out
    assert f"Ops that need a GPU: 1. No CPU can run them.\n  {KERNEL}: 1: layer\n" in reported
    assert "CPU cannot run all ops" in reported
    assert main(["place", path, "--cluster", "V100+cpu", *QUICK, "--out", str(out)]) == 0
    assert "cpu_only: no CPU can run 1 op of the graph" in capsys.readouterr().err
    assert devices(out.read_bytes())[-1] == [GPU]


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (
            ["--cluster", "2xCPU"],
            f"layer: it needs a GPU ({KERNEL}), but it may go to none; allowed: a cluster with a GPU; this one has "
            "/device:CPU:0, /device:CPU:1",
        ),
        (
            ["--cluster", "V100+cpu", "--pin", f"layer={CPU}"],
            f"layer: it cannot be pinned to {CPU}; allowed: {GPU}",
        ),
    ],
)
def test_a_cluster_or_a_pin_that_cannot_run_it_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], line: str
) -> None:
    assert main(["place", stored(tmp_path, LAYER), *options, *QUICK]) == 2
    assert capsys.readouterr().err.splitlines()[-1] == line


TOWERS = b"".join(given(f"tower_{index}", device=f"/device:GPU:{index}") for index in range(4))


def test_fixed_devices_are_counted_and_the_option_against_them_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = stored(tmp_path, TOWERS + total("sum", *(f"tower_{index}" for index in range(4))))
    counted = ", ".join(f"/device:GPU:{index} × 1" for index in range(4))
    assert main(["inspect", path]) == 0
    assert f"Ops that the file fixes to a device: 4: {counted}\n" in capsys.readouterr().out
    assert main(["place", path, "--cluster", "2xV100+cpu", *QUICK]) == 2
    assert capsys.readouterr().err.splitlines()[-1] == (
        "tower_2: it is fixed to /device:GPU:2, which is not in the cluster; allowed: /device:GPU:0, /device:GPU:1, "
        "/device:CPU:0, or --drop-devices"
    )
    assert main(["place", path, "--cluster", "2xV100+cpu", *QUICK, "--drop-devices"]) == 0


WORKERS = (
    given("w", device="/job:ps/task:0")
    + given("y0", device="/job:worker/task:0/device:GPU:0")
    + given("y1", device="/job:worker/task:1/device:GPU:0")
    + total("sum", "w", "y0", "y1")
)
MACHINES = {
    "devices": [
        {"name": "/job:ps/task:0/device:CPU:0", "kind": "CPU"},
        {"name": "/job:worker/task:0/device:GPU:0", "kind": "V100"},
        {"name": "/job:worker/task:1/device:GPU:0", "kind": "V100"},
    ]
}


def test_two_workers_and_a_parameter_server_are_three_machines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out, cluster = stored(tmp_path, WORKERS), tmp_path / "placed.pb", tmp_path / "cluster.json"
    cluster.write_text(json.dumps(MACHINES))
    command = ["place", path, *QUICK, "--out", str(out)]
    assert main([*command, "--cluster", "2xV100+cpu"]) == 2
    assert re.search("the file fixes ops to 3 machines .* or --drop-devices", capsys.readouterr().err)
    assert main([*command, "--cluster", "2xV100+cpu", "--drop-devices"]) == 0
    assert {each for [each] in devices(out.read_bytes())} <= {GPU, "/device:GPU:1", CPU}
    assert main([*command, "--cluster", str(cluster)]) == 0
    names = [device["name"] for device in MACHINES["devices"]]
    assert [each for [each] in devices(out.read_bytes())[:3]] == names
    assert main([*command, "--cluster", str(cluster), "--short-devices"]) == 2
    assert capsys.readouterr().err.splitlines()[-1] == (
        "--short-devices: without job and task the devices of the cluster's machines would be the same; "
        "allowed: a cluster of one machine"
    )
