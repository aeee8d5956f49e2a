"""Models of real size with weights, run by ONNX Runtime whole and by the stages of a placement, on its CPU provider.

`python -m tests.engine.onnx.real_sizes` takes two minutes and 4 GB, and prints how far the outputs differ.
"""

import argparse
import runpy
import tempfile
import zipfile
from pathlib import Path

import numpy as np

from engine.graphs.reading_options import ReadingOptions
from tests.engine.onnx import models
from tests.engine.onnx.building import stored
from tests.engine.onnx.cases import Case, cache_of, normal, tokens
from tests.engine.onnx.placing import DEVICES, ON_THE_CPU, outputs_of, written
from tests.engine.onnx.reading import read_here

LAYERS = 12
MODELS: dict[str, Case] = {
    "ResNet-50, pictures of 32 × 32": (
        lambda: models.resnet(seed=0),
        ReadingOptions(batch_size=2),
        lambda: {"images": normal(2, 3, 32, 32)},
    ),
    "BERT-base": (
        lambda: models.bert(seed=0),
        ReadingOptions(batch_size=2, sizes={"sequence": 128}),
        lambda: {"input_ids": tokens(2, 128), "token_type_ids": tokens(2, 128) % 2},
    ),
    "GPT-2 with a cache": (
        lambda: models.decoder(seed=0),
        ReadingOptions(batch_size=1, sizes={"new": 1, "past": 64}),
        lambda: {
            "input_ids": tokens(1, 1),
            "position_ids": np.full((1, 1), 64),
            **cache_of(LAYERS, 1, 12, 64, 64),
        },
    ),
}


def main() -> None:
    """Run the models."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    for name, (build, options, inputs) in MODELS.items():
        with tempfile.TemporaryDirectory() as folder:
            path = stored(build(), Path(folder) / "model.onnx")
            graph = read_here(path, options)
            levels = np.array_split(np.arange(len(graph.grouping.names)), len(DEVICES))
            device_of_group = np.concatenate([np.full(len(part), at) for at, part in enumerate(levels)])
            devices = device_of_group[graph.grouping.group_of_op].tolist()
            placement = {op: DEVICES[at] for op, at in zip(graph.graph.op_names, devices, strict=True)}
            with zipfile.ZipFile(written(path, placement, ".zip", options)) as archive:
                archive.extractall(Path(folder) / "stages")
            runner = runpy.run_path(str(Path(folder) / "stages" / "run_stages.py"))
            given = inputs()
            found = runner["run"](runner["load"](ON_THE_CPU), given)
            whole = outputs_of(path, given)
            farthest = max(float(np.abs(one - other).max()) for one, other in zip(found.values(), whole, strict=True))
            most = max(float(np.abs(each).max()) for each in whole)
            stages = len(list((Path(folder) / "stages").glob("stage_*.onnx")))
            print(
                f"{name}: {path.stat().st_size / 1e6:.0f} MB, {len(whole)} outputs of {stages} stages within "
                f"{farthest:.1e}, the largest value {most:.1e}"
            )


if __name__ == "__main__":
    main()
