"""A placer is one file and one row: the example is listed with its settings and keeps the contract."""

import json
from pathlib import Path

import pytest

from tests.contributing.patched import ROOT, Copy, changed_files, patched

RECIPE = "placer"


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    return patched(RECIPE, tmp_path_factory.mktemp("placer"))


def test_the_diff_is_one_new_file_and_one_row() -> None:
    (file, placer), (registry, row) = changed_files(RECIPE).items()
    assert placer.is_new and not (ROOT / file).exists()
    assert Path(file).parent == Path("engine/placers")
    assert registry == "engine/placers/registry.py"
    assert (row.is_new, row.removed) == (False, ())
    assert "".join(row.added).count("Method(") == 1


def test_it_is_listed_with_its_settings(copy: Copy) -> None:
    assert "slices                 Slices\n" in copy.output("-m", "engine", "methods")
    schema = json.loads(copy.output("-m", "engine", "settings", "slices", "--json-schema"))
    assert schema["title"] == "slices"
    assert schema["properties"]["batch"]["maximum"] == 4096


def test_it_keeps_the_contract(copy: Copy) -> None:
    contract = "tests/engine/placers/test_contract.py"
    assert " passed" in copy.output("-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider", contract, "-k", "slices")
