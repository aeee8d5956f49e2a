"""Streams of micro-batches: schedules, periods, batches."""
