"""Sends mutated files and texts to the application and to its readers, and checks the promises about them.

    python -m tests.fuzz --seconds 3600 --processes 2 --out /tmp/fuzz

Two targets: the real application over HTTP (`uploads.py`), and the same reading functions in forked, bounded processes
without HTTP (`readings.py`), which take a hundred times as many inputs and measure the coverage of each.
"""
