"""The one error of this package that a person is meant to read."""


class RecordingError(Exception):
    """A model, its inputs or an argument with which no step can be recorded: one sentence."""
