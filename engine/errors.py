"""Typed errors for users' mistakes, each one line: what is wrong, where, and what is allowed."""

from collections.abc import Mapping
from typing import Self


class PlacetoError(Exception):
    """A user's mistake. The web turns it into a 4xx answer at `field`, the command line into `exit_status`."""

    exit_status = 2

    def __init__(self, what: str, *, where: str = "", allowed: str = "", advice: str = "", field: str = "") -> None:
        """`what` is wrong, `where` (op, device, file, position), what is `allowed`; `field` is the form's field.

        `advice`: what to do, where what is allowed does not say it.
        """
        self.what, self.where, self.allowed, self.advice, self.field = what, where, allowed, advice, field
        parts = [f"{where}: {what}" if where else what]
        if advice:
            parts.append(advice)
        if allowed:
            parts.append(f"allowed: {allowed}")
        super().__init__("; ".join(parts))

    def facts(self) -> dict[str, str]:
        """What its constructor takes: `type(error)(**error.facts())` is the same error."""
        return {
            "what": self.what,
            "where": self.where,
            "allowed": self.allowed,
            "advice": self.advice,
            "field": self.field,
        }

    def at(self, field: str, *, where: str | None = None) -> Self:
        """The same error at another field of a form, and, if given, at another place."""
        return type(self)(**{**self.facts(), "field": field, "where": self.where if where is None else where})


class GraphError(PlacetoError):
    """A file that is not a graph, or a graph that cannot be placed."""


class ClusterError(PlacetoError):
    """A cluster, device or link that is invalid."""


class CostError(PlacetoError):
    """A time or a number of bytes that is invalid or not available."""


class PlacementError(PlacetoError):
    """A placement that does not belong to this graph and cluster."""


class SettingsError(PlacetoError):
    """A method, budget, seed or setting that is invalid."""


class NoisyMachineError(SettingsError):
    """Measurements that differ by so much that they say nothing."""


class InfeasibleError(PlacetoError):
    """No evaluated placement fits the devices' memory, or a method can make none."""

    exit_status = 3
    verdict: Mapping[str, object] | None = None
    """the field `verdict` of docs/formats.md, where a run found no placement that fits"""


class LimitError(PlacetoError):
    """A file or a run that needs more bytes, memory or time than the limits allow."""


class TimeLimitError(LimitError):
    """A file that needs more time than the limits allow."""


class MeasuringError(PlacetoError):
    """Step times that a method asked for could not be measured."""


class ChildError(PlacetoError):
    """A bounded process ended without an answer: it crashed."""


class ChildKilledError(ChildError):
    """A bounded process was killed from outside: the work may be tried again."""


def shortened(text: str, length: int = 80) -> str:
    """`text` (a name from a file or a user) made printable, on one line and at most `length` long, for a message.

    A path, such as an op's name, is cut in its middle, so that its end stays; another text at its end.
    """
    if len(text) <= length:
        return _printable(text)
    end = (length - 1) // 2 if "/" in text else 0
    return _printable(f"{text[: length - 1 - end]}…{text[len(text) - end :]}")


def _printable(text: str) -> str:
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)
