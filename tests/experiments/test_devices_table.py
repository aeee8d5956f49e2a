"""docs/devices.md is what the catalogue says now."""

from pathlib import Path

from experiments.devices_table import page

DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_of_device_kinds_is_that_of_the_catalogue() -> None:
    assert (DOCS / "devices.md").read_text() == page()
