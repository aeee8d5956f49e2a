"""Writes files whole or not at all, packs arrays and texts, and reads JSON with limits."""
