"""The Scotch library at work, in a child process: it is native code, with one random generator for all who use it.

The child has none of our environment, so that no setting of threads or MPI reaches it; it runs the sequential library.
"""

import sys
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray

from engine.child.parent import ReportProgress, Results
from engine.errors import SettingsError
from engine.events import Json

DETERMINISTIC = 0
"""number of the option: the same answer each time"""
FREE = -1
"""in the place of a device: the vertex may go anywhere"""


def map_in_child(arguments: dict[str, Json], _folder: Path, _report_progress: ReportProgress) -> Results:
    """Map a weighted graph onto processors; returns `processor` [vertices].

    Arguments: `vertex_load` [vertices]; `first_neighbour` [vertices + 1] into `neighbour` and `edge_load`, both ways of
    each edge; `processor_weight` [processors]; `fixed` [vertices] a processor or `FREE`; `imbalance`, the share by
    which a load may be off; `seed`. Loads and weights are whole numbers.
    """
    sys.modules["matplotlib.pyplot"] = None  # type: ignore[assignment]  # the way to say that it is not to be had
    try:
        import scotchpy  # would load it, and take seconds to make its cache of fonts anew
        from scotchpy import common
    except ImportError:
        raise SettingsError(
            "the Scotch library is not installed",
            where="scotch",
            allowed="a machine for which there is scotchpy64: Linux on x86-64",
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
    strategy = scotchpy.Strat()
    strategy.graph_map_build(scotchpy.STRATDEFAULT, len(weights), cast(float, arguments["imbalance"]))
    processor = numbers("fixed")
    any_fixed = bool((processor != FREE).any())
    mapping = scotchpy.Mapping()
    graph.map_init(mapping, processors, processor)
    if any_fixed:
        graph.map_fixed_compute(mapping, strategy)
    else:
        graph.map_compute(mapping, strategy)
    found = processor.copy()
    graph.map_exit(mapping)
    graph.exit()
    return {"processor": found}, {}
