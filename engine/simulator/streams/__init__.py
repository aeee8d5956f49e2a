"""Streams of micro-batches through a placed graph: their schedules, their period and the time of a batch."""
