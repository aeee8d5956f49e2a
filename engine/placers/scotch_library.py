"""The Scotch library itself, in the child process of `scotch.py`.

Such a child is started for each mapping: it loads the library and NumPy, none of the engine's compiled code.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray

from engine.child.parent import ReportProgress, Results
from engine.errors import SettingsError
from engine.events import Json

DETERMINISTIC = 0
"""number of the library's option for the same answer each time"""
FREE = -1
"""stands for a device: the vertex may go anywhere"""
PYPLOT = "matplotlib.pyplot"


def map_in_child(arguments: dict[str, Json], _folder: Path, _report_progress: ReportProgress) -> Results:
    """Map a weighted graph onto processors, once for each tolerance; returns `processor` [mappings, vertices].

    Arguments: `vertex_load` [vertices]; `first_neighbour` [vertices + 1] into `neighbour` and `edge_load`, both ways of
    each edge; `processor_weight` [processors]; `fixed` [vertices] a processor or `FREE`; `imbalances`
    [mappings], the share by which a load may be off; `seed`. Loads and weights are integers.
    """
    try:
        with _without_pyplot():
            import scotchpy
            from scotchpy import common
    except ImportError:
        raise SettingsError(
            "the Scotch library is not installed",
            where="scotch",
            allowed="a machine that scotchpy64 supports: Linux on x86-64",
            field="method",
        ) from None

    def numbers(name: str) -> NDArray[np.int64]:
        return np.array(arguments[name], dtype=np.int64)

    common.random_seed(cast(int, arguments["seed"]))
    common.random_reset()
    context = scotchpy.Context()
    context.option_set_num(DETERMINISTIC, 1)
    context.thread_spawn(1, None)
    context.random_clone()
    unbound, graph = scotchpy.Graph(), scotchpy.Graph()
    unbound.build(
        verttab=numbers("first_neighbour"),
        edgetab=numbers("neighbour"),
        edlotab=numbers("edge_load"),
        velotab=numbers("vertex_load"),
    )
    context.bind_graph(unbound, graph)
    weights = numbers("processor_weight")
    processors = scotchpy.Arch()
    if (weights == weights[0]).all():
        processors.cmplt(len(weights))
    else:
        processors.cmpltw(weights)
    fixed = numbers("fixed")

    def mapped(imbalance: float) -> NDArray[np.int64]:
        strategy, mapping, processor = scotchpy.Strat(), scotchpy.Mapping(), fixed.copy()
        strategy.graph_map_build(scotchpy.STRATDEFAULT, len(weights), imbalance)
        graph.map_init(mapping, processors, processor)
        if (fixed != FREE).any():
            graph.map_fixed_compute(mapping, strategy)
        else:
            graph.map_compute(mapping, strategy)
        found = processor.copy()
        graph.map_exit(mapping)
        return found

    mappings = np.stack([mapped(imbalance) for imbalance in cast(list[float], arguments["imbalances"])])
    graph.exit()
    return {"processor": mappings}, {}


@contextmanager
def _without_pyplot() -> Iterator[None]:
    """Until the context ends, matplotlib's pyplot cannot be imported: the library would load it if it could, and its
    cache of fonts takes seconds to make.
    """
    if PYPLOT in sys.modules:
        yield
        return
    sys.modules[PYPLOT] = None  # type: ignore[assignment]  # makes its import fail
    try:
        yield
    finally:
        del sys.modules[PYPLOT]
