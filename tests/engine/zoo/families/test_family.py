"""Families as TensorFlow builds them, small: the same bytes every time, ready to be placed as any file would be."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.child.parent import Limits, no_progress
from engine.cli.main import main
from engine.costs.costs import CostSource
from engine.formats.reading import prepare
from engine.zoo.families import children as parents_side
from engine.zoo.families.catalogue import FAMILIES
from engine.zoo.families.family import build_family, prepared_family
from engine.zoo.families.members import members
from tests.engine.zoo.families.small_families import GROUPS, make_small


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    make_small(monkeypatch)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Three graphs of cifar10, as the command line builds them."""
    with pytest.MonkeyPatch.context() as patch:
        make_small(patch)
        patch.setattr(parents_side, "CHILDREN", 1)
        path = tmp_path_factory.mktemp("families") / "new" / "cifar10"
        assert main(["build", "cifar10", "--count", "3", "--seed", "7", "--out", str(path)]) == 0
        yield path


def test_a_folder_has_the_graphs_and_says_what_they_are(folder: Path) -> None:
    assert sorted(path.name for path in folder.iterdir()) == [
        "cifar10-00.pb",
        "cifar10-01.pb",
        "cifar10-02.pb",
        "family.json",
    ]
    said = json.loads((folder / "family.json").read_text())
    assert (said["family"], said["seed"], said["groups"]) == ("cifar10", 7, GROUPS)
    assert [graph["split"] for graph in said["graphs"]] == ["train", "train", "test"]
    drawn = members("cifar10", 7, 3)
    assert [graph["settings"] for graph in said["graphs"]] == [dict(member.settings) for member in drawn]
    assert all(graph["ops"] > 500 for graph in said["graphs"])
    assert len({(folder / graph["file"]).read_bytes() for graph in said["graphs"]}) == 3


def test_the_same_seed_gives_the_same_bytes_whatever_the_count(folder: Path, tmp_path: Path) -> None:
    reported: list[tuple[str, int, int]] = []
    assert build_family("cifar10", tmp_path, lambda *line: reported.append(line), seed=7, count=1) == 1
    assert (tmp_path / "cifar10-00.pb").read_bytes() == (folder / "cifar10-00.pb").read_bytes()
    assert reported == [("building cifar10", 0, 1), ("building cifar10", 1, 1)]


def test_a_prepared_graph_is_what_its_file_would_be(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parents_side, "CHILDREN", 1)
    family = prepared_family("cifar10", tmp_path, no_progress, seed=7, count=2)
    assert (len(family.train), len(family.test)) == (2, 0)
    of_file = prepare(folder / "cifar10-01.pb", ".pb", no_progress, Limits(), GROUPS)
    assert family.train[1].to_bytes() == of_file.to_bytes()
    for prepared in family.train:
        assert prepared.grouping.group_count == GROUPS
        assert set(prepared.costs.source.tolist()) == {CostSource.ESTIMATED}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["nmt", "--out", "{folder}", "--set", "batch=3"],
            "--set: the graphs of a family have settings of their own; "
            "allowed: it for one graph: --out that ends in .pb",
        ),
        (
            ["nmt", "--out", "{folder}", "--inference"],
            "--inference: the graphs of a family have settings of their own; "
            "allowed: it for one graph: --out that ends in .pb",
        ),
        (
            ["nmt", "--out", "{folder}.pb", "--count", "3"],
            f"--count: one graph has none; allowed: it for a family ({', '.join(FAMILIES)}), with a folder as --out",
        ),
        (
            ["tiny_cnn", "--out", "{folder}", "--seed", "0"],
            f"--seed: one graph has none; allowed: it for a family ({', '.join(FAMILIES)}), with a folder as --out",
        ),
        (
            ["ptb", "--out", "graph.pbtxt"],
            "--out: 'graph.pbtxt'; allowed: a name that ends in .pb for the one graph, a folder's for the family",
        ),
        (["ptb", "--out", "{folder}", "--count", "0"], "count: 0 graphs; allowed: an integer from 1 to 1000"),
        (
            ["ptb", "--out", "{folder}", "--seed", "-1"],
            "seed: -1; allowed: an integer from 0 to 9223372036854775807",
        ),
        (["ptb", "--out", "{file}"], "{file}: the folder cannot be made: File exists; allowed: a folder"),
    ],
)
def test_what_cannot_be_built_is_one_line(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    names = {"folder": str(tmp_path / "folder"), "file": str(tmp_path / "file")}
    assert main(["build", *(argument.format(**names) for argument in arguments)]) == 2
    assert capsys.readouterr().err == message.format(**names) + "\n"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
