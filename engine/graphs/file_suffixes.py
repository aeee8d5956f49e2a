"""What the files of graphs end in."""

PLAIN_SUFFIXES = (".pb", ".pbtxt")
SAVED_MODEL_SUFFIX = ".zip"
SUFFIXES = (*PLAIN_SUFFIXES, ".meta", SAVED_MODEL_SUFFIX)
"""TensorFlow's"""
NODE_LINK_FORMATS = (".json",)
FORMATS = SUFFIXES + NODE_LINK_FORMATS


def without_suffix(name: str) -> str:
    """A graph's name, be it its file's or not."""
    for suffix in FORMATS:
        if name.endswith(suffix):
            return name.removesuffix(suffix)
    return name
