"""The example of docs/formats/onnx.md is read, and has the figures that the page states."""

import re
from pathlib import Path

from onnx import parser

from engine.graphs.reading_options import ReadingOptions
from tests.engine.onnx.building import stored
from tests.engine.onnx.reading import read_here

PAGE = (Path(__file__).parents[3] / "docs" / "formats" / "onnx.md").read_text()


def test_the_model_by_hand(tmp_path: Path) -> None:
    found = re.search(r"```onnx\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    model = parser.parse_model(found.group(1))
    graph = read_here(stored(model, tmp_path / "small.onnx"), ReadingOptions(batch_size=32))
    summary = graph.summary()
    assert graph.graph.op_count == 4
    assert f"{summary['flops']:,.0f} FLOPs" in PAGE
    assert sum(int(str(row["parameters"])) for row in graph.origin.layers or ()) == 7850
