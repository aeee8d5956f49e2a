"""The layers by which ONNX Runtime puts nodes on devices: their names, and the option of a session.

Source: docs/annotated_partitioning of the ONNX Runtime repository
"""

from collections.abc import Iterable, Mapping

from engine.errors import PlacementError
from engine.graphs.device_string import parse_device_string

CPU = "CPU"


def layers_of(devices: Iterable[str]) -> dict[str, str]:
    """Device → the name of its layer, such as `gpu0`. Raises PlacementError for devices of several machines."""
    parsed = {device: parse_device_string(device, "") for device in set(devices)}
    layers = {
        device: f"{(parts.type or CPU).lower()}{parts.index or 0}"
        for device, parts in sorted(parsed.items(), key=lambda item: (item[1].type, int(item[1].index or 0), item[0]))
    }
    if len(set(layers.values())) < len(layers):
        what = "the placement has devices of several machines, and a session of ONNX Runtime runs on one"
        raise PlacementError(what, where="placement", allowed="devices of one machine", field="file")
    return layers


def session_settings(layers: Mapping[str, str]) -> str:
    """The session's option `session.layer_assignment_settings` for these layers."""
    rules = []
    for device, layer in layers.items():
        parts = parse_device_string(device, "")
        is_cpu = parts.type in ("", CPU)
        rules.append(f"cpu(={layer})" if is_cpu else f"{parts.type.lower()}:{parts.index or 0}(={layer})")
    return "; ".join(rules)
