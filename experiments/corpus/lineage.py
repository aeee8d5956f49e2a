"""Architecture families by lineage: variants of one design, whatever library has them, form one family.

`families.txt` is the table: a kind, below it each family with the names that belong to it, as regular expressions with
spaces between them, each for the whole of a name in lower case. A name belongs to exactly one family, which a test
holds for all names of the corpus. A model on a backbone of another family, such as a detector on a ResNet, belongs to
the backbone's family where the backbone does most of the work.

The table was written before any policy was trained on the corpus.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from engine.errors import SettingsError, shortened

TABLE = Path(__file__).with_name("families.txt")
OF_A_FAMILY, MORE_OF_IT = "  ", "    "
"""how lines of the table begin that are no kind"""


@dataclass(frozen=True, slots=True)
class ArchitectureFamily:
    """Variants of one design."""

    name: str
    kind: str
    patterns: tuple[str, ...]
    """regular expressions, one of which the whole of a name in lower case matches"""

    def has(self, architecture: str) -> bool:
        """Whether the architecture belongs to it."""
        return _compiled(self.patterns).fullmatch(architecture.lower()) is not None


@cache
def _compiled(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns))


def families_in(table: str) -> Iterator[ArchitectureFamily]:
    """The families of a table, in its order."""
    kind = ""
    for line in table.replace("\n" + MORE_OF_IT, " ").splitlines():
        if line.startswith(OF_A_FAMILY):
            name, _, patterns = line.strip().partition(": ")
            yield ArchitectureFamily(name, kind, tuple(patterns.split()))
        else:
            kind = line


FAMILIES = tuple(families_in(TABLE.read_text()))
KINDS = tuple(dict.fromkeys(family.kind for family in FAMILIES))


@cache
def families_with(architecture: str) -> tuple[ArchitectureFamily, ...]:
    """All families that have this name; exactly one for each name of the corpus."""
    return tuple(family for family in FAMILIES if family.has(architecture))


def family_of(architecture: str) -> ArchitectureFamily:
    """The family of an architecture. Raises SettingsError for a name that no family or several have."""
    found = families_with(architecture)
    if len(found) != 1:
        what = f"{len(found)} families have this name"
        raise SettingsError(what, where=shortened(architecture), allowed="one row of experiments/corpus/families.txt")
    return found[0]
