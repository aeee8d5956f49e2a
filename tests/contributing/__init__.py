"""CONTRIBUTING.md's examples: each diff is applied to a copy of the sources, and what it adds works there."""
