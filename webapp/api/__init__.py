"""The API for scripts, at /api/v1: everything that a person can do on the pages. docs/api.md describes it."""
