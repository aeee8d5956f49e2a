"""Writes one model's file: `python -m experiments.models NAME --out FOLDER`."""

import argparse
import sys
from pathlib import Path

from experiments.models.making import file_of, make
from experiments.models.model import FORMS, SAVED_MODEL
from experiments.models.registry import MODELS


def main() -> int:
    """Write the file and print its closed forms; without a name, list the models."""
    parser = argparse.ArgumentParser(prog="python -m experiments.models", description=__doc__)
    parser.add_argument("name", nargs="?", choices=list(MODELS))
    parser.add_argument("--out", type=Path, default=Path())
    parser.add_argument("--form", choices=list(FORMS), default=SAVED_MODEL)
    parsed = parser.parse_args()
    if parsed.name is None:
        for name, model in MODELS.items():
            print(f"{name:24}{model.sentence}; {', '.join(model.forms)}")
        return 0
    closed_forms = make(parsed.name, [parsed.form], parsed.out, lambda stage, *_: print(stage, file=sys.stderr))
    print(
        f"{file_of(parsed.name, parsed.form, parsed.out)}: batch size {MODELS[parsed.name].batch_size}, {closed_forms}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
