"""The record of measurements in cluster JSON: read whole, or refused in a line that says where it is wrong."""

import json

import pytest

from engine.clusters.cluster_json import cluster_to_json
from engine.clusters.naming import name_of_cluster
from engine.clusters.parsing import parse_cluster
from engine.errors import ClusterError
from engine.events import Json

FIGURE: dict[str, Json] = {"value": 2.0, "low": 1.5, "high": 2.0, "how": "µs"}
RECORD: dict[str, Json] = {"machine": "2 × a processor", "date": "2026-01-31", "figures": {"latency_us": FIGURE}}
NUMBER = "a number from -1e+18 to 1e+18"


def cluster_with(record: Json) -> str:
    return json.dumps({"devices": [{"name": "/device:CPU:0", "kind": "CPU"}], "calibration": record})


def test_a_record_is_kept() -> None:
    cluster = parse_cluster(cluster_with(RECORD))
    assert cluster_to_json(cluster)["calibration"] == RECORD
    assert cluster.calibration is not None and cluster.calibration.figures["latency_us"].low == 1.5
    assert "calibration" not in cluster_to_json(parse_cluster("2xK80"))
    assert name_of_cluster(cluster) == "CPU (measured 2026-01-31)"


A, MACHINE = "calibration.figures.a", "calibration.machine"


@pytest.mark.parametrize(
    ("record", "line"),
    [
        (3, "calibration: 3; allowed: an object with machine, date, figures"),
        (RECORD | {"date": "today"}, "calibration.date: today; allowed: a date as 2026-01-31"),
        (RECORD | {"machine": None}, "calibration.machine: nothing; allowed: a text"),
        (
            RECORD | {"machine": "a\nb"},
            f"{MACHINE}: a\N{REPLACEMENT CHARACTER}b; allowed: at most 300 printable",
        ),
        (RECORD | {"figures": [1]}, "calibration.figures: a list; allowed: an object with at most 400 figures"),
        (RECORD | {"figures": {"a": FIGURE | {"low": 3}}}, f"{A}: 3, 2, 2; allowed: low ≤ value ≤ high"),
        (RECORD | {"figures": {"a": FIGURE | {"low": None}}}, f"{A}.low: nothing; allowed: {NUMBER}"),
        (RECORD | {"figures": {"a": FIGURE | {"unit": "s"}}}, f"{A}: the key unit is not known"),
    ],
)
def test_what_is_no_record_is_refused(record: Json, line: str) -> None:
    with pytest.raises(ClusterError) as raised:
        parse_cluster(cluster_with(record))
    assert str(raised.value).startswith(line)
