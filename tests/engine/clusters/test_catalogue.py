"""The catalogue's figures agree with each other and with what Grappler's estimator makes of them."""

import itertools

import pytest

from engine.clusters.device_kinds import (
    CATALOGUE,
    COSTED_KINDS,
    KINDS,
    FloatType,
    canonical_kind,
    class_of_kind,
    default_memory_bytes,
)
from engine.errors import ClusterError


def test_the_peak_and_the_memory_of_every_kind_are_positive_and_its_types_are_ordered() -> None:
    for kind in CATALOGUE.values():
        assert min(kind.memory_bytes, kind.peak_gflops, kind.memory_bandwidth_bytes_per_us) > 0
        assert kind.peak_of(FloatType.FLOAT64) <= kind.peak_of(FloatType.FLOAT32) <= kind.peak_of(FloatType.FLOAT16)


def test_every_generation_is_faster_than_the_one_before() -> None:
    gpus = [CATALOGUE[name] for name in ("K80", "P100", "V100", "A100", "H100")]
    for slower, faster in itertools.pairwise(gpus):
        assert slower.peak_gflops < faster.peak_gflops
        assert slower.memory_bandwidth_bytes_per_us < faster.memory_bandwidth_bytes_per_us
        assert slower.memory_bytes <= faster.memory_bytes


def test_every_row_names_its_source() -> None:
    for kind in CATALOGUE.values():
        host = kind.host
        links = [host.peer, host.board, *([host.network] if host.network else [])]
        sources = [kind.source, host.source, *(link.source for link in links)]
        assert min(map(len, sources)) > 10, kind.name


def test_the_costed_kinds_are_those_by_which_graphs_were_always_grouped() -> None:
    assert COSTED_KINDS == ("K80", "P100", "V100", "A100", "H100", "CPU")


def test_classes_of_kinds() -> None:
    assert [class_of_kind(kind) for kind in ("K80", "P100", "V100", "A100", "H100", "GPU")] == ["GPU"] * 6
    assert class_of_kind("CPU") == "CPU"
    assert class_of_kind("k80") == "GPU"
    assert [canonical_kind(kind.lower()) for kind in KINDS] == list(KINDS)
    assert default_memory_bytes("K80") == 12 * 1024**3
    assert default_memory_bytes("GPU") == 16 * 1024**3


@pytest.mark.parametrize("kind", ["T3", "", "K80 ", "ﬁ", "__proto__", "<img>"])
def test_an_unknown_kind_is_refused_with_the_list_of_the_known(kind: str) -> None:
    with pytest.raises(ClusterError) as caught:
        class_of_kind(kind)
    assert str(caught.value).endswith(f"this device kind is not known; allowed: {', '.join(KINDS)}")
    assert caught.value.field == "cluster"
