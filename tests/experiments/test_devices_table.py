"""docs/devices.md and its sources are what the catalogue says now."""

from pathlib import Path

from experiments.devices_table import page, sources

DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_of_device_kinds_is_that_of_the_catalogue() -> None:
    assert (DOCS / "devices.md").read_text() == page()
    assert (DOCS / "devices" / "sources.md").read_text() == sources()
