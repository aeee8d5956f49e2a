"""What a killed process left in the data folder goes, and nothing else."""

import os
import time
from pathlib import Path

from webapp.graphs.models import Graph
from webapp.graphs.orphan_files import OLD_SECONDS, remove_orphan_files
from webapp.profiles import orphan_files as orphan_profiles
from webapp.profiles.models import Profile


def file(path: Path, age_seconds: float) -> Path:
    """A file of this age."""
    path.parent.mkdir(exist_ok=True)
    path.touch()
    then = time.time() - age_seconds
    os.utime(path, (then, then))
    return path


def test_old_files_that_no_row_knows_are_removed(data_folder: Path, graph: Graph) -> None:
    old, young = OLD_SECONDS + 60, OLD_SECONDS - 60
    gone = [file(data_folder / "incoming" / "a", old), file(data_folder / "graphs" / "x.pb", old)]
    kept = [
        file(data_folder / "incoming" / "b", young),
        file(data_folder / "graphs" / "y.pb", young),
        file(graph.source_path, old),
        file(data_folder / "placeto.sqlite3", old),
    ]
    assert remove_orphan_files() == 2
    assert not any(path.exists() for path in gone)
    assert all(path.exists() for path in kept)


def test_old_times_that_no_row_knows_are_removed(data_folder: Path, graph: Graph) -> None:
    profile = Profile.objects.create(graph=graph)
    gone = file(data_folder / "profiles" / "x.pb", OLD_SECONDS + 60)
    kept = [file(data_folder / "profiles" / "y.pb", OLD_SECONDS - 60), file(profile.times_path, OLD_SECONDS + 60)]
    assert orphan_profiles.remove_orphan_files() == 1
    assert not gone.exists()
    assert all(path.exists() for path in kept)


def test_a_folder_that_is_new_has_none(data_folder: Path) -> None:
    assert remove_orphan_files() == 0
