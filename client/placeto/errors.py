"""What a person can mend, in one sentence each."""


class RecordingError(Exception):
    """A model, its inputs or an argument with which no step can be recorded: one sentence."""


class PlacementError(Exception):
    """A placement that a model cannot be given: one sentence."""


class PlanError(Exception):
    """A plan that PyTorch cannot carry out here: one sentence."""
