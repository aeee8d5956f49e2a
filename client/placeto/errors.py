"""What a person can mend, in one sentence each."""


class RecordingError(Exception):
    """A model, its inputs or an argument with which no step can be recorded: one sentence."""


class PlacementError(Exception):
    """A placement that a model cannot be given: one sentence."""


class PlanError(Exception):
    """A plan that PyTorch cannot carry out here: one sentence."""


class ClientError(Exception):
    """A server that cannot be asked so, gives no answer, or whose work has failed: one sentence."""


class InfeasibleError(ClientError):
    """No placement that a run evaluated fits the devices' memory."""


class ServerError(ClientError):
    """The refusal of a server."""

    def __init__(self, status: int, code: str, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        """of HTTP"""
        self.code = code
        """such as `not_found`; `bad_answer` for an answer that is not of Placeto Explorer"""
        self.message = message
        """one sentence: what, where, what is allowed"""
        self.field = field
        """of the request, to which the sentence belongs"""
