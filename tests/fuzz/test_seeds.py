"""The application takes every seed as it is: what the fuzzer changes begins as a file that is read whole."""

from pathlib import Path

from engine.api import FORMATS
from engine.child.parent import run_in_child
from tests.fuzz.inputs import GRAPH
from tests.fuzz.mutating import MUTATORS
from tests.fuzz.seeds import BUILDING, seeds_by_hand


def test_every_seed_is_read(tmp_path: Path) -> None:
    _, read = run_in_child("tests.fuzz.seed_graphs:read_in_child", {"folder": str(tmp_path)}, BUILDING, is_warm=True)
    assert len(read) > len(seeds_by_hand())
    assert {name: why for name, why in read.items() if why} == {}


def test_every_format_has_a_seed_and_mutators() -> None:
    seeds = seeds_by_hand()
    assert {seed.suffix for seed in seeds if seed.kind == GRAPH} == set(FORMATS)
    assert {seed.suffix for seed in seeds} == set(MUTATORS)
