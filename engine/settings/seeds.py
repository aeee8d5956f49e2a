"""Seeds of random numbers, of whatever is drawn."""

from engine.errors import SettingsError

MOST_SEED = 2**63 - 1
"""as large as a database's integer"""


def require_seed(seed: int) -> None:
    """Raise SettingsError unless `seed` is one that is taken."""
    if not 0 <= seed <= MOST_SEED:
        raise SettingsError(f"{seed}", where="seed", allowed=f"an integer from 0 to {MOST_SEED}", field="seed")
