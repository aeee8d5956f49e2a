"""`python -m experiments.recorded.drawing` draws the architectures of the experiment `recorded` into list.json."""

import json
import logging
import random
import sys
import warnings
from pathlib import Path
from typing import Any

from experiments.architectures import language, vision
from experiments.recorded.child import INFERENCE, TRAINING

LIST = Path(__file__).with_name("list.json")
SEED = 52
COUNTS = {"timm": 110, "torchvision": 30, "transformers": 80}


def drawn(seed: int) -> dict[str, Any]:
    """The list: of each library so many names in random order, each to be trained or not by the toss of a coin.

    Of transformers a type is passed over, with the reason, whose default configuration builds no model, requires
    arguments that the experiment does not make, or is too large with few layers.
    """
    rng = random.Random(seed)  # noqa: S311  # no secret
    vision.declare_torchvision_ops()
    names = {"timm": vision.timm_names(), "torchvision": vision.torchvision_names(), "transformers": language.names()}
    cases: list[dict[str, Any]] = []
    passed_over: dict[str, str] = {}
    for library, count in COUNTS.items():
        left = rng.sample(names[library], len(names[library]))
        found = 0
        while found < count:
            name = left.pop(0)
            changes: dict[str, Any] = {}
            if library == "transformers":
                try:
                    changes = _changes(name)
                except Exception as error:  # whatever a library's own defaults raise
                    passed_over[name] = f"{type(error).__name__}: {' '.join(str(error).split())}"[:160]
                    continue
            mode = rng.choice((INFERENCE, TRAINING))
            cases.append({"library": library, "name": name, "mode": mode, "changes": changes})
            found += 1
    population = {library: len(each) for library, each in names.items()}
    return {"seed": seed, "population": population, "cases": cases, "passed_over": dict(sorted(passed_over.items()))}


def _changes(name: str) -> dict[str, Any]:
    model, changes = language.smaller(name)
    others = [each for each in language.wanted_inputs(model) if each not in language.MADE]
    if others:
        raise ValueError(f"it requires {', '.join(others)}")
    return changes


def main() -> None:
    """Write the list."""
    logging.disable()
    warnings.simplefilter("ignore")
    LIST.write_text(json.dumps(drawn(SEED), indent=1) + "\n")
    print(f"written to {LIST}", file=sys.stderr)


if __name__ == "__main__":
    main()
