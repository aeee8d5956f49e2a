"""Reads a policy from a training's saved state, without the training. Does not load torch."""

from engine.files.tensor_file import under, unpack_tensors
from engine.policies.trained_policy import TrainedPolicy

STATE = "the state of the training"
STATE_VERSION = 2
"""grows when an older state cannot be gone on from"""
WEIGHTS = "weights."
"""prefix of the names of the network's weights"""


def learned_in(state: bytes) -> TrainedPolicy:
    """The policy as it was when `state` was saved. Raises SettingsError for a damaged state."""
    arrays, texts = unpack_tensors(state, STATE)
    return TrainedPolicy.from_parts(under(WEIGHTS, arrays), texts, STATE)
