"""The setting by which every method that learns is run as its own control."""

from engine.settings.fields import switch


def frozen() -> bool:
    """The setting `frozen`."""
    return switch(
        False,
        "whether what the method would learn stays as it is at the start, as a control: it draws, evaluates and "
        "searches as ever, so the difference is what learning brings",
    )


def learning_rate(rate: float, *, is_frozen: bool) -> float:
    """`rate`, or 0 for a frozen method: its gradients are computed as ever and move nothing."""
    return 0.0 if is_frozen else rate
