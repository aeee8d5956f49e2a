"""Makes inputs of seeds: which mutators belong to which part of an input."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random

from tests.fuzz.inputs import CLUSTER, POLICY, Input
from tests.fuzz.mutators import (
    json_texts,
    plain_bytes,
    safetensors_files,
    token_texts,
    wire_messages,
    zip_archives,
)

Mutator = Callable[[bytes, bytes, Random], bytes]
"""(content, content of another input, generator) → content; the same arguments give the same content"""

MUTATORS: dict[str, Sequence[Mutator]] = {
    ".pb": wire_messages.MUTATORS,
    ".meta": wire_messages.MUTATORS,
    ".pbtxt": token_texts.MUTATORS,
    ".onnx": wire_messages.MUTATORS,
    ".zip": zip_archives.MUTATORS,
    ".json": json_texts.MUTATORS,
    ".json.gz": plain_bytes.MUTATORS,
    ".safetensors": safetensors_files.MUTATORS,
    ".txt": (*json_texts.MUTATORS, *token_texts.MUTATORS),
}
"""suffix → the mutators that know its structure"""
OF_ANY = plain_bytes.MUTATORS
ROUNDS = (1, 1, 1, 1, 2, 2, 4)
"""mutators one after the other"""
ANY_SHARE = 0.1
"""share of the mutators that know no structure"""
ALONE_SHARE = 0.4
"""share of the inputs that borrow from themselves, so that names go on to mean something"""
TIMES_SHARE = 0.5
"""share of the inputs with times whose times are changed, and not the graph"""
FIELDS_SHARE = 0.2
"""share of the inputs with other fields in which one of them is changed, besides"""
LINES = {
    "batch_size": "8",
    "groups": "16",
    "signature": "serving_default",
    "input_shapes": "inputs=4,8",
    "trips": "while=40",
    "sizes": "Where=100",
    "profile_kind": "K80",
}
"""field → text with which it begins where the seed leaves it out"""


def mutated(corpus: Sequence[Input], seed: str, number: int) -> Input:
    """Input `number` of `seed`; the same corpus gives the same input."""
    rng = Random(f"{seed}:{number}")  # nothing secret
    chosen = rng.choice(corpus)
    alike = [each for each in corpus if each.suffix == chosen.suffix]
    other = chosen if rng.random() < ALONE_SHARE else rng.choice(alike)
    steps: list[str] = []
    if chosen.times and rng.random() < TIMES_SHARE:
        others = [each.times for each in alike if each.times]
        mutators = MUTATORS[chosen.suffix] if chosen.suffix == ".json" else wire_messages.MUTATORS
        times = _changed(chosen.times, rng.choice(others), mutators, rng, steps)
        chosen = replace(chosen, times=times)
    else:
        chosen = replace(chosen, content=_changed(chosen.content, other.content, MUTATORS[chosen.suffix], rng, steps))
    if chosen.kind not in (POLICY, CLUSTER) and rng.random() < FIELDS_SHARE:
        chosen = replace(chosen, fields=_changed_fields(chosen, rng, steps))
    origin = chosen.made.partition(";")[0]
    return replace(chosen, made=f"{origin}; {seed}:{number}; {' '.join(steps)}")


def _changed(content: bytes, other: bytes, mutators: Sequence[Mutator], rng: Random, steps: list[str]) -> bytes:
    for _ in range(rng.choice(ROUNDS)):
        mutator = rng.choice(OF_ANY if rng.random() < ANY_SHARE else mutators)
        try:
            content = mutator(content, other, rng)[: plain_bytes.MOST_BYTES]
        except RecursionError:  # an earlier mutator nested it deep
            continue
        steps.append(mutator.__name__)
    return content


def _changed_fields(chosen: Input, rng: Random, steps: list[str]) -> dict[str, str]:
    name = rng.choice(list(LINES))
    text = chosen.fields.get(name) or LINES[name]
    changed = text.encode()
    for _ in range(rng.choice((1, 1, 2))):
        changed = rng.choice(token_texts.MUTATORS)(changed, text.encode(), rng)
    steps.append(name)
    return {**chosen.fields, name: changed.decode("utf-8", "replace")[:20_000]}
