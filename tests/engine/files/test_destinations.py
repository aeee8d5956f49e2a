"""What could not be written is refused, and nothing is made."""

from pathlib import Path

import pytest

from engine.cli.main import main
from engine.errors import SettingsError
from engine.files.destinations import require_folder, require_writable


def test_what_can_be_written_is_taken_and_not_made(tmp_path: Path) -> None:
    require_writable("--out", None)
    require_writable("--out", tmp_path / "a.json")
    require_folder(tmp_path)
    require_folder(tmp_path / "new" / "newer")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_may_not_be_written_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.files.destinations.os.access", lambda *_: False)  # for root all may be written
    with pytest.raises(SettingsError) as caught:
        require_writable("--out", tmp_path / "a.json")
    assert str(caught.value) == f"--out: {tmp_path}/a.json cannot be written; allowed: a file in a folder that is there"
    with pytest.raises(SettingsError, match="it cannot be written: Permission denied; allowed: a folder"):
        require_folder(tmp_path / "new")


@pytest.mark.parametrize("option", ["--report", "--trace"])
def test_simulate_looks_before_it_reads(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["simulate", "no.json", "--cluster", "2xK80", "--placement", "no.json", option, "/nowhere/a.json"]
    assert main(command) == 2
    line = f"{option}: /nowhere/a.json cannot be written; allowed: a file in a folder that is there"
    assert capsys.readouterr().err.strip() == line


def test_compare_looks_before_it_reads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["compare", "no.json", "--cluster", "2xK80", "--methods", "heft", "--out", str(tmp_path / "new")]
    assert main([*command, "--report", "/nowhere/a.json"]) == 2
    assert capsys.readouterr().err.startswith("--report: /nowhere/a.json cannot be written")
    assert not (tmp_path / "new").exists()
