"""Trained policies: trained on many problems, stored as one file, and used on graphs that they have not seen."""
