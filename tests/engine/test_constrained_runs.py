"""Runs with constraints: answers keep them, whoever sets them; what cannot be kept is refused in one sentence."""

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine import api
from engine.cli.main import main
from engine.clusters.parsing import parse_cluster
from engine.errors import GraphError, InfeasibleError, PlacementError, SettingsError
from engine.events import Baseline, NumberedEvent
from engine.graphs.grouping.nesting import SplitPlacement
from engine.placers.registry import PLACERS
from engine.prepared import PreparedGraph

pytestmark = pytest.mark.slow  # graphs are read in a child
EXPERTS = 4
CLUSTER = "3xV100+cpu"
Make = Callable[..., PreparedGraph]


def experts(rules: list[str], **of_nodes: dict[str, Any]) -> dict[str, Any]:
    """A stem, experts side by side of two ops each, and a head, as node-link JSON."""
    names = ["stem", *(f"expert_{number}/{op}" for number in range(EXPERTS) for op in ("up", "down")), "head"]
    nodes = [
        {"id": name, "time_us": {"GPU": 100.0, "CPU": 3000.0}, "output_bytes": [1000], **of_nodes.get(name, {})}
        for name in names
    ]
    edges = []
    for number in range(EXPERTS):
        way = ["stem", f"expert_{number}/up", f"expert_{number}/down", "head"]
        edges += [{"source": one, "target": other} for one, other in pairwise(way)]
    return {"graph": {"name": "experts", "constraints": rules}, "nodes": nodes, "edges": edges}


@pytest.fixture
def prepared(tmp_path: Path) -> Make:
    def make(*rules: str, groups: Any = "auto", **of_nodes: dict[str, Any]) -> PreparedGraph:
        path = tmp_path / "experts.json"
        path.write_text(json.dumps(experts(list(rules), **of_nodes)))
        return api.prepare(path, ".json", lambda *_: None, api.Limits(), groups)

    return make


def run(graph: PreparedGraph, rules: str = "", method: str = "auto", **asked: Any) -> tuple[dict[str, str], list[Any]]:
    """The answer by names, and the events."""
    cluster = parse_cluster(CLUSTER)
    heard: list[Any] = []
    evaluations = 400_000 if method == "exhaustive" else 300
    budget, constraints = api.Budget(evaluations), api.Constraints.of_text(rules)
    request = api.RunRequest(cluster, method, budget, 0, constraints=constraints, **asked)
    assert api.RunRequest.from_json(json.loads(json.dumps(request.to_json()))).constraints == constraints
    report = api.place(graph, request, heard.append, lambda: False)
    split = api.placement_of_report(report)
    assert len(split.device_of_group) == graph.grouping.group_count
    return api.placement_to_json(graph, cluster, split), [e.event for e in heard if isinstance(e, NumberedEvent)]


def placed(graph: PreparedGraph, rules: str = "", method: str = "auto", **asked: Any) -> dict[str, str]:
    return run(graph, rules, method, **asked)[0]


RULES = "together expert_0/* expert_1/*\napart expert_0/up expert_2/up expert_3/up\noff stem head GPU:0"
ONLY_FIXED_GROUPS = "together expert_0/up expert_0/down\noff stem GPU:0"


def keeps(placement: dict[str, str]) -> bool:
    """Whether a placement keeps `RULES`."""
    together = {placement[f"expert_{number}/{op}"] for number in (0, 1) for op in ("up", "down")}
    apart = [placement[f"expert_{number}/up"] for number in (0, 2, 3)]
    return len(together) == 1 and len(set(apart)) == 3 and "/device:GPU:0" not in (placement["stem"], placement["head"])


@pytest.mark.parametrize("method", [name for name, row in PLACERS.items() if row.keeps_apart])
def test_methods_keep_what_a_request_says(prepared: Make, method: str) -> None:
    """Also those that place the groups that people see, which are single ops here."""
    assert keeps(placed(prepared(groups=None), RULES, method))


@pytest.mark.parametrize("method", sorted(set(PLACERS) - {"human_expert", "pipeline_dp"}))
def test_every_method_keeps_together_and_off(prepared: Make, method: str) -> None:
    """The human expert finds no layers in these names, and Pipeline DP places streams alone."""
    placement = placed(prepared(groups=None), ONLY_FIXED_GROUPS, method)
    assert placement["expert_0/up"] == placement["expert_0/down"]
    assert placement["stem"] != "/device:GPU:0"


@pytest.mark.parametrize("method", ["auto", "local_search", "heft"])
def test_methods_keep_what_the_file_says(prepared: Make, method: str) -> None:
    assert keeps(placed(prepared(*RULES.splitlines()), "", method))


def test_the_groups_of_a_file_keep_its_rules(prepared: Make) -> None:
    """What is together is in one group; what is apart or off a device is in groups of its own."""
    graph = prepared(*RULES.splitlines(), groups=3)
    group = dict(zip(graph.graph.op_names, graph.grouping.group_of_op.tolist(), strict=True))
    assert group["expert_0/up"] == group["expert_1/down"]
    assert len({group["expert_0/up"], group["expert_2/up"], group["expert_3/up"], group["stem"]}) == 4
    assert "Constraint: apart expert_0/up expert_2/up expert_3/up" in graph.summary()["notes"]  # type: ignore[operator]


def test_a_stored_graph_keeps_its_rules(prepared: Make) -> None:
    graph = prepared(*RULES.splitlines())
    assert PreparedGraph.from_bytes(graph.to_bytes()).graph.constraints == tuple(RULES.splitlines())


def test_baselines_keep_the_rules_too(prepared: Make) -> None:
    """Those that cannot are shown without a time, with the reason."""
    graph = prepared(groups=None)
    baselines = ("single_device", "cpu_only", "random", "human_expert")
    _, events = run(graph, RULES, baselines=baselines)
    found = {event.method: event for event in events if isinstance(event, Baseline)}
    for method in baselines[:3]:
        placement = found[method].placement
        assert placement is not None
        assert keeps(api.placement_to_json(graph, parse_cluster(CLUSTER), SplitPlacement(placement)))
    assert (found["human_expert"].step_time_us, found["human_expert"].note) == (None, "it cannot keep ops apart")


def test_rules_may_split_the_groups_that_people_see(tmp_path: Path) -> None:
    """A method that searches all levels keeps them; the baselines, which move whole groups, say that they cannot."""
    chain = [f"op_{number}" for number in range(400)]
    nodes = [{"id": name, "time_us": 10.0, "output_bytes": [10]} for name in chain]
    edges = [{"source": one, "target": other} for one, other in pairwise(chain)]
    path = tmp_path / "chain.json"
    path.write_text(json.dumps({"nodes": nodes, "edges": edges}))
    graph = api.prepare(path, ".json", lambda *_: None, api.Limits())
    assert graph.grouping.group_count < 200
    group = graph.grouping.group_of_op.tolist()
    one, other = next(pair for pair in pairwise(range(400)) if group[pair[0]] == group[pair[1]])
    placement, events = run(graph, f"apart {chain[one]} {chain[other]}")
    assert placement[chain[one]] != placement[chain[other]]
    notes = {event.note for event in events if isinstance(event, Baseline)}
    same = f"whole groups cannot keep the constraints: {chain[one]} and {chain[other]} are in one group, which moves"
    assert len(notes) == 1
    assert notes.pop().startswith(same)
    placement, _ = run(graph, "together op_3 op_396\noff op_3 GPU")
    assert placement["op_3"] == placement["op_396"] == "/device:CPU:0"


def test_without_rules_nothing_is_in_the_request() -> None:
    asked = api.RunRequest(parse_cluster(CLUSTER), "auto", api.Budget(10), 0).to_json()
    assert "constraints" not in asked


@pytest.mark.parametrize(
    ("rules", "sentence"),
    [
        (
            "together stem tail",
            "the rule `together stem tail`: tail names no op; allowed: an op's name, or a text with *",
        ),
        ("off stem TPU", "the rule `off stem TPU`: TPU is no device of the cluster; allowed: /device:GPU:0, "),
        ("off stem GPU:7", "the rule `off stem GPU:7`: GPU:7 is no device of the cluster; allowed: "),
        (
            "off stem V100\noff stem CPU",
            "stem: the constraints leave no device for its group: `off stem V100`; `off stem CPU`",
        ),
        ("together stem head\noff stem GPU\noff head CPU:0", "stem: the constraints leave no device for its group: "),
        (
            "apart stem head\ntogether s* h*",
            "the rule `apart stem head`: stem and head must share a device; allowed: ops",
        ),
        (
            "apart " + " ".join(f"expert_{number}/{op}" for number in range(3) for op in ("up", "down")),
            "no placement was found that keeps apart what the constraints say; use more devices, or fewer constraints",
        ),
    ],
)
def test_what_cannot_be_kept_is_refused(prepared: Make, rules: str, sentence: str) -> None:
    with pytest.raises(api.PlacetoError) as refused:
        run(prepared(groups=None), rules)
    assert str(refused.value).startswith(sentence)


def test_groups_that_move_whole_cannot_be_split_by_a_rule(prepared: Make) -> None:
    with pytest.raises(SettingsError, match="are in one group, which moves as a whole; allowed: smaller groups: "):
        run(prepared(groups=1), "apart stem head")


def test_a_method_that_cannot_keep_ops_of_the_file_apart_is_refused(prepared: Make) -> None:
    with pytest.raises(SettingsError, match=r"^constraints: post cannot keep ops apart, as `apart stem head` says; "):
        run(prepared("apart stem head"), method="post")


def test_a_comparison_with_such_a_method_is_refused_before_it_begins(prepared: Make, tmp_path: Path) -> None:
    request = api.ComparisonRequest(parse_cluster(CLUSTER), ("auto", "post"), api.Budget(100), 1)
    with pytest.raises(SettingsError, match=r"^constraints: post cannot keep ops apart, as `apart stem head` says; "):
        api.compare(prepared("apart stem head"), request, tmp_path / "work", lambda _: None)
    assert not (tmp_path / "work").exists()


@pytest.mark.parametrize(
    ("rule", "sentence"),
    [
        ("apart stem tail", "graph, the rule `apart stem tail`: tail names no op; allowed: "),
        ("keep stem", "graph, the rule `keep stem`: it has another form; allowed: together OPS"),
        ("apart stem head", "graph, the rule `apart stem head`: stem and head must share a device; allowed: "),
    ],
)
def test_odd_rules_of_a_file_are_refused(prepared: Make, rule: str, sentence: str) -> None:
    with pytest.raises(GraphError) as refused:
        prepared(rule, stem={"colocation": "x"}, head={"colocation": "x"})
    assert str(refused.value).startswith(sentence)
    assert refused.value.field == "file"


def test_a_device_that_a_file_names_may_be_missing(prepared: Make) -> None:
    """The file is for other clusters too."""
    assert placed(prepared("off stem GPU:7"))


def test_a_start_that_breaks_a_rule_is_refused(prepared: Make) -> None:
    graph = prepared(groups=None)
    start = SplitPlacement([0] * graph.grouping.group_count)
    with pytest.raises(PlacementError, match=r"^start: it breaks `apart stem head`: stem and head are on GPU 0; "):
        run(graph, "apart stem head", start=start)
    with pytest.raises(PlacementError, match=r"^start: ops that constraints keep together are on several devices"):
        run(graph, "together *", start=SplitPlacement([0, 1] * (graph.grouping.group_count // 2)))


def test_a_start_and_pins_that_keep_the_rules_are_kept(prepared: Make) -> None:
    graph = prepared(groups=None)
    device_of_op = {"stem": 1, "head": 1} | {f"expert_{n}/{op}": n % 3 for n in range(4) for op in ("up", "down")}
    start = graph.by_groups(np.array([device_of_op[name] for name in graph.graph.op_names], np.int32))
    group = graph.grouping.group_of_op[graph.graph.op_names.index("stem")]
    placement = placed(graph, "together stem head\napart expert_0/* expert_1/*", start=start, pins={int(group): 1})
    assert placement["stem"] == placement["head"] == "/device:GPU:1"


def test_streams_keep_the_rules(prepared: Make) -> None:
    stream = api.Stream(4, api.Pipeline.INFERENCE)
    assert keeps(placed(prepared(groups=None), RULES, stream=stream))


@pytest.mark.parametrize("method", [name for name, row in PLACERS.items() if row.keeps_apart and row.keeps_contiguous])
def test_contiguous_stages_keep_the_rules(prepared: Make, method: str) -> None:
    stream = api.Stream(4, api.Pipeline.INFERENCE, contiguous=True)
    if method == "cpu_only":  # what is apart from a CPU's ops is on another device, and its data come back
        with pytest.raises(InfeasibleError, match=r"^its stages would not be contiguous; choose another method"):
            placed(prepared(groups=None), RULES, method, stream=stream)
    else:
        assert keeps(placed(prepared(groups=None), RULES, method, stream=stream))


def test_place_and_simulate_on_the_command_line(
    prepared: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Place keeps rules; simulate says, in one sentence, which rule a placement breaks."""
    prepared("apart expert_0/* expert_1/*")
    graph, out = tmp_path / "experts.json", tmp_path / "placement.json"
    of_rules = [word for rule in ("together stem head", "off stem GPU:0") for word in ("--constraint", rule)]
    common = [str(graph), "--cluster", CLUSTER]
    assert main(["place", *common, "--evaluations", "100", "--out", str(out), *of_rules]) == 0
    placement = json.loads(out.read_text())
    assert placement["stem"] == placement["head"] != "/device:GPU:0"
    assert placement["expert_0/up"] != placement["expert_1/up"]
    capsys.readouterr()
    assert main(["simulate", *common, "--placement", str(out), *of_rules]) == 0
    captured = capsys.readouterr()
    assert "breaks" not in captured.err + captured.out
    out.write_text(json.dumps(dict.fromkeys(placement, "/device:GPU:0")))
    for rules, sentence in [
        ([], "it breaks `apart expert_0/* expert_1/*`: expert_0/up and expert_1/up are on GPU 0"),
        (of_rules, "it breaks `off stem GPU:0`: stem is on GPU 0"),
    ]:
        assert main(["simulate", *common, "--placement", str(out), *rules]) == 0
        captured = capsys.readouterr()
        assert captured.err.strip().endswith(sentence)
        assert json.loads(captured.out)["breaks"] == sentence
    assert main(["place", *common, "--constraint", "off stem"]) == 2
    assert "the rule `off stem`: it has another form" in capsys.readouterr().err
