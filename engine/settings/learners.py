"""The settings that every method that learns has, so that methods can be compared: its control and its prior."""

from engine.settings.fields import choice, switch

PUBLISHED, BEST_TRIVIAL = PRIORS = ("published", "best_trivial")


def frozen() -> bool:
    """The setting `frozen`."""
    return switch(
        False,
        "whether what the method would learn stays as it is at the start, as a control: it draws, evaluates and "
        "searches as ever, so the difference is what learning brings",
    )


def prior() -> str:
    """The setting `prior`; `engine.problem.trivial` computes it."""
    return choice(
        PRIORS,
        "what the method prefers before it learns: what its paper or its preset says (`published`), or, alike for "
        "all methods, the best placement on one device, with a probability of 0.8 in each group and the rest shared "
        "equally by the group's other devices (`best_trivial`)",
    )


def learning_rate(rate: float, *, is_frozen: bool) -> float:
    """`rate`, or 0 for a frozen method: its gradients are computed as ever and move nothing."""
    return 0.0 if is_frozen else rate
