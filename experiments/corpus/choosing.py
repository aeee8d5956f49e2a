"""`python -m experiments.corpus.choosing` chooses the architectures of the corpus into list.json.

Each family has at most `MOST` of its names: all of a small family, of a large one twice the root of their number. They
are drawn by the SHA-256 of their names, a library after the other, so that no one picks what is convenient. The list is
in an order by SHA-256 too: its first part is as broad as the whole.
"""

import hashlib
import json
import math
import sys
import warnings
from itertools import zip_longest
from pathlib import Path
from typing import Any

from experiments.architectures import keras_models, language, vision
from experiments.corpus.lineage import FAMILIES, family_of
from experiments.corpus.sizes import SIZES

LIST = Path(__file__).with_name("list.json")
LIBRARIES = ("transformers", "torchvision", "keras", "timm")
WHOLE, SPLIT = "whole", "split"
MOST, LEAST = 25, 8
"""names of one family; of a smaller one all"""
FOR_TESTS, QUANTIZED = "test_", "quantized_"
"""how names begin of timm's models for its own tests, and of torchvision's that differ from others by number formats"""
WRAPPERS = ("timm_backbone", "timm_wrapper", "glm_image_vqmodel")
"""types of transformers that are another library's models, or a part of one"""


def chosen(names: dict[str, list[str]], models: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """The cases of the list, from all `names` of each library; `models` are types and changes of transformers."""
    taken: list[tuple[str, str]] = []
    for family in FAMILIES:
        of_libraries = [
            sorted((library, name) for name in names[library] if family_of(name) == family) for library in LIBRARIES
        ]
        rows = zip_longest(*(sorted(pairs, key=_sha256) for pairs in of_libraries))
        in_turn = [pair for row in rows for pair in row if pair is not None]
        taken += in_turn[: most_of(len(in_turn))]
    return [
        {"library": library, "architecture": name}
        | (models[name] | blocks_of(name) if library == "transformers" else {})
        for library, name in sorted(taken, key=_sha256)
    ]


def blocks_of(name: str) -> dict[str, str]:
    """Whether a placement may split the blocks that a model of transformers asks to keep whole: half of them may.

    Recordings that people make keep them whole, which leaves some twenty groups.
    """
    return {"blocks": (WHOLE, SPLIT)[int(hashlib.sha256(name.encode()).hexdigest(), 16) % 2]}


def most_of(count: int) -> int:
    """How many of the `count` names of a family are taken."""
    return min(count, MOST, max(LEAST, math.ceil(2 * math.sqrt(count))))


def _sha256(pair: tuple[str, str]) -> str:
    return hashlib.sha256("/".join(pair).encode()).hexdigest()


def transformers_models() -> dict[str, dict[str, Any]]:
    """Architecture → its type, and the changes of its configuration; None: fewer layers where it is large."""
    types = [name for name in language.names() if name.replace("-", "_") not in WRAPPERS]
    models: dict[str, dict[str, Any]] = {name.replace("-", "_"): {"type": name, "changes": None} for name in types}
    for name, sizes in SIZES.items():
        for size, changes in sizes.items():
            models[f"{name.replace('-', '_')}-{size}"] = {"type": name, "changes": changes}
    return models


def main() -> None:
    """Write the list."""
    warnings.simplefilter("ignore")
    vision.declare_torchvision_ops()
    models = transformers_models()
    names = {
        "timm": [name for name in vision.timm_names() if not name.startswith(FOR_TESTS)],
        "torchvision": [name for name in vision.torchvision_names() if not name.startswith(QUANTIZED)],
        "transformers": list(models),
        "keras": keras_models.keras_names(),
    }
    population = {library: len(names[library]) for library in LIBRARIES}
    cases = chosen(names, models)
    lines = ",\n  ".join(json.dumps(case) for case in cases)
    LIST.write_text(f'{{"population": {json.dumps(population)},\n "cases": [\n  {lines}\n]}}\n')
    print(f"{len(cases)} architectures are written to {LIST.name}", file=sys.stderr)


if __name__ == "__main__":
    main()
