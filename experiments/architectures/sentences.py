"""Sentences of failures as pages show them."""

import re


def without_folders(sentence: str) -> str:
    """Files of libraries by their names alone."""
    return re.sub(r"\((?:/[^/:\s]+)*/([^/:\s]+:\d+)\)", r"(\1)", sentence)
