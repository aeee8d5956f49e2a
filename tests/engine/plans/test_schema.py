"""The JSON Schema of a plan's report: reports are as it says, and it refuses others."""

import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest

from engine.clusters.parsing import parse_cluster
from engine.plans.plan import PlanRules
from engine.plans.report import plan_report
from engine.plans.request import PlanRequest
from engine.simulator.streams.stream import Pipeline, Recompute
from tests.engine.plans.layered_step import layered_model
from tests.json_schema import faults

FORMATS = Path(__file__).resolve().parents[3] / "docs" / "formats"
SCHEMA: dict[str, Any] = json.loads((FORMATS / "plans.schema.json").read_text())


def of_report(value: Any) -> list[str]:
    return [*faults(value, SCHEMA, SCHEMA)]


def one_report(cluster: str, recompute: Recompute = Recompute.NONE, *, shards_optimizer: bool = False) -> Any:
    """As a file has it."""
    rules = PlanRules(Pipeline.ONE_F_ONE_B, recompute, shards_optimizer)
    request = PlanRequest(parse_cluster(cluster), 8, rules, seconds=5)
    return json.loads(json.dumps(plan_report(layered_model(), request, lambda _: None)))


@pytest.fixture(scope="module")
def report() -> Any:
    """One, made when a test asks for it: while tests are collected, the engine is still being compiled."""
    return one_report("2xV100")


def test_reports_are_as_the_schema_says(report: Any) -> None:
    assert of_report(report) == []
    assert of_report(one_report("V100")) == []
    assert of_report(one_report("3xK80", Recompute.STAGES, shards_optimizer=True)) == []


def test_what_is_only_estimated_has_no_replicas(report: Any) -> None:
    report = copy.deepcopy(report)
    assert report["usual"]["sharded"]["replicas"] == []
    report["usual"]["sharded"] = report["plans"][0]
    assert of_report(report) == ["$.usual.sharded: none of its forms"]


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        (["format"], 2, "$.format: 2"),
        (["seconds"], 0, "$.seconds: 0 is too small"),
        (["devices"], [], "$.devices: 0 items"),
        (["groups", 0], 5, "$.groups[0]: a int"),
        (["rules", "pipeline"], "ring", "$.rules.pipeline: 'ring'"),
        (["plans", 0, "is_extrapolated"], 1, "$.plans[0].is_extrapolated: a int"),
        (["plans", 0, "replicas", 0, "micro_batch"], 0, "$.plans[0].replicas[0].micro_batch: 0 is too small"),
        (["plans", 0, "more"], 0, "$.plans[0]: more is not known"),
        (["usual", "equal_layers"], {}, "$.usual.equal_layers: none of its forms"),
    ],
)
def test_another_report_is_refused(path: list[Any], value: Any, expected: str, report: Any) -> None:
    report = copy.deepcopy(report)
    inner = report
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    assert of_report(report) == [expected]


@pytest.mark.parametrize("key", [*SCHEMA["required"]])
def test_every_field_is_needed(key: str, report: Any) -> None:
    assert of_report({name: value for name, value in report.items() if name != key}) == [f"$: no {key}"]


def test_every_field_of_the_schema_is_described() -> None:
    page = (FORMATS / "plans.md").read_text()
    rows = re.findall(r"^\| (.+)$", page, flags=re.MULTILINE)
    described = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    parts = [SCHEMA, SCHEMA["properties"]["usual"], *SCHEMA["$defs"].values()]
    assert {name for part in parts for name in part.get("properties", {})} - described == set()
