"""Models behind lookups and open lengths: the FLOPs that are read of their files, beside closed forms of their layers.

`python -m tests.models.lookups` writes docs/results/lookups.md.
"""

import argparse
import shutil
import sys
import tempfile
from pathlib import Path
from typing import cast

from engine import VERSION, api
from engine.child.parent import ReportProgress, Results, run_in_child
from engine.events import Json
from experiments.pages import ReportLine, table_of_figures, write_page
from tests.models.making import LIMITS
from tests.models.reading import heavy_flops

COMMAND = "python -m tests.models.lookups"
NAME = "lookups"
MAKE = "tests.models.lookups:make_in_child"
HEAD = ("model", "ops", "unknown", "may be heavy", "FLOPs read", "FLOPs of the layers", "difference")
INTRODUCTION = """\
Models with vocabularies, tables, queues and inputs of any size, exported by Keras, as a TensorFlow module, or as a
GraphDef of TensorFlow 1, and read with a batch size of 8. FLOPs are those of convolutions and matrix products, beside
closed forms. Unknown are ops on text, whose length only data has, and ops before an open length closes (a picture
before it is resized); `inspect` names the option."""


def run(folder: Path, report: ReportLine) -> str:
    """Build and read all models, write the page, and return it."""
    rows = []
    with tempfile.TemporaryDirectory() as work:
        _, closed = run_in_child(
            "tests.models.lookups:make_in_child", {"folder": work}, LIMITS, task="building the models"
        )
        for name, texts in closed.items():
            made = cast(dict[str, Json], texts)
            rows.append(row_of(name, Path(work), made))
            report(", ".join(rows[-1]))
    table = "\n".join(table_of_figures(HEAD, rows))
    title = "# Lookups and open lengths"
    head = f"`{COMMAND}`; Placeto Explorer {VERSION}."
    return write_page(folder, NAME, "\n\n".join([title, head, INTRODUCTION, table]) + "\n")


def row_of(name: str, folder: Path, made: dict[str, Json]) -> list[str]:
    """Read one model's file."""
    shapes = cast(dict[str, list[int]], made["input_shapes"])
    options = api.ReadingOptions(
        batch_size=cast(int, made["batch_size"]), input_shapes={key: tuple(shape) for key, shape in shapes.items()}
    )
    path = folder / cast(str, made["file"])
    prepared = api.prepare(path, path.suffix, lambda *_: None, api.Limits(), options=options)
    summary = prepared.summary()
    heavy = sum(count for _, count in cast(list[tuple[str, int]], summary["heavy_unknown"]))
    flops, closed = heavy_flops(prepared) or 0.0, cast(int, made["flops"])
    counts = (str(summary["ops"]), str(summary["unknown_ops"]), str(heavy))
    return [name, *counts, f"{flops:,.0f}", f"{closed:,}", f"{flops / closed - 1:+.2%}"]


def make_in_child(order: dict[str, Json], _folder: Path, report_progress: ReportProgress) -> Results:
    """Write all files into the order's folder; by model its file, closed form and options."""
    from tests.models.lookup_models import BATCH, INPUT_SHAPES, MODELS

    folder = Path(cast(str, order["folder"]))
    made: dict[str, Json] = {}
    for name, build in MODELS.items():
        report_progress(f"building {name}", 0, 0)
        flops = build(folder / name)
        if (folder / name).is_dir():
            shutil.make_archive(str(folder / name), "zip", folder, name)
        file = f"{name}.zip" if (folder / f"{name}.zip").exists() else f"{name}.pb"
        shapes: Json = {key: list(shape) for key, shape in INPUT_SHAPES.get(name, {}).items()}
        made[name] = {"file": file, "flops": flops, "batch_size": BATCH, "input_shapes": shapes}
    return {}, made


def main() -> None:
    """Write the page into a folder."""
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs/results"), help="folder (default %(default)s)")
    print(run(parser.parse_args().out, lambda line: print(line, file=sys.stderr)))


if __name__ == "__main__":
    main()
