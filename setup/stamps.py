"""Stamps: a step is not repeated if its inputs have not changed since its last success."""

import hashlib
from collections.abc import Iterable
from pathlib import Path


def digest(files: Iterable[Path], *facts: str) -> str:
    """A digest of the files' contents and of facts such as a version."""
    total = hashlib.sha256()
    for path in files:
        content = path.read_bytes()
        total.update(f"{path.name} {len(content)}\n".encode())
        total.update(content)
    for fact in facts:
        total.update(f"\n{fact}".encode())
    return total.hexdigest()


class Stamp:
    """A small file with the digest of a step's inputs."""

    def __init__(self, path: Path, expected: str) -> None:
        """`expected` is the digest of the step's inputs now."""
        self._path, self._expected = path, expected

    def holds(self) -> bool:
        """Whether the step was done with these inputs."""
        try:
            return self._path.read_text(encoding="ascii") == self._expected
        except (OSError, UnicodeDecodeError):
            return False

    def set(self) -> None:
        """Record that the step is done."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.write_text(self._expected, encoding="ascii")

    def remove(self) -> None:
        """Remove the stamp before the step: until the step succeeds, it counts as not done."""
        self._path.unlink(missing_ok=True)
