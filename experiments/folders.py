"""Where experiments keep their work: whole paths, since the children that do it run in folders of their own."""

from pathlib import Path

ROOT = Path(__file__).parents[1]
CACHE = ROOT / ".cache"
"""what a second call finds again, and what may be lost"""


def below_root(path: str) -> Path:
    """A path as a setting gives it: below the repository's folder, unless it is absolute."""
    return ROOT / path
