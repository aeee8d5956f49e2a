"""Names and shapes of the shared head's weights, without torch, to check a file before it is loaded.

They must change with the network: a test compares them with `shared_head.SharedHead`.
"""

from engine.placeto.seeing.device_view import DEVICE_FEATURES
from engine.placeto.seeing.edge_features import EDGE_FEATURES
from engine.placeto.seeing.features import GROUP_FEATURES
from engine.placeto.settings import PlacetoSettings

Shapes = dict[str, tuple[int, ...]]


def weight_shapes(settings: PlacetoSettings) -> Shapes:
    """Shape by parameter name, for the sizes in `settings`."""
    width, hidden = settings.embedding_width, settings.hidden_width
    shapes: Shapes = {}
    for direction in ("top_down", "bottom_up"):
        shapes |= _two_layers(f"rounds.{direction}.own", GROUP_FEATURES, width)
        shapes |= _linear(f"rounds.{direction}.message_network", width, width)
        shapes |= _linear(f"rounds.{direction}.edge_network", EDGE_FEATURES, width, bias=False)
        shapes |= _two_layers(f"rounds.{direction}.update_network", width, width)
    shapes |= _linear("embedding", GROUP_FEATURES + 2 * width, width)
    shapes |= _linear("own", width, hidden)
    shapes |= _linear("roles", width, 3 * hidden, bias=False)
    shapes |= _linear("view", DEVICE_FEATURES, hidden, bias=False)
    shapes |= _linear("second", hidden, hidden)
    shapes |= _linear("together", hidden, hidden, bias=False)
    shapes |= _linear("score", hidden, 1, bias=False)
    return shapes | _linear("view_score", DEVICE_FEATURES, 1, bias=False)


def _two_layers(name: str, width_in: int, width: int) -> Shapes:
    return _linear(f"{name}.0", width_in, width_in) | _linear(f"{name}.2", width_in, width)


def _linear(name: str, width_in: int, width: int, *, bias: bool = True) -> Shapes:
    return {f"{name}.weight": (width, width_in)} | ({f"{name}.bias": (width,)} if bias else {})
