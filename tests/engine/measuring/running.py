"""Selects, checks and runs many small graphs in one child, since each child loads TensorFlow."""

from pathlib import Path
from typing import cast

from engine.child import ReportProgress, Results
from engine.errors import PlacetoError
from engine.events import Json
from engine.measuring.profiling_in_child import profile_in_child
from engine.measuring.runnable import reason_not_to_run


def profiles_in_child(order: dict[str, Json], folder: Path, report_progress: ReportProgress) -> Results:
    """{name: what `profile_in_child` told, or its error's line}, for `graphs` {name: [text, options]}."""
    told: dict[str, Json] = {}
    for name, (text, options) in cast(dict[str, tuple[str, dict[str, Json]]], order["graphs"]).items():
        path = folder / "graph.pbtxt"
        path.write_text(text)
        own: dict[str, Json] = {"path": str(path), "suffix": ".pbtxt", "options": options, "fetches": []}
        try:
            told[name] = profile_in_child(own | {"steps": 1, "threads": 1}, folder, report_progress)[1]
        except PlacetoError as error:
            told[name] = str(error)
    return {}, told


def reasons_in_child(order: dict[str, Json], _folder: Path, _report_progress: ReportProgress) -> Results:
    """{op type: why it is not run}"""
    return {}, {op_type: reason_not_to_run(op_type) for op_type in cast(list[str], order["types"])}
