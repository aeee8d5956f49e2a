"""Mutators: the same seed gives the same content, and what knows a structure keeps it."""

import io
import json
import zipfile
from random import Random

import pytest

from engine.graphs.tensorflow.wire import bytes_field
from tests.fuzz.inputs import Input
from tests.fuzz.mutating import MUTATORS, OF_ANY, Mutator, mutated
from tests.fuzz.mutators import json_texts, safetensors_files, token_texts, wire_messages, zip_archives
from tests.fuzz.seeds import seeds_by_hand

SEEDS = seeds_by_hand()
BINARY_META = next(seed.content for seed in SEEDS if seed.suffix == ".meta")
OF_SUFFIX = {seed.suffix: seed.content for seed in SEEDS} | {".meta": BINARY_META}
"""a seed of each, of `.meta` a binary one, as its mutators take it"""
ALL = [(suffix, mutator) for suffix, mutators in MUTATORS.items() for mutator in dict.fromkeys((*mutators, *OF_ANY))]
TRIES = 30


@pytest.mark.parametrize(("suffix", "mutator"), ALL, ids=[f"{suffix} {each.__name__}" for suffix, each in ALL])
def test_the_same_seed_gives_the_same_content_and_some_seeds_change_it(suffix: str, mutator: Mutator) -> None:
    content = OF_SUFFIX[suffix]
    made = [mutator(content, content, Random(number)) for number in range(TRIES)]
    assert made == [mutator(content, content, Random(number)) for number in range(TRIES)]
    assert any(each != content for each in made)


def test_a_number_of_a_seed_is_always_the_same_input() -> None:
    first = [mutated(SEEDS, "7", number) for number in range(100)]
    assert first == [mutated(SEEDS, "7", number) for number in range(100)]
    assert first != [mutated(SEEDS, "8", number) for number in range(100)]


def test_an_input_is_the_same_after_it_was_saved() -> None:
    for number in range(100):
        tried = mutated(SEEDS, "7", number)
        assert Input.from_json(tried.to_json()) == tried


@pytest.mark.parametrize("edit", [wire_messages.drop_field, wire_messages.repeat_field, wire_messages.borrow_field])
def test_a_changed_message_stays_a_message(edit: wire_messages.Edit) -> None:
    content = OF_SUFFIX[".pb"]
    for number in range(TRIES):
        made = wire_messages.mutator(edit)(content, content, Random(number))
        assert wire_messages.fields_of(made) or not made


def test_a_deep_change_writes_the_lengths_around_it_anew() -> None:
    outer = bytes_field(1, bytes_field(2, bytes_field(3, b"\xff" * 3)))
    made = {wire_messages.mutator(wire_messages.change_text)(outer, outer, Random(number)) for number in range(TRIES)}
    assert len(made) > TRIES // 4
    assert all(len(wire_messages.fields_of(each)) == 1 for each in made)


def test_changed_json_stays_json() -> None:
    content = OF_SUFFIX[".json"]
    for number in range(TRIES):
        json.loads(json_texts.mutator(json_texts.change_entries)(content, content, Random(number)))


def test_json_may_hold_a_key_twice() -> None:
    content = b'{"a": 1, "b": 2}'
    made = [json_texts.mutator(json_texts.change_entries)(content, content, Random(number)) for number in range(200)]
    assert any(each.count(b'"a"') > 1 for each in made)


def test_tokens_joined_again_are_the_text() -> None:
    content = OF_SUFFIX[".pbtxt"] + b'\xff # \\ "open'
    assert token_texts.joined(token_texts.tokens(content)) == content


def test_a_changed_archive_has_right_sums() -> None:
    content = OF_SUFFIX[".zip"]
    for number in range(TRIES):
        made = zip_archives.mutator(zip_archives.change_message)(content, content, Random(number))
        with zipfile.ZipFile(io.BytesIO(made)) as archive:
            assert archive.testzip() is None


def test_a_changed_header_has_its_length() -> None:
    content = OF_SUFFIX[".safetensors"]
    header, numbers = safetensors_files.parts(content)
    assert safetensors_files.whole(header, numbers) == content
    for number in range(TRIES):
        made = safetensors_files.change_our_text(content, content, Random(number))
        changed, behind = safetensors_files.parts(made)
        assert json.loads(changed)["__metadata__"]["placeto"]
        assert behind == numbers
