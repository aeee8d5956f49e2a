"""The old place of `engine.setting_ranges`, for those that still import it from here."""

from engine.setting_ranges import refused, require_ranges

__all__ = ["refused", "require_ranges"]
