"""What a killed process left in the data folder goes, and nothing else."""

import os
from pathlib import Path

from webapp.graphs import orphan_files as orphan_graphs
from webapp.graphs.models import Graph
from webapp.graphs.orphan_files import SECONDS_BETWEEN_LOOKS, OrphanFiles
from webapp.measuring import orphan_files as orphan_measurements
from webapp.measuring.models import Profile


class Clock:
    """A steady clock that the test sets."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def file(path: Path) -> Path:
    """An empty file."""
    path.parent.mkdir(exist_ok=True)
    path.touch()
    return path


def test_files_that_no_row_knows_for_an_hour_are_removed(data_folder: Path, graph: Graph) -> None:
    clock = Clock()
    chore = OrphanFiles(orphan_graphs.unknown_files, clock)
    gone = [file(data_folder / "incoming" / "a"), file(data_folder / "graphs" / "x.pb")]
    kept = [file(graph.source_path), file(data_folder / "placeto.sqlite3")]
    assert chore() is False

    clock.seconds = SECONDS_BETWEEN_LOOKS - 1
    chore()
    assert all(path.exists() for path in gone)
    kept += [file(data_folder / "incoming" / "b"), file(data_folder / "graphs" / "y.pb")]

    clock.seconds = SECONDS_BETWEEN_LOOKS
    chore()
    assert not any(path.exists() for path in gone)
    assert all(path.exists() for path in kept)


def test_a_clock_that_is_set_forwards_removes_no_upload_in_progress(data_folder: Path, graph: Graph) -> None:
    upload = file(data_folder / "incoming" / "a")
    os.utime(upload, (0, 0))
    chore = OrphanFiles(orphan_graphs.unknown_files, Clock())
    chore()
    chore()
    assert upload.exists()


def test_a_file_that_gets_its_row_between_two_looks_stays(data_folder: Path, graph: Graph) -> None:
    clock, source = Clock(), file(graph.source_path)
    early = [source]
    chore = OrphanFiles(lambda: [*early, *orphan_graphs.unknown_files()], clock)
    chore()
    early.clear()
    clock.seconds = SECONDS_BETWEEN_LOOKS
    chore()
    assert source.exists()


def test_times_that_no_row_knows_for_an_hour_are_removed(data_folder: Path, graph: Graph) -> None:
    clock, profile = Clock(), Profile.objects.create(graph=graph)
    chore = OrphanFiles(orphan_measurements.unknown_profiles, clock)
    gone, kept = file(data_folder / "profiles" / "x.pb"), file(profile.times_path)
    chore()
    clock.seconds = SECONDS_BETWEEN_LOOKS
    chore()
    assert not gone.exists()
    assert kept.exists()


def test_a_folder_that_is_new_has_none(data_folder: Path) -> None:
    assert list(orphan_graphs.unknown_files()) == []
