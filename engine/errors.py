"""Every mistake that a user can make, as a typed error of one clear line: what, where, what is allowed."""


class PlacetoError(Exception):
    """A mistake of the user's. The web turns it into a 4xx answer at `field`, the command line into `exit_status`."""

    exit_status = 2

    def __init__(self, what: str, *, where: str = "", allowed: str = "", field: str = "") -> None:
        """`what` is wrong, `where` (op, device, file, position), what is `allowed`; `field`: the form's name for it."""
        self.what, self.where, self.allowed, self.field = what, where, allowed, field
        parts = [f"{where}: {what}" if where else what]
        if allowed:
            parts.append(f"allowed: {allowed}")
        super().__init__("; ".join(parts))


class GraphError(PlacetoError):
    """A file that is no graph, or a graph that cannot be placed."""


class ClusterError(PlacetoError):
    """A cluster, device or link that is invalid."""


class CostError(PlacetoError):
    """A time or a number of bytes that is invalid, or that cannot be had."""


class PlacementError(PlacetoError):
    """A placement that does not belong to this graph and cluster."""


class SettingsError(PlacetoError):
    """A method, budget, seed or setting that is invalid."""


class InfeasibleError(PlacetoError):
    """No placement that was evaluated fits the devices' memory."""

    exit_status = 3


class LimitError(PlacetoError):
    """A file that needs more bytes, memory or time than the limits allow."""


class ChildError(PlacetoError):
    """A bounded process ended without an answer: it crashed."""


def shortened(text: str, length: int = 80) -> str:
    """`text` (a name from a file, a user's word) for a message: printable, on one line and at most `length` long."""
    head = "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text[:length])
    return head if len(text) <= length else head[: length - 1] + "…"
