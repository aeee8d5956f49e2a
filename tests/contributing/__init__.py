"""The examples of docs/recipes: each diff is applied to a copy of the sources, and what it adds works there."""
