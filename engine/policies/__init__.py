"""Trained policies as things of their own: learned on many problems, kept as one file, used on graphs never seen."""
