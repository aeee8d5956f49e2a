"""The error of a limit that a user has, apart from the limits' tables: what answers errors is loaded before those."""

from engine import api


class QuotaError(api.PlacetoError):
    """A user would use more than they may."""
