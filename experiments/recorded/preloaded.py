"""Imports what all children need, for the process of which they are forks."""

import contextlib
import importlib
import warnings

from experiments.recorded import child, vision

warnings.simplefilter("ignore")
vision.declare_torchvision_ops()
for _name in ("accelerate.utils.modeling", "transformers.modeling_utils", "timm", "torchvision"):
    with contextlib.suppress(ImportError):  # a model of what is missing says so itself
        importlib.import_module(_name)

row_of = child.quiet_row_of
