"""The range of seeds for random numbers."""

from engine.errors import SettingsError

MOST_SEED = 2**63 - 1
"""as large as a database's integer"""


def require_seed(seed: int) -> None:
    """Raise SettingsError unless `seed` is in the allowed range."""
    if not 0 <= seed <= MOST_SEED:
        raise SettingsError(f"{seed}", where="seed", allowed=f"an integer from 0 to {MOST_SEED}", field="seed")
