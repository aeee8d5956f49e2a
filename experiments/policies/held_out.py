"""Sets of test graphs: a family's usual ones (seed 0), those of another seed, and those of a seed that is sealed.

Choices of design were made while test graphs of seed 0 were looked at, so those of seed 1, which nobody had looked at,
are reported beside them. Those of seed 2 stay unseen until the work on policies ends: only the digest of their draw is
known, so that nobody can change it unnoticed. A set is written `family` or `family@seed`.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator

from engine.errors import SettingsError
from engine.zoo.families.members import members

DRAWN_ANEW = ("ptb", "cifar10")
"""families with further test graphs: in so large a space none is a training graph of seed 0"""
SEALED_SEED = 2
SEALED_FAMILIES = (*DRAWN_ANEW, "nmt_by_length")
SEALED_DIGEST = "aafb97532d07dc25cfb8378d2b0bbfecd970b5cdf107239d7072ec391598d62c"
"""of `digest_of_draw(SEALED_SEED)`, committed on 2026-11-23"""
BEFORE_SEED = "@"


def set_named(family: str, seed: int) -> str:
    """The set's name, and the end of its graphs' names: `ptb`, `ptb@1`."""
    return family + f"{BEFORE_SEED}{seed}" * (seed != 0)


def family_and_seed(name: str) -> tuple[str, int]:
    """The inverse of `set_named`."""
    family, _, seed = name.partition(BEFORE_SEED)
    return family, int(seed or 0)


def sets_of(families: Iterable[str], seeds: Iterable[int]) -> Iterator[tuple[str, str]]:
    """(family, its set) of each seed that the family has."""
    chosen = tuple(seeds)
    for family in families:
        for seed in chosen:
            if seed == 0 or family in (SEALED_FAMILIES if seed == SEALED_SEED else DRAWN_ANEW):
                yield family, set_named(family, seed)


def require_open(seed: int, *, unseal: bool) -> None:
    """Raise SettingsError for graphs of the sealed seed, unless the experiment's setting `unseal` is given."""
    if seed == SEALED_SEED and not unseal:
        raise SettingsError(
            f"the test graphs of seed {SEALED_SEED} are sealed until the work on policies ends",
            where="test_seeds",
            allowed="other seeds; this one once, at the end, with unseal=true",
            field="settings",
        )


def digest_of_draw(seed: int) -> str:
    """The SHA-256 of the test graphs' settings of `SEALED_FAMILIES`; nothing is built."""
    drawn = [
        [member.name, dict(member.settings)]
        for family in SEALED_FAMILIES
        for member in members(family, seed)
        if member.split == "test"
    ]
    return hashlib.sha256(json.dumps(drawn, sort_keys=True).encode()).hexdigest()
