"""The memory of the machine, or of the container around it."""

from pathlib import Path

import pytest

from engine.child import machine_memory
from engine.child.machine_memory import available_memory_bytes, machine_memory_bytes


def test_the_machine_has_memory() -> None:
    assert 256 * 1024**2 < machine_memory_bytes() < 1024**5


@pytest.mark.parametrize(("written", "container_bytes"), [("1048576\n", 1024**2), ("max\n", None), (None, None)])
def test_a_containers_limit_counts_where_there_is_one(
    written: str | None, container_bytes: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit = tmp_path / "memory.max"
    if written is not None:
        limit.write_text(written)
    monkeypatch.setattr(machine_memory, "CGROUP_LIMITS", ())
    whole_bytes = machine_memory_bytes()
    monkeypatch.setattr(machine_memory, "CGROUP_LIMITS", (limit,))
    assert machine_memory_bytes() == (container_bytes or whole_bytes)


def test_what_is_available_is_what_the_container_has_left_beside_its_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert 0 < available_memory_bytes() <= machine_memory_bytes()
    for name, text in (("max", "1000"), ("current", "700"), ("stat", "anon 500\ninactive_file 150\n")):
        (tmp_path / f"memory.{name}").write_text(text)
    monkeypatch.setattr(machine_memory, "CGROUP_LIMITS", (tmp_path / "memory.max",))
    assert available_memory_bytes() == 450
