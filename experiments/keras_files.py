"""Files of the suite of Keras models, which stands beside the tests: its command writes them, experiments read them."""

from pathlib import Path

from engine import api
from engine.errors import SettingsError
from experiments.folders import CACHE, ROOT

FOLDER = CACHE / "models"
SUFFIXES = {"saved_model": ".zip", "graph_with_shapes": ".pb"}
"""form of a file → its suffix"""
OPTIONS = api.ReadingOptions(batch_size=8)
"""of the models that the experiments read"""


def keras_file(name: str, form: str, folder: Path = FOLDER) -> Path:
    """The file of a model. Raises SettingsError if it has not been written yet."""
    path = folder / f"{name}-{form}{SUFFIXES[form]}"
    if not path.is_file():
        shown = folder.relative_to(ROOT) if folder.is_relative_to(ROOT) else folder
        command = f"python -m tests.models {name} --form {form} --out {shown}"
        raise SettingsError("this model has no file yet", where=name, advice=f"write it first: {command}")
    return path
