"""The commands around a policy's file: `train`, also after an interruption, and `place --policy`."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from engine import api
from engine.cli.main import main
from engine.policies.training_problem import TrainingProgress
from tests.engine.cli.small_files import GRAPH
from tests.engine.policies.small_policies import card_with_a_misfit, small_policy

TRAIN = ["--cluster", "2xK80", "--cluster", "4xV100", "--set", "torch_device=cpu"]


@pytest.fixture
def graphs(tmp_path: Path) -> list[str]:
    """Two files of node-link graphs."""
    paths = [tmp_path / "five.json", tmp_path / "unseen.json"]
    for path, bytes_ in zip(paths, (50, 60), strict=True):
        write_graph(path, bytes_)
    return [str(path) for path in paths]


def write_graph(path: Path, persistent_bytes: int) -> None:
    """A graph of the file's name, each of its ops with so many bytes of its own."""
    described: dict[str, Any] = json.loads(json.dumps(GRAPH | {"graph": {"name": path.stem}}))
    for node in described["nodes"]:
        node["persistent_bytes"] = persistent_bytes
    path.write_text(json.dumps(described))


class Trainer:
    """Stands for the engine's training: tells, keeps, is interrupted when asked, and gives a small policy."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.requests: list[api.TrainRequest] = []
        self.checkpoints: list[bytes | None] = []
        self.interrupted = False
        monkeypatch.setattr(api, "train", self.train)

    def train(self, request: api.TrainRequest, tell: Any, _should_stop: Any, checkpoint: Any, keep: Any) -> bytes:
        self.requests.append(request)
        self.checkpoints.append(checkpoint)
        tell(TrainingProgress("imitation", 0.5, 12.0, 0.25))
        keep(b"half way")
        if self.interrupted:
            raise KeyboardInterrupt
        return small_policy().to_bytes()


@pytest.fixture
def trainer(monkeypatch: pytest.MonkeyPatch) -> Trainer:
    return Trainer(monkeypatch)


def test_a_policy_is_trained_and_places_what_it_has_not_seen(
    graphs: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out, report = tmp_path / "two.safetensors", tmp_path / "report.json"
    few = ["--set", "imitation_steps=2", "--set", "reinforcement_batches=2", "--set", "search_evaluations=100"]
    assert main(["train", graphs[0], *TRAIN, *few, "--held-out", graphs[1], "--out", str(out)]) == 0
    card = api.read_policy(out.read_bytes(), out.name).card
    assert (card.name, card.graphs, card.clusters) == ("two", ("five",), ("2xK80", "4xV100"))
    assert [row.graph for row in card.held_out] == ["unseen", "unseen"]
    place = ["place", graphs[1], "--cluster", "K80+2xV100", "--policy", str(out), "--report", str(report)]
    read: list[str] = []
    from_bytes = api.TrainedPolicy.from_bytes

    def counted(blob: bytes, where: str) -> api.TrainedPolicy:
        read.append(where)
        return from_bytes(blob, where)

    monkeypatch.setattr(api.TrainedPolicy, "from_bytes", staticmethod(counted))
    assert main(place) == 0
    assert read == ["two.safetensors"], "its file is read once"
    assert (
        "Trained on five on 2xK80, 4xV100. A graph of this name was held out of its training. It was not trained on "
        "this cluster: on devices of these kinds, but not in this number or mix.\n"
    ) in capsys.readouterr().err
    reported = json.loads(report.read_text())
    assert (reported["method"], reported["policy"], reported["evaluations"]) == ("placeto", "two", 4)


def test_it_says_what_it_does_and_leaves_one_file(
    graphs: list[str], tmp_path: Path, trainer: Trainer, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "policy.safetensors"
    assert main(["train", *graphs, *TRAIN, "--seconds", "9", "--seed", "4", "--name", "two", "--out", str(out)]) == 0
    said = capsys.readouterr()
    assert "imitation 50%, 12 s, gap +25.0%" in said.err.splitlines()
    assert said.out == (
        f"{out}: 2 graphs on 2xK80, 4xV100+CPU, 1000 evaluations; held out: the greedy pass is +17.5% from the search "
        "on average, +25.0% at worst; the best of its passes +12.0%\n"
    )
    request = trainer.requests[0]
    assert (request.name, request.seed, request.settings["seconds"]) == ("two", 4, 9.0)
    assert [graph.graph.name for graph in request.graphs] == ["five", "unseen"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["five.json", "policy.safetensors", "unseen.json"]


@pytest.mark.parametrize(("first", "said"), [(0, "1 of 3; the greedy pass is +17.5% from"), (2, "1 of 1\n")])
def test_it_says_on_how_many_graphs_the_pass_does_not_fit(
    first: int,
    said: str,
    graphs: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    card = dataclasses.replace(card_with_a_misfit(), held_out=card_with_a_misfit().held_out[first:])
    monkeypatch.setattr(api, "train", lambda *_: dataclasses.replace(small_policy(), card=card).to_bytes())
    assert main(["train", *graphs, *TRAIN, "--out", str(tmp_path / "policy.safetensors")]) == 0
    assert f"held out: the greedy pass does not fit on {said}" in capsys.readouterr().out


def test_after_an_interruption_the_same_command_goes_on(
    graphs: list[str], tmp_path: Path, trainer: Trainer, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "policy.safetensors"
    command = ["train", graphs[0], *TRAIN, "--out", str(out)]
    trainer.interrupted = True
    assert main(command) == 130
    assert capsys.readouterr().err.splitlines()[-1] == f"stopped; the same command goes on from {out}.state"
    assert not out.exists()
    trainer.interrupted = False
    assert main(command) == 0
    assert f"goes on from {out}.state" in capsys.readouterr().err.splitlines()
    assert trainer.checkpoints == [None, b"half way"]
    assert out.exists() and not Path(f"{out}.state").exists()


def test_what_is_named_twice_is_trained_and_held_out_once(graphs: list[str], tmp_path: Path, trainer: Trainer) -> None:
    twice = ["--cluster", "2xK80", "--held-out", graphs[1], graphs[1]]
    assert main(["train", graphs[0], *TRAIN, *twice, "--out", str(tmp_path / "policy.safetensors")]) == 0
    assert (len(trainer.requests[0].clusters), len(trainer.requests[0].held_out)) == (2, 1)


def test_a_policy_that_cannot_be_read_again_leaves_what_was_kept(
    graphs: list[str], tmp_path: Path, trainer: Trainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "policy.safetensors"
    trainer.interrupted = True
    main(["train", graphs[0], *TRAIN, "--out", str(out)])
    monkeypatch.setattr(api, "train", lambda *_: b"damaged")
    assert main(["train", graphs[0], *TRAIN, "--out", str(out)]) == 2
    assert not out.exists() and Path(f"{out}.state").read_bytes()


def test_the_state_of_another_training_is_refused(
    graphs: list[str], tmp_path: Path, trainer: Trainer, capsys: pytest.CaptureFixture[str]
) -> None:
    out, state = tmp_path / "policy.safetensors", tmp_path / "policy.safetensors.state"
    command = ["train", graphs[0], *TRAIN, "--out", str(out)]
    trainer.interrupted = True
    assert main(command) == 130
    kept = state.read_bytes()
    allowed = "allowed: the command that wrote it, another --out, or no such file"
    assert main([*command, "--seed", "1"]) == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert said == f"{state.name}: it is the state of another training, or of another version; {allowed}"
    assert state.read_bytes() == kept
    garbled = kept[:60] + b"\xff" * 40 + kept[100:]
    for content in (b"", b"PK\x03\x04", kept[:-9], b"odd", garbled):
        state.write_bytes(content)
        assert main(command) == 2
        assert capsys.readouterr().err.splitlines()[-1] == f"{state.name}: this is not a state of a training; {allowed}"


def test_a_family_brings_its_own_split(tmp_path: Path, trainer: Trainer, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, Path, int, str]] = []

    def prepared_family(name: str, cache: Path, _report_progress: Any, count: int, only: str) -> api.PreparedFamily:
        asked.append((name, cache, count, only))
        graph, other = (api.PreparedGraph.from_bytes(_prepared(tmp_path, size)) for size in (50, 60))
        return api.PreparedFamily(name, (graph, graph), (other,))

    monkeypatch.setattr(api, "prepared_family", prepared_family)
    out = tmp_path / "policy.safetensors"
    assert main(["train", "ptb", "nmt", "ptb", *TRAIN, "--cache", str(tmp_path), "--out", str(out)]) == 0
    assert asked == [(name, tmp_path, 32, split) for name in ("ptb", "nmt") for split in ("train", "test")]
    counts = ["--count", "96", "--test-count", "32"]
    assert main(["train", "ptb", *TRAIN, *counts, "--cache", str(tmp_path), "--out", str(out)]) == 0
    assert asked[-2:] == [("ptb", tmp_path, 96, "train"), ("ptb", tmp_path, 32, "test")]
    request = trainer.requests[0]
    assert (len(request.graphs), len(request.held_out), request.families) == (4, 2, ("ptb", "nmt"))


@pytest.mark.parametrize("count", ["0", "33"])
def test_no_more_are_tested_than_there_are(tmp_path: Path, capsys: pytest.CaptureFixture[str], count: str) -> None:
    out = ["--out", str(tmp_path / "policy.safetensors")]
    assert main(["train", "ptb", *TRAIN, "--test-count", count, *out]) == 2
    line = f"--test-count: {count}; allowed: 1 to 32, the --count of a family's graphs\n"
    assert capsys.readouterr().err == line


def test_all_files_are_read_as_the_options_say_those_held_out_too(
    graphs: list[str],
    tmp_path: Path,
    trainer: Trainer,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    read: list[tuple[str, int | None, api.ReadingOptions]] = []
    prepared = [api.PreparedGraph.from_bytes(_prepared(tmp_path, bytes_)) for bytes_ in (50, 60)]
    noted = [dataclasses.replace(each, origin=dataclasses.replace(each.origin, notes=("so",))) for each in prepared]

    def prepare(path: Path, _suffix: str, _progress: Any, _limits: Any, groups: int | None, **more: Any) -> Any:
        read.append((path.name, groups, more["options"]))
        return noted[len(read) - 1]

    monkeypatch.setattr(api, "prepare", prepare)
    options = ["--batch-size", "8", "--signature", "train", "--input-shape", "x=8,3", "--groups", "all"]
    out = ["--out", str(tmp_path / "policy.safetensors")]
    assert main(["train", "a.zip", "--held-out", "b.pb", *TRAIN, *options, *out]) == 0
    wanted = api.ReadingOptions("train", 8, {"x": (8, 3)})
    assert read == [("a.zip", None, wanted), ("b.pb", None, wanted)]
    assert {"a.zip: so", "b.pb: so"} <= set(capsys.readouterr().err.splitlines())


def test_how_files_are_read_is_asked_of_files_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["train", "ptb", *TRAIN, "--out", str(tmp_path / "policy.safetensors"), "--batch-size", "8"]
    assert main(command) == 2
    line = "--signature, --batch-size, --input-shape: a family's graphs leave nothing open"
    assert capsys.readouterr().err == f"{line}; allowed: them beside a graph's file\n"


def _prepared(folder: Path, persistent_bytes: int) -> bytes:
    path = folder / "one.json"
    write_graph(path, persistent_bytes)
    return api.prepare(path, ".json", lambda *_: None, api.Limits()).to_bytes()


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--out", "policy.bin"], "--out: 'policy.bin'; allowed: a name that ends in .safetensors"),
        (
            ["--out", "/nowhere/policy.safetensors"],
            "--out: /nowhere/policy.safetensors cannot be written; allowed: a file in a folder that is there",
        ),
        (
            ["imagenet"],
            "imagenet: this is not a family; allowed: nmt, ptb, cifar10, nmt_by_length, nmt_by_form, or a graph's file",
        ),
        (["--cluster", "0xK80"], "K80: 0 devices; allowed: 1 to 256 devices"),
        (["--seed", "-1"], f"seed: -1; allowed: an integer from 0 to {2**63 - 1}"),
        (["--seconds", "0"], "seconds: 0.0; allowed: a number from 0.001 to 1e+07"),
        (["--name", "\n"], "name: '\ufffd'; allowed: 1 to 200 printable characters"),
        (
            ["--batch-size", "8"],
            "five.json: node-link JSON is one step with its costs, so it takes no batch size; allowed: no such options",
        ),
        (["--batch-size", "0"], "batch size: 0; allowed: an integer from 1 to 2147483647"),
        (["--set", "torch_threads=0"], "torch_threads: 0; allowed: an integer from 1 to 256"),
    ],
)
def test_a_mistake_is_one_line_before_any_work(
    graphs: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], line: str
) -> None:
    command = ["train", graphs[0], "--cluster", "2xK80", "--out", str(tmp_path / "policy.safetensors"), *arguments]
    if not arguments[0].startswith("-"):
        command = ["train", *arguments, *command[2:-1]]
    assert main(command) == 2
    assert capsys.readouterr().err == line + "\n"


def test_a_graph_that_is_trained_on_is_not_held_out_whatever_its_name(
    graphs: list[str], tmp_path: Path, trainer: Trainer, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "copy.json"
    write_graph(copy, 50)
    command = ["train", graphs[0], *TRAIN, "--out", str(tmp_path / "policy.safetensors"), "--held-out", graphs[1]]
    assert main([*command, graphs[0]]) == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert said == "five: trained on and held out; allowed: one of the two"
    assert main([*command, "--groups", "3", "--held-out", str(copy)]) == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert said == "copy: trained on, named 'five', and held out; allowed: one of the two"
    assert trainer.requests == []


def test_a_graph_that_a_cluster_cannot_take_is_named(
    graphs: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pinned = json.loads(Path(graphs[1]).read_text())
    pinned["nodes"][0]["device"] = "/device:GPU:3"
    Path(graphs[1]).write_text(json.dumps(pinned))
    command = ["train", *graphs, "--cluster", "4xK80", "--cluster", "2xK80", "--out", str(tmp_path / "p.safetensors")]
    assert main(command) == 2
    assert capsys.readouterr().err.splitlines()[-1].startswith("unseen on 2xK80: op_0: ")


def test_a_file_that_is_no_policy_is_one_line(
    graphs: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["place", graphs[0], "--cluster", "2xK80", "--policy"]
    assert main([*command, graphs[1]]) == 2
    line = "unseen.json: this is not a file of Placeto; allowed: a file written by Placeto\n"
    assert capsys.readouterr().err == line
    assert main([*command, str(tmp_path)]) == 2
    assert capsys.readouterr().err.endswith(": this is a folder; allowed: a file .safetensors\n")
    assert main([*command, str(tmp_path / "nowhere.safetensors")]) == 2
    assert capsys.readouterr().err.endswith("nowhere.safetensors: No such file or directory\n")


def test_a_method_that_takes_no_policy_refuses_one(
    graphs: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "small.safetensors"
    path.write_bytes(small_policy().to_bytes())
    arguments = ["--cluster", "2xK80", "--policy", str(path)]
    line = "policy: heft takes no policy; allowed: none, or one of the methods auto, placeto\n"
    assert main(["place", graphs[0], *arguments, "--method", "heft"]) == 2
    assert capsys.readouterr().err == line
    assert main(["compare", graphs[0], *arguments, "--methods", "heft"]) == 2
    assert capsys.readouterr().err.startswith("policy: no method takes it; ")
