"""The state that a training keeps on its way, as far as it can be read without the training. Loads no torch."""

from engine.placeto.tensor_file import under, unpack_tensors
from engine.policies.trained_policy import TrainedPolicy

STATE = "the state of the training"
WEIGHTS = "weights."
"""before the names of the network's weights"""


def learned_in(state: bytes) -> TrainedPolicy:
    """The policy as it was when `state` was kept. Raises SettingsError for a state that is damaged."""
    arrays, texts = unpack_tensors(state, STATE)
    return TrainedPolicy.from_parts(under(WEIGHTS, arrays), texts, STATE)
