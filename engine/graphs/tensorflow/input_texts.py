"""The texts by which a NodeDef names its inputs: `x` and `x:1` for outputs of the op x, `^x` for a control edge."""


def producer_of(text: str) -> str:
    """The op that the input `text` (`x`, `x:1`, `^x`) names."""
    return text.lstrip("^").partition(":")[0]
