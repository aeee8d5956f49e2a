"""Measures the processor seconds of reading a file, by this checkout and by another one, in fresh processes."""

import json
import subprocess
import sys
from pathlib import Path
from typing import cast

from engine.events import Json
from tests.models.model import SuiteModel

CHECKOUT = Path(__file__).resolve().parents[2]
TURNS = 3
"""of each checkout, one after the other; the least counts"""
MOST_SECONDS = 600.0
CODE = """
import json, resource, sys
from pathlib import Path
from engine import api
order = json.loads(sys.argv[1])
shapes = {name: tuple(shape) for name, shape in order["input_shapes"].items()}
options = api.ReadingOptions(batch_size=order["batch_size"], input_shapes=shapes)
path = Path(order["path"])

def spent():
    found = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in found)

started = spent()
try:
    api.prepare(path, path.suffix, lambda *_: None, api.Limits(), options=options)
    refused = ""
except api.PlacetoError as refusal:
    refused = str(refusal)
print(json.dumps({"seconds": spent() - started, "refused": refused}))
"""
"""run in a checkout; it uses only names that both versions have"""


def reading_times(path: Path, form: str, model: SuiteModel, other: Path) -> dict[str, Json]:
    """`seconds_alone` here and `seconds_today` in the checkout `other`, and `refused_today`, a sentence or empty."""
    options = model.options(form, {})
    shapes: dict[str, Json] = {name: list(shape) for name, shape in options.input_shapes.items()}
    order: dict[str, Json] = {"path": str(path.absolute()), "batch_size": options.batch_size, "input_shapes": shapes}
    found = [(_read(CHECKOUT, order), _read(other, order)) for _ in range(TURNS)]
    return {
        "seconds_alone": round(min(cast(float, here["seconds"]) for here, _ in found), 2),
        "seconds_today": round(min(cast(float, there["seconds"]) for _, there in found), 2),
        "refused_today": found[0][1]["refused"],
    }


def _read(checkout: Path, order: dict[str, Json]) -> dict[str, Json]:
    """The result of one process in `checkout`."""
    words = [sys.executable, "-c", CODE, json.dumps(order)]
    ran = subprocess.run(words, cwd=checkout, capture_output=True, check=True, timeout=MOST_SECONDS)
    return cast(dict[str, Json], json.loads(ran.stdout.splitlines()[-1]))
