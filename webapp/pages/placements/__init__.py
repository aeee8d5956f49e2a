"""Kept placements: keep, upload, rename, delete, explain, download."""
