"""What users may write for a cluster, and what each mistake is answered with."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.clusters.cluster import Cluster, Contention, Device, MemoryModel
from engine.clusters.cluster_json import cluster_to_json
from engine.clusters.device_kinds import KINDS, class_of_kind
from engine.clusters.parsing import parse_cluster
from engine.errors import ClusterError

SHARED = Path(__file__).parents[4] / "shared" / "graphs"
GIB = 1024**3


def assert_equal(one: Cluster, other: Cluster) -> None:
    """The same but for the diagonals of the links, which mean nothing."""
    assert one.devices == other.devices
    assert (one.contention, one.memory_model) == (other.contention, other.memory_model)
    assert one.link_rest_us == other.link_rest_us
    assert one.op_rests_us.tolist() == other.op_rests_us.tolist()
    between = ~np.eye(one.device_count, dtype=bool)
    assert np.array_equal(one.bandwidth_bytes_per_us[between], other.bandwidth_bytes_per_us[between])
    assert np.array_equal(one.latency_us[between], other.latency_us[between])


def test_a_shorthand_has_the_published_links() -> None:
    cluster = parse_cluster("2xK80")
    assert cluster.devices == (Device("/device:GPU:0", "K80", 12 * GIB), Device("/device:GPU:1", "K80", 12 * GIB))
    assert cluster.contention is Contention.BUS
    assert np.all(cluster.bandwidth_bytes_per_us == 7600)
    assert np.all(cluster.latency_us == 0)
    assert (cluster.link_rest_us, cluster.op_rest_us) == (25, 5.7)
    assert cluster.memory_model is MemoryModel.FULL


@pytest.mark.parametrize(
    ("text", "names_and_kinds"),
    [
        ("4xV100+cpu", ["GPU:0 V100", "GPU:1 V100", "GPU:2 V100", "GPU:3 V100", "CPU:0 CPU"]),
        ("2xK80+1xCPU", ["GPU:0 K80", "GPU:1 K80", "CPU:0 CPU"]),
        ("1XK80+CPU+2xh100+cpu", ["GPU:0 K80", "CPU:0 CPU", "GPU:1 H100", "GPU:2 H100", "CPU:1 CPU"]),
        (" 2 x k80 + CpU\n", ["GPU:0 K80", "GPU:1 K80", "CPU:0 CPU"]),
        ("a100", ["GPU:0 A100"]),
        ("02xgpu", ["GPU:0 GPU", "GPU:1 GPU"]),
    ],
)
def test_shorthands(text: str, names_and_kinds: list[str]) -> None:
    seen = [f"{device.name.removeprefix('/device:')} {device.kind}" for device in parse_cluster(text).devices]
    assert seen == names_and_kinds


def test_json_may_leave_out_all_but_the_devices() -> None:
    text = json.dumps({"devices": [{"name": "/device:GPU:0", "kind": "k80"}, {"name": "/GPU:1", "kind": "K80"}]})
    assert_equal(parse_cluster(text), parse_cluster("2xK80"))


def test_json_sets_everything() -> None:
    cluster = parse_cluster(
        """{"devices": [{"name": "/device:GPU:3", "kind": "GPU", "memory_bytes": 5e9},
                        {"name": "/device:CPU:0", "kind": "CPU", "memory_bytes": 7},
                        {"name": "/device:GPU:0", "kind": "P100"}],
            "links": {"contention": "pair", "bandwidth_bytes_per_us": 100, "latency_us": 3, "rest_us": 0.5,
                      "pairs": [{"source": "/device:GPU:3", "target": "/CPU:0", "bandwidth_bytes_per_us": 10},
                                {"source": "/device:CPU:0", "target": "/device:GPU:3", "latency_us": 0}]},
            "op_rest_us": 0, "memory_model": "outputs"}"""
    )
    assert [device.memory_bytes for device in cluster.devices] == [5 * 10**9, 7, 16 * GIB]
    assert cluster.contention is Contention.PAIR
    assert cluster.memory_model is MemoryModel.OUTPUTS
    assert (cluster.link_rest_us, cluster.op_rest_us) == (0.5, 0)
    assert cluster.bandwidth_bytes_per_us.tolist() == [[100, 10, 100], [100, 100, 100], [100, 100, 100]]
    assert cluster.latency_us.tolist() == [[3, 3, 3], [0, 3, 3], [3, 3, 3]]


@st.composite
def clusters(draw: st.DrawFn) -> Cluster:
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=6))
    devices = tuple(
        Device(f"/device:{class_of_kind(kind)}:{index}", kind, draw(st.integers(1, 10**15)))
        for index, kind in enumerate(kinds)
    )
    count = len(devices)
    links = st.lists(st.sampled_from([1e-6, 0.1, 7600.0, 1e15]), min_size=count * count, max_size=count * count)
    return Cluster(
        devices=devices,
        contention=draw(st.sampled_from(Contention)),
        bandwidth_bytes_per_us=np.array(draw(links)).reshape(count, count),
        latency_us=np.array(draw(links)).reshape(count, count) % 1e12,
        link_rest_us=draw(st.floats(0, 1e12)),
        op_rest_us=draw(st.floats(0, 1e12)),
        memory_model=draw(st.sampled_from(MemoryModel)),
    )


@given(clusters())
def test_json_round_trip(cluster: Cluster) -> None:
    assert_equal(parse_cluster(json.dumps(cluster_to_json(cluster))), cluster)


@given(st.text(max_size=30) | st.text('0123456789xK8CPUcpu+ {}[]":,', max_size=30))
def test_any_text_is_a_cluster_or_a_typed_error(text: str) -> None:
    try:
        cluster = parse_cluster(text)
    except ClusterError as error:
        assert error.field == "cluster"
        assert "\n" not in str(error)
    else:
        assert 1 <= cluster.device_count <= 64


ONE = '{"name": "/device:GPU:0", "kind": "K80"}'
OTHER = '{"name": "/device:GPU:1", "kind": "K80"}'
PAIR = '{"source": "/device:GPU:0", "target": "/device:GPU:1"}'
SHORTHAND = "allowed: a shorthand such as 2xK80 or 4xV100+cpu, or cluster JSON"
GPU_NAME = (
    "allowed: /device:GPU:0, /device:GPU:1, ... for the kind K80, perhaps with a machine before it, such as "
    "/job:worker/task:0"
)
BANDWIDTH = "allowed: a number from 1e-06 to 1e+15"
TIME = "allowed: a number from 0 to 1e+12"
MEMORY = "allowed: a number from 1 to 1e+15"
NO_KIND = f"this device kind is not known; allowed: {', '.join(KINDS)}"


def device(fields: str) -> str:
    return '{"devices": [{"name": "/device:GPU:0", "kind": "K80", ' + fields + "}]}"


def links(fields: str) -> str:
    return '{"devices": [' + ONE + ", " + OTHER + '], "links": {' + fields + "}}"


FIELDS = "devices, kinds, links, op_rest_us, memory_model, calibration"
MISTAKES = {
    "": f"cluster: no devices; {SHORTHAND}",
    "  \n": f"cluster: no devices; {SHORTHAND}",
    "T3": f"T3: {NO_KIND}",
    "2xT3": f"T3: {NO_KIND}",
    "0xK80": "K80: 0 devices; allowed: 1 to 256 devices",
    "257xK80": "K80: 257 devices; allowed: 1 to 256 devices",
    "256xK80+cpu": "cluster: 257 devices; allowed: 1 to 256 devices",
    "9" * 5000 + "xK80": "K80: 9999999999999999999… devices; allowed: 1 to 256 devices",
    "-2xK80": f"-2xK80: this is not a number of devices; {SHORTHAND}",
    "2.5xK80": f"2.5xK80: this is not a number of devices; {SHORTHAND}",
    "NaNxK80": f"NaNxK80: {NO_KIND}",
    "2xK80+": f"+: this is not a number of devices; {SHORTHAND}",
    "٢xK80": f"٢xK80: this is not a number of devices; {SHORTHAND}",
    "<img src=x>": f"<img src=x>: this is not a number of devices; {SHORTHAND}",
    "K80\u202e": f"K80�: this is not a number of devices; {SHORTHAND}",
    "x" * 2_000_000: "cluster: 2000000 characters; allowed: at most 1000000",
    "{": "line 1, column 2: this is not JSON; allowed: one JSON value",
    '{"devices": [],}': "line 1, column 16: this is not JSON; allowed: one JSON value",
    '{"devices": []} x': "line 1, column 17: this is not JSON; allowed: one JSON value",
    "[" * 100_000: "the JSON is nested 100000 levels deep; allowed: 32 levels",
    '{"a":' * 40 + "1" + "}" * 40: "the JSON is nested 40 levels deep; allowed: 32 levels",
    "[" + "[]," * 200_000 + "[]]": "the JSON holds about 400003 values; allowed: 100000 values",
    "[]": f"cluster: an empty list; allowed: an object with {FIELDS}",
    '"2xK80"': f"cluster: '2xK80'; allowed: an object with {FIELDS}",
    "{}": "devices: nothing; allowed: a list of 1 to 256 devices",
    '{"devices": []}': "devices: 0 devices; allowed: a list of 1 to 256 devices",
    '{"devices": {}}': "devices: an empty object; allowed: a list of 1 to 256 devices",
    '{"devices": [' + ",".join([ONE] * 257) + "]}": "devices: 257 devices; allowed: a list of 1 to 256 devices",
    '{"devices": [1]}': "devices[0]: 1; allowed: an object with name, kind, memory_bytes, reserved_bytes, "
    "price_per_hour",
    '{"devices": [' + ONE + ", " + ONE + "]}": "/device:GPU:0, /device:GPU:0: two devices have one name; "
    "allowed: unique names",
    '{"devices": [{"name": "/device:GPU:0"}]}': "devices[0].kind: nothing; allowed: a text",
    '{"devices": [{"kind": "K80"}]}': "devices[0].name: nothing; allowed: a text",
    '{"devices": [{"name": "/device:GPU:0", "kind": "T3"}]}': f"T3: {NO_KIND}",
    '{"devices": [{"name": "/device:GPU:0", "kind": 80}]}': "devices[0].kind: 80; allowed: a text",
    '{"devices": [{"name": "foo", "kind": "K80"}]}': f"devices[0].name: foo; {GPU_NAME}",
    '{"devices": [{"name": "/device:GPU:abc", "kind": "K80"}]}': f"devices[0].name: /device:GPU:abc; {GPU_NAME}",
    '{"devices": [{"name": "/device:CPU:0", "kind": "K80"}]}': f"devices[0].name: /device:CPU:0; {GPU_NAME}",
    '{"devices": [{"name": "/job:w/device:GPU:0", "kind": "K80"}]}': "devices[0].name: "
    f"/job:w/device:GPU:0; {GPU_NAME}",
    '{"devices": [{"name": "/task:3/device:GPU:0", "kind": "K80"}]}': "devices[0].name: "
    f"/task:3/device:GPU:0; {GPU_NAME}",
    '{"devices": [' + ONE + ', {"name": "/job:w/task:3/device:GPU:0", "kind": "K80"}]}': "/device:GPU:0: it names no "
    "job and task, and others do; allowed: all devices or none",
    device('"memory_bytes": 0'): f"devices[0].memory_bytes: 0; {MEMORY}",
    device('"memory_bytes": -1'): f"devices[0].memory_bytes: -1; {MEMORY}",
    device('"memory_bytes": NaN'): f"devices[0].memory_bytes: nan; {MEMORY}",
    device('"memory_bytes": Infinity'): f"devices[0].memory_bytes: inf; {MEMORY}",
    device('"memory_bytes": 1e999'): f"devices[0].memory_bytes: inf; {MEMORY}",
    device('"memory_bytes": 1' + "0" * 400): f"devices[0].memory_bytes: a number of more than 30 digits; {MEMORY}",
    device('"memory_bytes": 1' + "0" * 5000): "a number is too long; allowed: numbers of at most 4300 digits",
    device('"memory_bytes": 1.5'): "devices[0].memory_bytes: 1.5; allowed: an integer from 1 to 1000000000000000",
    device('"memory_bytes": true'): f"devices[0].memory_bytes: true; {MEMORY}",
    device('"memory_bytes": null'): f"devices[0].memory_bytes: nothing; {MEMORY}",
    device('"memory_bytes": "12"'): f"devices[0].memory_bytes: '12'; {MEMORY}",
    device(
        '"memory": 12'
    ): "devices[0]: the key memory is not known; allowed: name, kind, memory_bytes, reserved_bytes, price_per_hour",
    device('"kind": "CPU"'): "kind: this key is there twice in one object; allowed: each key once",
    links('"contention": "ring"'): "links.contention: 'ring'; allowed: bus, pair, none, sender, host",
    links('"contention": ["bus"]'): "links.contention: a list; allowed: bus, pair, none, sender, host",
    links('"bandwidth_bytes_per_us": 0'): f"links.bandwidth_bytes_per_us: 0; {BANDWIDTH}",
    links('"bandwidth_bytes_per_us": -7600'): f"links.bandwidth_bytes_per_us: -7600; {BANDWIDTH}",
    links('"bandwidth_bytes_per_us": NaN'): f"links.bandwidth_bytes_per_us: nan; {BANDWIDTH}",
    links('"bandwidth_bytes_per_us": -Infinity'): f"links.bandwidth_bytes_per_us: -inf; {BANDWIDTH}",
    links('"bandwidth_bytes_per_us": 1e-300'): f"links.bandwidth_bytes_per_us: 1e-300; {BANDWIDTH}",
    links('"latency_us": -1'): f"links.latency_us: -1; {TIME}",
    links('"rest_us": NaN'): f"links.rest_us: nan; {TIME}",
    links('"rest_us": {}'): f"links.rest_us: an empty object; {TIME}",
    links('"speed": 1'): "links: the key speed is not known; "
    "allowed: contention, bandwidth_bytes_per_us, latency_us, rest_us, pairs",
    links('"pairs": {}'): "links.pairs: an empty object; allowed: a list of pairs",
    links('"pairs": [[]]'): "links.pairs[0]: an empty list; "
    "allowed: an object with source, target, bandwidth_bytes_per_us, latency_us",
    links(f'"pairs": [{PAIR}, {PAIR}]'): "links.pairs[1]: this pair is there twice; "
    "allowed: each ordered pair of two devices once",
    links('"pairs": [{"source": "/GPU:0", "target": "/device:GPU:0"}]'): "links.pairs[0]: a device has no link to "
    "itself; allowed: each ordered pair of two devices once",
    links(
        '"pairs": [{"source": "/GPU:0", "target": "/GPU:7"}]'
    ): "links.pairs[0].target: /GPU:7 is not a device of the cluster; allowed: /device:GPU:0, /device:GPU:1",
    links('"pairs": [{"source": "/GPU:0"}]'): "links.pairs[0].target: nothing; allowed: a text",
    links('"pairs": [' + PAIR[:-1] + ', "latency_us": Infinity}]'): f"links.pairs[0].latency_us: inf; {TIME}",
    links('"pairs": [' + PAIR[:-1] + ', "bandwidth_bytes_per_us": 0}]'): "links.pairs[0].bandwidth_bytes_per_us: 0; "
    f"{BANDWIDTH}",
    '{"devices": [' + ONE + '], "op_rest_us": -5.7}': f"cluster.op_rest_us: -5.7; {TIME}",
    '{"devices": [' + ONE + '], "memory_model": "none"}': "cluster.memory_model: 'none'; "
    "allowed: full, outputs, persistent",
    '{"devices": [' + ONE + '], "links": []}': "links: an empty list; "
    "allowed: an object with contention, bandwidth_bytes_per_us, latency_us, rest_us, pairs",
}


@pytest.mark.parametrize("text", MISTAKES, ids=lambda text: text[:50])
def test_mistakes(text: str) -> None:
    with pytest.raises(ClusterError) as caught:
        parse_cluster(text)
    assert str(caught.value) == MISTAKES[text]
    assert caught.value.field == "cluster"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"devices": ()}, "devices: 0 devices; allowed: 1 to 256 devices"),
        ({"bandwidth_bytes_per_us": np.array([[1, 0.0], [1, 1]])},
         "bandwidth_bytes_per_us: 0.0; allowed: numbers from 1e-06 to 1e+15"),
        ({"latency_us": np.array([[0, 0.0], [np.nan, 0]])}, "latency_us: nan; allowed: numbers from 0 to 1e+12"),
        ({"link_rest_us": float("inf")}, "rest_us: inf; allowed: a number from 0 to 1e+12"),
        ({"op_rest_us": -1.0}, "op_rest_us: -1.0; allowed: a number from 0 to 1e+12"),
    ],
)  # fmt: skip
def test_a_cluster_that_exists_is_valid(changes: dict[str, object], message: str) -> None:
    valid = parse_cluster("2xK80")
    fields = {name: getattr(valid, name) for name in Cluster.__dataclass_fields__}
    with pytest.raises(ClusterError) as caught:
        Cluster(**fields | changes)
    assert str(caught.value) == message


def test_a_device_that_exists_is_valid() -> None:
    with pytest.raises(ClusterError, match=r"^kind: T3 is not known; allowed: K80, "):
        Device("/device:GPU:0", "T3", 1)
    with pytest.raises(ClusterError, match=r"^memory_bytes of /device:GPU:0: 0; allowed: an integer from 1 to "):
        Device("/device:GPU:0", "K80", 0)


def test_the_links_may_be_infinite_on_the_diagonal() -> None:
    valid = parse_cluster("2xK80")
    fields = {name: getattr(valid, name) for name in Cluster.__dataclass_fields__}
    cluster = Cluster(**fields | {"bandwidth_bytes_per_us": np.array([[np.inf, 5.0], [5.0, 0.0]])})
    assert_equal(parse_cluster(json.dumps(cluster_to_json(cluster))), cluster)


@pytest.mark.shared
@pytest.mark.skipif(not SHARED.is_dir(), reason=f"the benchmark graphs are not at {SHARED}")
def test_the_benchmarks_clusters() -> None:
    files = sorted(SHARED.glob("*.cluster.json"))
    assert len(files) == 3
    for file in files:
        cluster = parse_cluster(file.read_text())
        assert [device.name for device in cluster.devices] == [f"/device:GPU:{index}" for index in range(4)]
        assert cluster.contention is Contention.NONE
        assert json.loads(file.read_text())["links"]["bandwidth_bytes_per_us"] == cluster.bandwidth_bytes_per_us[0, 1]


def test_whole_numbers_in_the_links_are_numbers_like_others() -> None:
    links = {"bandwidth_bytes_per_us": 12000, "latency_us": 0, "pairs": []}
    devices = [{"name": f"/device:GPU:{index}", "kind": "K80"} for index in range(2)]
    cluster = parse_cluster(json.dumps({"devices": devices, "links": links}))
    assert cluster.bandwidth_bytes_per_us.dtype == cluster.latency_us.dtype == np.float64


MACHINES = """{"devices": [
  {"name": "/job:ps/task:0/CPU:0", "kind": "CPU"},
  {"name": "/job:worker/replica:0/task:0/device:GPU:0", "kind": "V100"},
  {"name": "/job:worker/replica:0/task:0/device:GPU:1", "kind": "V100"},
  {"name": "/job:worker/replica:0/task:1/device:GPU:0", "kind": "V100"}]}"""


def test_devices_may_name_their_machines_between_which_the_network_is() -> None:
    cluster = parse_cluster(MACHINES)
    assert [device.machine for device in cluster.devices] == [
        "/job:ps/task:0",
        *["/job:worker/replica:0/task:0"] * 2,
        "/job:worker/replica:0/task:1",
    ]
    together = parse_cluster("2xV100").bandwidth_bytes_per_us[0, 1]
    assert cluster.bandwidth_bytes_per_us[1, 2] == together
    across = {float(cluster.bandwidth_bytes_per_us[pair]) for pair in ((0, 1), (1, 3), (2, 3), (3, 0))}
    assert max(across) < together / 2
    again = parse_cluster(json.dumps(cluster_to_json(cluster)))
    assert cluster_to_json(again) == cluster_to_json(cluster)
    assert [device.name for device in again.devices] == [device.name for device in cluster.devices]
