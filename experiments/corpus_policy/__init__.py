"""A policy trained on the corpus's training side, and how it does on architecture families that it has never seen."""
