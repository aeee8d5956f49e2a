"""What could not be written is refused, and nothing is made."""

from pathlib import Path

import pytest

from engine.cli.main import main
from engine.errors import SettingsError
from engine.files.destinations import require_apart, require_folder, require_room, require_writable


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


def test_a_file_that_is_replaced_needs_a_folder_that_may_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = tmp_path / "placed.pb"
    there.write_bytes(b"")
    monkeypatch.setattr("engine.files.destinations.os.access", lambda path, _mode: path == there)
    require_writable("--report", there)
    with pytest.raises(SettingsError, match="cannot be written"):
        require_writable("--out", there, replaced=True)


def test_a_disk_without_room_is_refused(tmp_path: Path) -> None:
    require_room("--out", tmp_path / "placed.pb", 0)
    with pytest.raises(SettingsError) as caught:
        require_room("--out", tmp_path / "placed.pb", 2**80)
    assert str(caught.value).startswith(f"--out: the disk of {tmp_path}/placed.pb has ")


def test_no_file_is_written_over_another(tmp_path: Path) -> None:
    one, other = tmp_path / "one.json", tmp_path / "other.json"
    require_apart({"--out": one, "--report": None}, {"the graph": other, "--start": None})
    with pytest.raises(SettingsError) as caught:
        require_apart({"--report": tmp_path / "x" / ".." / "other.json"}, {"the graph": other})
    assert str(caught.value).endswith("other.json is the file of the graph; allowed: a file of its own")
    with pytest.raises(SettingsError, match=r"--report: .*one.json is the file of --out"):
        require_apart({"--out": one, "--report": one}, {})


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["--out", "graph.json"], "--out: graph.json is the file of the graph"),
        (["--report", "graph.json"], "--report: graph.json is the file of the graph"),
        (["--out", "a.json", "--report", "a.json"], "--report: a.json is the file of --out"),
    ],
)
def test_place_writes_over_nothing_that_it_needs(
    options: list[str], line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["place", "graph.json", "--cluster", "2xK80", *options]) == 2
    assert capsys.readouterr().err == f"{line}; allowed: a file of its own\n"


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
