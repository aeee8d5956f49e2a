"""Writes a zipped SavedModel anew with one signature placed, in a child process.

Its graph is the placed GraphDef, node by node, with the ops beside it that fill the variables and tables; the files of
variables and assets go from archive to archive as they are. It has TensorFlow's first form, a MetaGraphDef with a saver
and without objects: TensorFlow makes the variables of the second form where it likes, whatever the graph says.
`tf.saved_model.load`, `tf.compat.v1.saved_model.load` and TensorFlow Serving read both.
"""

from pathlib import Path

from engine.child.parent import Limits, child_results, publish
from engine.events import Json

WRITING = "writing the placed SavedModel"
PLACED_FILE = "placed.zip"


def write_placed_saved_model(source: Path, placed: Path, signature: str, destination: Path, limits: Limits) -> None:
    """Write the SavedModel in `source` to `destination` (.zip); `placed` is the GraphDef of its `signature`, placed.

    Raises GraphError for an upload without its variables, and as the reader does; PlacementError for a variable on a
    device on which it cannot be restored; LimitError.
    """
    order: dict[str, Json] = {
        "source": str(source.absolute()),
        "placed": str(placed.absolute()),
        "signature": signature,
        "most_bytes": limits.file_bytes,
    }
    function = "engine.graphs.saved_model_making:write_in_child"
    with child_results(function, order, limits, task=WRITING) as (_, folder):
        publish(folder / PLACED_FILE, destination)
