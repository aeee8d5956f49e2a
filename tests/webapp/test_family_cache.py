"""Cached graphs that no training has read for a long time go; the others stay."""

import os
import time
from pathlib import Path

import pytest
from pytest_django import Settings

from webapp.policies.family_cache import DAY_SECONDS, UnusedFamilyFiles


def cached(folder: Path, name: str, age_days: float) -> Path:
    """A file of the cache."""
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}.prepared"
    path.touch()
    then = time.time() - age_days * DAY_SECONDS
    os.utime(path, (then, then))
    return path


@pytest.fixture
def folder(settings: Settings, data_folder: Path) -> Path:
    settings.FAMILIES_DAYS = 90
    return data_folder / "families"


def test_only_those_that_nobody_reads_go(folder: Path) -> None:
    old, young = cached(folder, "old", 91), cached(folder, "young", 89)
    assert not UnusedFamilyFiles()()
    assert not old.exists() and young.exists()


def test_without_the_setting_all_stay(folder: Path, settings: Settings) -> None:
    settings.FAMILIES_DAYS = 0
    old = cached(folder, "old", 91)
    assert not UnusedFamilyFiles()()
    assert old.exists()


def test_it_looks_once_an_hour(folder: Path) -> None:
    chore = UnusedFamilyFiles()
    chore()
    old = cached(folder, "old", 91)
    chore()
    assert old.exists()


def test_no_folder_is_no_fault(folder: Path) -> None:
    assert not UnusedFamilyFiles()()
