"""`python -m placeto record`: from a function, and from a configuration of Hugging Face; mistakes in one line."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from placeto.command_line import main

SIZES = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4}
LLAMA = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], **SIZES, "vocab_size": 500, "dtype": "bfloat16"}
MODULE = """
import torch

def inference(batch=3):
    return torch.nn.Linear(4, 5), torch.zeros(batch, 4)

def training():
    return torch.nn.Linear(4, 5), torch.zeros(2, 4), lambda out: out.sum(), torch.optim.SGD

def broken():
    raise ValueError("no such\\nfile")

def nothing():
    return None
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a module and a configuration."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "networks_of_a_person.py").write_text(MODULE, encoding="utf-8")
    (tmp_path / "llama").mkdir()
    (tmp_path / "llama" / "config.json").write_text(json.dumps(LLAMA), encoding="utf-8")
    return tmp_path


def read(path: Path) -> dict[str, Any]:
    content = path.read_bytes()
    values: dict[str, Any] = json.loads(gzip.decompress(content) if path.suffix == ".gz" else content)
    return values


def test_a_function_gives_the_model(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["record", "networks_of_a_person:inference", "--batch", "7", "--out", "step.json.gz"]) == 0
    graph = read(folder / "step.json.gz")["graph"]
    assert (graph["name"], graph["batch"], graph["flops"], graph["parameters"]) == ("Linear", 7, 2 * 7 * 4 * 5, 25)
    assert capsys.readouterr().out.endswith("written to step.json.gz\n")


def test_a_function_gives_a_training_step(folder: Path) -> None:
    assert main(["record", "networks_of_a_person:training", "--out", "step.json"]) == 0
    graph = read(folder / "step.json")
    assert graph["graph"]["optimizer"] == "SGD"
    assert {node.get("phase") for node in graph["nodes"]} == {None, "forward", "backward", "optimizer"}


@pytest.mark.parametrize("path", ["llama", "llama/config.json"])
def test_a_configuration_gives_the_model(folder: Path, path: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["record", "--hf", path, "--batch", "2", "--length", "16", "--out", "step.json"]) == 0
    recorded = read(folder / "step.json")
    assert recorded["graph"]["name"] == "llama"
    assert capfd.readouterr().err == ""
    products = [node for node in recorded["nodes"] if node["type"] == "mm"]
    assert {node["dtype"] for node in products} == {"bfloat16"}
    layers = 2 * 2 * 16 * 2 * (4 * 64 * 64 + 3 * 64 * 128)
    assert sum(node["flops"] for node in products) == layers + 2 * 2 * 16 * 64 * 500


def test_a_configuration_is_trained(folder: Path) -> None:
    arguments = ["--hf", "llama", "--length", "16", "--train", "--dtype", "float32", "--out", "step.json"]
    assert main(["record", *arguments]) == 0
    recorded = read(folder / "step.json")
    assert recorded["graph"]["optimizer"] == "AdamW"
    assert all("dtype" not in node for node in recorded["nodes"] if node["type"] in ("mm", "addcdiv_"))


def test_a_token_is_decoded_after_a_prompt(folder: Path) -> None:
    """The new token meets all keys and values before it, which stay where they are read."""
    assert main(["record", "--hf", "llama", "--length", "99", "--phase", "decode", "--out", "step.json"]) == 0
    nodes = {node["id"]: node for node in read(folder / "step.json")["nodes"]}
    caches = [node for node in nodes.values() if node["type"] == "constant" and node["output_bytes"] == [99 * 64 * 2]]
    assert len(caches) == 4
    assert {node["colocation"] for node in caches} == {"model/layers/0", "model/layers/1"}
    assert all(node["persistent_bytes"] == 99 * 64 * 2 for node in caches)
    attention = [node for name, node in nodes.items() if "_scaled_dot_product" in name]
    assert [node["flops"] for node in attention] == [4 * 100 * 64] * 2


MISTAKES: dict[str, tuple[list[str], str]] = {
    "neither": ([], "record takes either MODULE:FUNCTION or --hf"),
    "both": (["a:b", "--hf", "llama"], "record takes either MODULE:FUNCTION or --hf"),
    "no colon": (["models"], "models: name a function as MODULE:FUNCTION, such as models.gpt:training_step"),
    "no module": (
        ["not_there:f"],
        "not_there cannot be imported: ModuleNotFoundError: No module named 'not_there'",
    ),
    "no function": (["networks_of_a_person:f"], "networks_of_a_person has no function f"),
    "a function that fails": (
        ["networks_of_a_person:broken"],
        "networks_of_a_person:broken: ValueError: no such file",
    ),
    "a function that gives nothing": (
        ["networks_of_a_person:nothing"],
        "networks_of_a_person:nothing returns (model, inputs) or (model, inputs, loss, optimizer)",
    ),
    "no batch": (
        ["networks_of_a_person:training", "--batch", "3"],
        "networks_of_a_person:training has no parameter named batch, so that --batch says nothing",
    ),
    "a batch of nothing": (
        ["networks_of_a_person:inference", "--batch", "0"],
        "argument --batch: '0' is not a whole number from 1",
    ),
    "a length for a function": (
        ["networks_of_a_person:inference", "--length", "3"],
        "--length goes with --hf; a function decides it itself",
    ),
    "no file": (["--hf", "absent.json"], "absent.json: there is no such file"),
    "no JSON": (
        ["--hf", "networks_of_a_person.py"],
        "networks_of_a_person.py: not JSON: Expecting value: line 2 column 1 (char 1)",
    ),
    "a phase of training": (
        ["--hf", "llama", "--train", "--phase", "decode"],
        "--phase is of inference, and --train records a training step: give one of them",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_one_line(folder: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    arguments, sentence = MISTAKES[name]
    assert status(["record", *arguments, "--out", "step.json"]) == 2
    assert capsys.readouterr().err == f"placeto: {sentence}\n"
    assert not (folder / "step.json").exists()


CONFIGURATIONS: dict[str, tuple[Any, str]] = {
    "a list": ([], "a configuration is a JSON object"),
    "no type": ({}, "the model_type None: transformers knows no such"),
    "a type of nobody's": ({"model_type": "x"}, "the model_type 'x': transformers knows no such"),
    "code of its own": (
        {"model_type": "x", "auto_map": {"AutoModel": "mine.Model"}},
        "the model_type 'x': it brings code of its own, which is not run",
    ),
    "an architecture that is no model": (
        {**LLAMA, "architectures": ["pipeline"]},
        "the architecture 'pipeline' is unknown to transformers",
    ),
}


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_a_bad_configuration_is_one_line(folder: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    values, sentence = CONFIGURATIONS[name]
    (folder / "bad.json").write_text(json.dumps(values), encoding="utf-8")
    assert main(["record", "--hf", "bad.json", "--out", "step.json"]) == 2
    error = capsys.readouterr().err
    assert sentence in error and error.count("\n") == 1


def test_another_ending_is_refused_before_anything_runs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["record", "networks_of_a_person:broken", "--out", "step.pt"]) == 2
    assert capsys.readouterr().err == "placeto: --out step.pt: the name of a recording ends in .json or .json.gz\n"


def test_a_folder_that_is_not_there_is_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["record", "networks_of_a_person:inference", "--out", "absent/step.json"]) == 2
    assert capsys.readouterr().err == "placeto: absent/step.json: No such file or directory\n"


def status(arguments: list[str]) -> int | str | None:
    """Also where the parser ends the process."""
    try:
        return main(arguments)
    except SystemExit as end:
        return end.code
