"""The families with sizes that build in a moment: what is drawn stays, the rest shrinks."""

import dataclasses

import pytest

from engine.events import Json
from engine.zoo.families.catalogue import FAMILIES, Family

SMALL: dict[str, dict[str, Json]] = {
    "nmt": {"units": 4, "vocabulary": 10, "steps": 2, "batch": 2},
    "ptb": {"units": 4, "vocabulary": 10, "steps": 2, "batch": 2},
    "cifar10": {"filters": 4, "image_size": 8, "cells": 1, "batch": 2},
}
GROUPS = 16


def small(name: str) -> Family:
    """The family `name`, small."""
    row = FAMILIES[name]
    return dataclasses.replace(row, groups=GROUPS, draw=lambda seed, index: row.draw(seed, index) | SMALL[row.model])


def make_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """For as long as the test runs."""
    for name in list(FAMILIES):
        monkeypatch.setitem(FAMILIES, name, small(name))
