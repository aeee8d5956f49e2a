"""A placer is one file and one row: what CONTRIBUTING.md adds fits today's tree, is listed, keeps the contract."""

import json
import subprocess
import sys

from tests.engine.placers import contributed

LISTING = """
from engine.cli.main import main
from tests.engine.placers.contributed import add
name = add()
raise SystemExit(main(["methods"]) or main(["settings", name, "--json-schema"]))
"""


def test_the_diff_is_one_new_file_and_one_line_and_fits() -> None:
    (file, source), (registry, row) = contributed.added().items()
    assert not (contributed.ROOT / file).exists()
    assert source.count("\n") > 20
    assert (registry, row.count("\n")) == ("engine/placers/registry.py", 1)
    command = ["git", "apply", "--check", "-"]
    applied = subprocess.run(command, input=contributed.diff(), cwd=contributed.ROOT, text=True, capture_output=True)
    assert (applied.returncode, applied.stderr) == (0, "")


def test_it_is_listed_with_its_settings() -> None:
    command = [sys.executable, "-c", LISTING]
    shown = subprocess.run(command, cwd=contributed.ROOT, text=True, capture_output=True, check=True).stdout
    assert "slices          Slices\n" in shown
    schema = json.loads(shown[shown.index("{") :])
    assert schema["title"] == "slices"
    assert schema["properties"]["batch"]["maximum"] == 4096


def test_it_keeps_the_contract() -> None:
    contract = "tests/engine/placers/test_contract.py"
    command = [sys.executable, "-m", "pytest", "-q", "-n0", "-p", contributed.__name__, "-p", "no:cacheprovider"]
    run = subprocess.run([*command, contract, "-k", "slices"], cwd=contributed.ROOT, text=True, capture_output=True)
    assert run.returncode == 0, run.stdout
    assert " passed" in run.stdout
