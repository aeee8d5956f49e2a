"""A shorthand says kinds, counts, memory and links; every cluster has a text that gives it back."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.clusters.cluster_json import cluster_to_json
from engine.clusters.device_kinds import KINDS, class_of_kind
from engine.clusters.link_choices import LINK_CHOICES
from engine.clusters.parsing import cluster_text, parse_cluster
from engine.clusters.shorthand import Shorthand, parse_shorthand, shorthand_of
from engine.errors import ClusterError

GIB = 1024**3


def bandwidth(text: str, source: int, target: int) -> float:
    return float(parse_cluster(text).bandwidth_bytes_per_us[source, target])


def test_a_memory_is_that_of_its_devices_alone() -> None:
    devices = parse_cluster("2xA100:80GiB + k80:1.5 + CPU").devices
    assert [device.memory_bytes for device in devices] == [80 * GIB, 80 * GIB, 3 * GIB // 2, 488 * GIB]


@pytest.mark.parametrize("gib", ["0", "0.0", "1e9", "..", "9" * 19, "1.2.3", "0.0000000000001"])
def test_a_memory_out_of_range_is_refused(gib: str) -> None:
    with pytest.raises(ClusterError) as caught:
        parse_cluster(f"2xA100:{gib}")
    assert caught.value.field == "cluster"


def test_the_links_of_one_machine() -> None:
    assert bandwidth("2xH100+CPU", 0, 1) == bandwidth("2xH100+CPU@nvlink", 0, 1) == 375_750
    assert bandwidth("2xH100+CPU@pcie", 0, 1) == bandwidth("2xH100+CPU@PCIe", 0, 2) == 53_563
    assert bandwidth("9xA100", 0, 8) == 25_000, "a ninth stands in another machine by itself"
    assert bandwidth("9xA100@nvlink", 0, 8) == 250_500, "all in one"
    assert bandwidth("A100+H100@nvlink", 0, 1) == pytest.approx(18_747.4), (
        "different kinds meet through the host, on the slower board"
    )


def test_two_machines_have_all_devices_each_and_a_network_between_them() -> None:
    cluster = parse_cluster("2xH100+CPU@infiniband")
    names = [f"/job:worker/task:{task}/device:{name}" for task in (0, 1) for name in ("GPU:0", "GPU:1", "CPU:0")]
    assert [device.name for device in cluster.devices] == names
    assert cluster.bandwidth_bytes_per_us[0].tolist()[1:] == [375_750, 53_563, 50_000, 50_000, 50_000]
    assert bandwidth("2xH100+CPU@ethernet", 0, 3) == pytest.approx(12_500 / 3), "three devices share the adapter"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("2xT4@nvlink", "@nvlink: T4 has no NVLink; allowed: PCIe 3.0 x16, without @nvlink"),
        ("CPU@pcie", "@pcie: there is no GPU; allowed: a GPU, or the usual links"),
        ("2xT4@rope", "@rope: these links are not known; allowed: @pcie, @nvlink, @ethernet, @infiniband"),
        ("2xT4@", "@: these links are not known; allowed: @pcie, @nvlink, @ethernet, @infiniband"),
        ("129xT4@ethernet", "cluster: 258 devices; allowed: 1 to 256 devices"),
    ],
)
def test_links_that_do_not_exist_are_refused(text: str, sentence: str) -> None:
    with pytest.raises(ClusterError) as caught:
        parse_cluster(text)
    assert str(caught.value) == sentence


@st.composite
def shorthands(draw: st.DrawFn) -> str:
    terms = []
    for _ in range(draw(st.integers(1, 4))):
        kind, count = draw(st.sampled_from(KINDS)), draw(st.integers(1, 5))
        memory = draw(st.sampled_from(["", ":40GiB", ":0.5", ":12"]))
        terms.append(f"{count}x{kind}{memory}")
    return "+".join(terms) + draw(st.sampled_from(["", *(f"@{name}" for name in LINK_CHOICES)]))


@given(shorthands())
def test_a_cluster_has_a_text_that_gives_it_back(text: str) -> None:
    try:
        cluster = parse_cluster(text)
    except ClusterError:
        return  # links that the kinds do not have
    back = cluster_text(cluster)
    assert not back.startswith("{"), "a shorthand is told by a shorthand"
    assert cluster_to_json(parse_cluster(back)) == cluster_to_json(cluster)
    assert parse_shorthand(back).text == back


def test_a_cluster_that_no_shorthand_describes_is_json() -> None:
    description = cluster_to_json(parse_cluster("2xK80"))
    description["op_rest_us"] = 7.0
    cluster = parse_cluster(json.dumps(description))
    assert shorthand_of(cluster) is None
    assert cluster_to_json(parse_cluster(cluster_text(cluster))) == cluster_to_json(cluster)


def test_the_usual_links_come_before_those_that_are_the_same_by_name() -> None:
    assert cluster_text(parse_cluster("2xH100@nvlink")) == "2xH100"
    assert cluster_text(parse_cluster("2xT4@pcie")) == "2xT4"
    assert cluster_text(parse_cluster("K80+K80+CPU")) == "2xK80+CPU"


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_either_each_choice_or_a_sentence(kind: str) -> None:
    for name in LINK_CHOICES:
        try:
            cluster = Shorthand(parse_shorthand(f"2x{kind}").terms, name).cluster
        except ClusterError as error:
            assert error.allowed
        else:
            apart = ~np.eye(cluster.device_count, dtype=bool)
            assert (cluster.bandwidth_bytes_per_us[apart] > 0).all() and class_of_kind(kind)
