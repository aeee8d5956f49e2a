"""One scale for the field: every method on the same graphs of the corpus, clusters and budgets."""
