"""A stream of micro-batches in words."""

from engine import api


def stream_words(stream: api.Json) -> str:
    """`8 micro-batches, 1f1b, contiguous stages, stages run again`; empty without a stream: a step's time counts."""
    if stream is None:
        return ""
    asked = api.Stream.from_json(stream)
    batch = "1 micro-batch" if asked.micro_batches == 1 else f"{asked.micro_batches} micro-batches"
    contiguous, again = asked.contiguous * ", contiguous stages", asked.recomputes * ", stages run again"
    return f"{batch}, {asked.pipeline}{contiguous}{again}"
