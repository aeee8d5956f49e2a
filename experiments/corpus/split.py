"""The side of the split on which a graph stands: by its architecture family, and near-duplicates once.

Within each kind the families in the order of the SHA-256 of their names fill the test side up to a quarter, then
development up to 15 %, then training. So every kind has families for tests. Families of the zoo are tests besides,
since tables compare on its graphs; members of the engine's families keep the split that these have always had. The
rule was written before any policy was trained on the corpus.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from experiments.corpus.cached import CorpusSplit
from experiments.corpus.lineage import FAMILIES, ArchitectureFamily

TEST_SHARE, DEVELOPMENT_SHARE = 0.25, 0.15
ZOO = ("inception", "nasnet", "nmt", "ptb cells", "cifar10 cells", "tiny cnn")
"""families of the zoo's graphs"""
MEMBERS_OF = ("nmt", "ptb", "cifar10")
"""libraries of the corpus that are families of the engine: a member says its side itself"""
AreNear: TypeAlias = Callable[[Mapping[str, Any], Mapping[str, Any]], bool]
FIRST_TO_KEEP: tuple[CorpusSplit, ...] = ("test", "development", "train")
"""where near-duplicates are on several sides, the one on the first of these is kept"""


def split_of_families(families: Sequence[ArchitectureFamily] = FAMILIES) -> dict[str, CorpusSplit]:
    """Name of a family → its side."""
    sides: dict[str, CorpusSplit] = {}
    for kind in dict.fromkeys(family.kind for family in families):
        names = [family.name for family in families if family.kind == kind]
        sides |= dict.fromkeys((name for name in names if name in ZOO), "test")
        drawn = sorted((name for name in names if name not in ZOO), key=_sha256)
        tests = max(1, round(TEST_SHARE * len(drawn)))
        development = round(DEVELOPMENT_SHARE * len(drawn))
        sides |= dict.fromkeys(drawn[:tests], "test")
        sides |= dict.fromkeys(drawn[tests : tests + development], "development")
        sides |= dict.fromkeys(drawn[tests + development :], "train")
    return sides


def _sha256(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()


def duplicates_in(rows: Iterable[Mapping[str, Any]], are_near: AreNear) -> dict[str, str]:
    """Name of a near-duplicate → the name of the graph that counts in its place.

    Rows have a name, a digest, a mode, a number of ops and a split; `are_near` says of two of one mode and as many ops
    whether they are near. Of near-duplicates the first row of the test side is kept, so that nothing like it is trained
    on; else the first of development, else the first.
    """
    by_digest: dict[tuple[str, str], str] = {}
    by_ops: dict[tuple[str, int], list[Mapping[str, Any]]] = {}
    found: dict[str, str] = {}
    for row in sorted(rows, key=lambda row: FIRST_TO_KEEP.index(row["split"])):
        equal = by_digest.get((row["mode"], row["digest"]))
        of_as_many = by_ops.setdefault((row["mode"], row["ops"]), [])
        near = equal or next((other["name"] for other in of_as_many if are_near(row, other)), None)
        if near is None:
            by_digest[row["mode"], row["digest"]] = row["name"]
            of_as_many.append(row)
        else:
            found[row["name"]] = near
    return found
