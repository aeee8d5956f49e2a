"""The cache: what is whole and the wanted graph is taken, all else is built again, and a line says so."""

import dataclasses
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.child.parent import Results
from engine.errors import GraphError, SettingsError
from engine.prepared import PreparedGraph
from engine.zoo.families import cache as caching
from engine.zoo.families import children as parents_side
from engine.zoo.families.cache import HEAD, cache_path, framed, identity, read_cached
from engine.zoo.families.catalogue import FAMILIES
from engine.zoo.families.family import PreparedFamily, prepared_family
from engine.zoo.families.members import members
from tests.engine.placers.small_problems import one_group_an_op, small_graph

WANTED = identity(FAMILIES["ptb"], members("ptb")[0], 0)
OTHER = identity(FAMILIES["ptb"], members("ptb")[1], 0)


def a_graph(name: str = "ptb-00") -> PreparedGraph:
    graph, costs = small_graph(np.random.default_rng(0), 5)
    return PreparedGraph(dataclasses.replace(graph, name=name), costs, one_group_an_op(graph, costs))


class Children:
    """Stands in for the children: writes a small graph for each member that is asked for."""

    def __init__(self) -> None:
        self.made: list[str] = []

    def run(self, _function: str, order: dict[str, Any], _limits: object, **_rest: object) -> Results:
        for member in order["members"]:
            self.made.append(member["name"])
            blob = framed(a_graph(member["name"]).to_bytes(), member["identity"])
            Path(member["destination"]).write_bytes(blob)
        return {}, {}


@pytest.fixture
def children(monkeypatch: pytest.MonkeyPatch) -> Children:
    made = Children()
    monkeypatch.setattr(parents_side, "run_in_child", made.run)
    return made


class Reported:
    """What was told, without the counts."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def __call__(self, stage: str, _done: int, total: int) -> None:
        if not total:
            self.lines.append(stage)


def prepared(cache: Path, reported: Reported | None = None, **rest: Any) -> PreparedFamily:
    return prepared_family("ptb", cache, reported or Reported(), count=4, **rest)


def test_what_was_written_is_read(tmp_path: Path) -> None:
    path = cache_path(tmp_path, WANTED)
    path.write_bytes(framed(a_graph().to_bytes(), WANTED))
    found = read_cached(path, WANTED)
    assert found is not None
    assert found.to_bytes() == a_graph().to_bytes()


def test_reading_renews_the_time_of_the_file(tmp_path: Path) -> None:
    path = cache_path(tmp_path, WANTED)
    path.write_bytes(framed(a_graph().to_bytes(), WANTED))
    os.utime(path, (1000.0, 1000.0))
    read_cached(path, WANTED)
    assert path.stat().st_mtime > 1000.0


def test_what_is_not_there_is_none(tmp_path: Path) -> None:
    assert read_cached(cache_path(tmp_path, WANTED), WANTED) is None


def flipped(blob: bytes) -> bytes:
    """With one bit changed near the end."""
    return blob[:-9] + bytes([blob[-9] ^ 1]) + blob[-8:]


@pytest.mark.parametrize(
    ("spoil", "what"),
    [
        (flipped, "it is damaged"),
        (lambda blob: blob[:-1], "it is damaged"),
        (lambda blob: blob + b"\n", "it is damaged"),
        (lambda _: HEAD, "it is damaged"),
        (lambda _: b"", "this is not a file of the cache"),
        (lambda _: b"PK\x03\x04 something else", "this is not a file of the cache"),
        (
            lambda _: framed(a_graph().to_bytes(), OTHER),
            "it holds another graph, or one of another version",
        ),
    ],
)
def test_a_file_of_no_use_is_refused_and_built_again(
    spoil: Callable[[bytes], bytes], what: str, children: Children, tmp_path: Path
) -> None:
    prepared(tmp_path)
    path = cache_path(tmp_path, WANTED)
    path.write_bytes(spoil(path.read_bytes()))
    with pytest.raises(GraphError) as caught:
        read_cached(path, WANTED)
    assert str(caught.value) == f"{path.name}: {what}; allowed: a file that the engine has written"
    children.made.clear()
    reported = Reported()
    family = prepared(tmp_path, reported)
    assert children.made == ["ptb-00"]
    assert reported.lines == [f"{path.name}: {what}; it is built again"]
    assert family.train[0].graph.name == "ptb-00"
    assert read_cached(path, WANTED) is not None


def test_what_is_there_is_not_built(children: Children, tmp_path: Path) -> None:
    first = prepared(tmp_path)
    assert sorted(children.made) == ["ptb-00", "ptb-01", "ptb-02", "ptb-03"]
    again = prepared(tmp_path)
    assert len(children.made) == 4
    for one, other in zip((*first.train, *first.test), (*again.train, *again.test), strict=True):
        assert one.to_bytes() == other.to_bytes()
    assert [graph.graph.name for graph in again.train] == ["ptb-00", "ptb-01", "ptb-03"]
    assert [graph.graph.name for graph in again.test] == ["ptb-02"]


def test_one_split_alone_is_built(children: Children, tmp_path: Path) -> None:
    family = prepared(tmp_path, only="test")
    assert children.made == ["ptb-02"]
    assert (len(family.train), len(family.test)) == (0, 1)


def test_another_seed_setting_recipe_or_version_is_another_file(
    children: Children, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared(tmp_path)
    prepared(tmp_path, seed=1)
    assert len(children.made) == 8
    monkeypatch.setattr(caching, "VERSION", "9.9.9")
    prepared(tmp_path)
    assert len(children.made) == 12
    monkeypatch.setattr(caching, "RECIPE", caching.RECIPE + 1)
    prepared(tmp_path)
    assert len(children.made) == 16
    monkeypatch.setitem(FAMILIES, "ptb", dataclasses.replace(FAMILIES["ptb"], groups=64))
    prepared(tmp_path)
    assert len(children.made) == 20
    assert len(list(tmp_path.iterdir())) == 20


def test_a_cache_that_cannot_be_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingsError) as caught:
        prepared(tmp_path / "file")
    assert str(caught.value) == f"{tmp_path / 'file'}: the folder cannot be made: File exists; allowed: a folder"


def test_every_member_is_reported_in_the_callers_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(function: str, order: dict[str, Any], limits: object, **rest: Any) -> Results:
        for index in range(len(order["members"])):
            rest["report_progress"]("name", index + 1, 2)
        return Children().run(function, order, limits)

    monkeypatch.setattr(parents_side, "run_in_child", run)
    reported: list[tuple[str, int, int]] = []
    threads = set()

    def hear(*line: Any) -> None:
        reported.append(line)
        threads.add(threading.current_thread())

    prepared_family("ptb", tmp_path, hear, count=4)
    assert reported == [("preparing ptb", done, 4) for done in range(5)]
    assert threads == {threading.main_thread()}


def test_who_wants_no_more_ends_the_children(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An exception from the caller's progress reaches the caller; each child is ended at its next report."""

    def run(_function: str, _order: object, _limits: object, **rest: Any) -> Results:
        while True:
            rest["report_progress"]("name", 1, 2)

    def hear(_stage: str, done: int, _total: int) -> None:
        if done == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(parents_side, "run_in_child", run)
    with pytest.raises(KeyboardInterrupt):
        prepared_family("ptb", tmp_path, hear, count=4)


def test_a_child_that_fails_ends_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first child's error is raised; the second is ended at its next report."""

    def run(_function: str, order: dict[str, Any], _limits: object, **rest: Any) -> Results:
        if order["members"][0]["name"] == "ptb-00":
            raise GraphError("it failed")
        while True:
            rest["report_progress"]("ptb-01", 1, 2)

    monkeypatch.setattr(parents_side, "run_in_child", run)
    with pytest.raises(GraphError, match="it failed"):
        prepared(tmp_path)
