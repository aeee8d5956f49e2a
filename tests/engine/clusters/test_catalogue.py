"""The catalogue's figures agree with each other and with what Grappler's estimator makes of them."""

import itertools

import pytest

from engine.clusters.device_kinds import CATALOGUE, KINDS, canonical_kind, class_of_kind, default_memory_bytes
from engine.errors import ClusterError


def grappler_gflops(device_class: str, architecture: str, cores: int, frequency_mhz: int) -> float:
    """GetDeviceInfo of tensorflow/core/grappler/costs/op_level_cost_estimator.cc, in our words."""
    if device_class == "CPU":
        return cores * frequency_mhz / 1000
    per_multiprocessor = next(
        cores for bound, cores in (("3", 32), ("4", 192), ("6", 128), ("~", 64)) if architecture < bound
    )
    return cores * frequency_mhz / 1000 * per_multiprocessor * 2


@pytest.mark.parametrize("name", CATALOGUE)
def test_grappler_sees_the_peak_of_the_data_sheet(name: str) -> None:
    kind = CATALOGUE[name]
    assert kind.name == name
    seen = grappler_gflops(kind.device_class, kind.architecture, kind.grappler_cores, kind.frequency_mhz)
    assert seen == pytest.approx(kind.peak_gflops)
    assert kind.grappler_bandwidth_kb_per_second / 1e6 == pytest.approx(kind.memory_bandwidth_bytes_per_us / 1e3)


def test_every_generation_is_faster_than_the_one_before() -> None:
    gpus = [CATALOGUE[name] for name in ("K80", "P100", "V100", "A100", "H100")]
    for slower, faster in itertools.pairwise(gpus):
        assert slower.peak_gflops < faster.peak_gflops
        assert slower.memory_bandwidth_bytes_per_us < faster.memory_bandwidth_bytes_per_us
        assert slower.memory_bytes <= faster.memory_bytes


def test_every_row_names_its_source() -> None:
    assert all(len(kind.source) > 20 for kind in CATALOGUE.values())


def test_classes_of_kinds() -> None:
    assert [class_of_kind(kind) for kind in ("K80", "P100", "V100", "A100", "H100", "GPU")] == ["GPU"] * 6
    assert class_of_kind("CPU") == "CPU"
    assert class_of_kind("k80") == "GPU"
    assert [canonical_kind(kind.lower()) for kind in KINDS] == list(KINDS)
    assert default_memory_bytes("K80") == 12 * 1024**3
    assert default_memory_bytes("GPU") == 16 * 1024**3


@pytest.mark.parametrize("kind", ["T4", "", "K80 ", "ﬁ", "__proto__", "<img>"])
def test_an_unknown_kind_is_refused_with_the_list_of_the_known(kind: str) -> None:
    with pytest.raises(ClusterError) as caught:
        class_of_kind(kind)
    assert str(caught.value).endswith("this device kind is not known; allowed: K80, P100, V100, A100, H100, CPU, GPU")
    assert caught.value.field == "cluster"
