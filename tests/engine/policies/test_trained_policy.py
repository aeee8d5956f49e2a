"""A policy's file: what was written is read, and every bad file gets its own line."""

import dataclasses
import subprocess
import sys

import numpy as np
import pytest

from engine.api import MOST_POLICY_BYTES, read_policy
from engine.errors import SettingsError
from engine.files.tensor_file import pack_tensors
from engine.policies.card import HeldOut, PolicyCard
from engine.policies.settings import ChangedSetting, PolicyTrainingSettings, changed_settings
from tests.engine.policies.small_policies import card_with_a_misfit, changed, changed_weights, small_card, small_policy

VERSION = "allowed: version 3"
COUNT = "allowed: an integer from 0 to 9223372036854775807"
NO_FILE = "this is not a file of Placeto; allowed: a file written by Placeto"
BAD_FILES: dict[str, tuple[bytes, str]] = {
    "empty": (b"", NO_FILE),
    "truncated": (small_policy().to_bytes()[:-1], NO_FILE),
    "foreign safetensors": (b"\x02\0\0\0\0\0\0\0{}", NO_FILE),
    "too large": (bytes(MOST_POLICY_BYTES + 1), "the file is too large; allowed: at most 64.0 MiB"),
    "no version": (pack_tensors({}, {}), f"its version is nothing; {VERSION}"),
    "an earlier version": (changed("version", 2), f"its version is 2; {VERSION}"),
    "a later version": (changed("version", 4), f"its version is 4; {VERSION}"),
    "no settings": (changed("settings", None), "its settings are nothing; allowed: a JSON object"),
    "settings as a list": (changed("settings", [1]), "its settings are a list; allowed: a JSON object"),
    "a preset that no training has": (changed("settings.preset", "paper"), "its preset is paper; allowed: fast"),
    "rewards that no training has": (
        changed("settings.reward", "intermediate"),
        "its reward is intermediate; allowed: terminal",
    ),
    "many passes an episode": (changed("settings.passes", 100), "its passes is 100; allowed: 1"),
    "batches beyond memory": (
        changed("settings.batch_episodes", 4096),
        "its batch_episodes is 4096; allowed: at most 1024",
    ),
    "another network": (changed("settings.network", "published"), "its network is published; allowed: shared_head"),
    "a width of no number": (
        changed("settings.hidden_width", "8"),
        "its settings: hidden_width: '8'; allowed: an integer from 1 to 1024",
    ),
    "a rate that no float can hold": (
        changed("settings.learning_rate", 10**400),
        f"its settings: learning_rate: 1{'0' * 78}…; allowed: a number from 1e-09 to 1",
    ),
    "another width": (
        changed("settings.hidden_width", 16),
        "the weights 'own.bias' are float32 [8]; allowed: float32 [16]",
    ),
    "missing weights": (
        changed_weights("score.weight", None),
        "the weights 'score.weight' are missing; allowed: float32 [1, 8]",
    ),
    "more weights": (
        changed_weights("more", np.zeros(3, np.float32)),
        "the weights 'more' are not known; allowed: the 33 that its settings ask for",
    ),
    "integers": (
        changed_weights("score.weight", np.zeros((1, 8), np.int64)),
        "the weights 'score.weight' are int64 [1, 8]; allowed: float32 [1, 8]",
    ),
    "another shape": (
        changed_weights("score.weight", np.zeros((8, 1), np.float32)),
        "the weights 'score.weight' are float32 [8, 1]; allowed: float32 [1, 8]",
    ),
    "not a number": (
        changed_weights("score.weight", np.full((1, 8), np.nan, np.float32)),
        "the weights 'score.weight' are not all finite; allowed: finite numbers",
    ),
    "weights that no training reaches": (
        changed_weights("score.weight", np.full((1, 8), -1e38, np.float32)),
        "the weights 'score.weight' reach -1e+38; allowed: numbers from -1e+06 to 1e+06",
    ),
    "no card": (changed("card", None), "the card is nothing; allowed: a JSON object"),
    "a card without a name": (
        changed("card.name", None),
        "the card's name is nothing; allowed: a printable text of at most 200 characters",
    ),
    "a name of two lines": (
        changed("card.name", "a\nb"),
        "the card's name is 'a\\nb'; allowed: a printable text of at most 200 characters",
    ),
    "an endless name": (
        changed("card.engine_version", "1" * 201),
        f"the card's engine_version is '{'1' * 78}…; allowed: a printable text of at most 200 characters",
    ),
    "a seed as text": (changed("card.seed", "7"), f"the card's seed is '7'; {COUNT}"),
    "a negative count": (changed("card.episodes", -1), f"the card's episodes is -1; {COUNT}"),
    "true as a count": (changed("card.episodes", True), f"the card's episodes is true; {COUNT}"),
    "half an evaluation": (changed("card.evaluations", 0.5), f"the card's evaluations is 0.5; {COUNT}"),
    "graphs as text": (changed("card.graphs", "nmt"), "the card's graphs is 'nmt'; allowed: a list of at most 4096"),
    "graphs of numbers": (
        changed("card.graphs", [1]),
        "the card's graphs is 1; allowed: printable texts of at most 200 characters",
    ),
    "too many graphs": (
        changed("card.graphs", ["g"] * 4097),
        "the card's graphs is a list of 4097; allowed: a list of at most 4096",
    ),
    "too many clusters": (
        changed("card.clusters", ["2xK80"] * 65),
        "the card's clusters is a list of 65; allowed: a list of at most 64",
    ),
    "endless seconds": (
        changed("card.seconds", 1e300),
        "the card's seconds is 1e+300; allowed: a number from 0 to 1e+18",
    ),
    "a training as a list": (
        changed("card.training", ["seconds"]),
        "the card's training is a list; allowed: a JSON object",
    ),
    "too many settings": (
        changed("card.training", {f"s{index}": 1 for index in range(201)}),
        "the card's training is an object of 201; allowed: an object of at most 200",
    ),
    "a setting's name in two lines": (
        changed("card.training", {"a\nb": 1}),
        "the card's training is of 'a\\nb'; allowed: names of at most 200 characters",
    ),
    "an endless setting": (
        changed("card.training", {"seconds": 1e300}),
        "the card's training is 1e+300 for seconds; allowed: a number, true, false, or a printable text of at most 200 "
        "characters",
    ),
    "a held-out row of text": (
        changed("card.held_out", ["row"]),
        "a row of held_out is 'row'; allowed: a JSON object",
    ),
    "a search of no time": (
        changed("card.held_out.0.search_us", 0),
        "the card's search_us is 0; allowed: a number from 1e-09 to 1e+18",
    ),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_a_bad_file_gets_its_own_line(name: str) -> None:
    blob, message = BAD_FILES[name]
    with pytest.raises(SettingsError) as caught:
        read_policy(blob, "odd.safetensors")
    assert str(caught.value) == f"odd.safetensors: {message}"
    assert caught.value.field == "policy"


def test_what_was_written_is_read() -> None:
    policy = small_policy()
    again = read_policy(policy.to_bytes(), "small.safetensors")
    assert (again.settings, again.card) == (policy.settings, policy.card)
    assert again.weights.keys() == policy.weights.keys()
    assert all(np.array_equal(again.weights[name], array) for name, array in policy.weights.items())
    assert again.to_bytes() == policy.to_bytes()


def test_numbers_around_the_file_make_no_traceback() -> None:
    whole = small_policy().to_bytes()
    rng = np.random.default_rng(0)
    for _ in range(200):
        spoiled = bytearray(whole)
        for position in rng.integers(0, 3000, 3):
            spoiled[position] = int(rng.integers(256))
        try:
            read_policy(bytes(spoiled), "spoiled")
        except SettingsError as error:
            assert "\n" not in str(error)


def test_settings_that_are_younger_than_the_file_have_their_defaults() -> None:
    assert read_policy(changed("settings.start_tolerance", None), "older").settings.start_tolerance == 0.02


def test_the_gaps_of_what_was_held_out() -> None:
    card = small_card()
    assert card.mean_gap == pytest.approx((0.1 + 0.25) / 2)
    assert card.worst_gap == pytest.approx(0.25)
    assert card.mean_best_of_gap == pytest.approx((-0.01 + 0.25) / 2)
    reported = card.to_json()
    assert [reported[name] for name in ("mean_gap", "worst_gap")] == [card.mean_gap, card.worst_gap]
    assert PolicyCard.from_json(reported, "card") == card


def test_where_nothing_was_held_out_there_is_no_gap() -> None:
    card = PolicyCard("p", "0", 0, (), (), (), 0, 0, 0, 0.0)
    assert card.mean_gap is card.worst_gap is card.mean_best_of_gap is None


def test_a_file_without_a_search_s_evaluations_is_read() -> None:
    card = read_policy(changed("card.held_out.0.search_evaluations", None), "older").card
    assert [row.search_evaluations for row in card.held_out] == [0, 50]
    with pytest.raises(SettingsError, match="the card's search_evaluations is -1; allowed: an integer from 0"):
        read_policy(changed("card.held_out.0.search_evaluations", -1), "odd")


def test_a_gap_that_the_file_claims_is_computed_anew() -> None:
    assert read_policy(changed("card.mean_gap", -0.9), "proud").card.mean_gap == small_card().mean_gap


def test_a_row_s_gaps() -> None:
    row = HeldOut(
        "g", "2xK80", greedy_us=3.0, best_of_us=2.0, samples=1, search_us=2.0, search_seconds=1.0, search_evaluations=50
    )
    assert (row.gap, row.best_of_gap) == (0.5, 0.0)


def test_where_no_pass_fits_there_is_no_gap_and_the_card_says_so() -> None:
    card, small = card_with_a_misfit(), small_card()
    assert card.misfits == 1 and card.to_json()["misfits"] == 1
    for name in ("mean_gap", "worst_gap", "mean_best_of_gap"):
        assert getattr(card, name) == getattr(small, name) is not None, "of those that fit"
    assert (card.held_out[2].gap, card.held_out[2].best_of_gap) == (None, None)
    assert PolicyCard.from_json(card.to_json(), "the card") == card
    alone = dataclasses.replace(card, held_out=card.held_out[2:])
    assert (alone.misfits, alone.mean_gap, alone.worst_gap, alone.mean_best_of_gap) == (1, None, None, None)


@pytest.mark.slow
def test_reading_a_policy_loads_no_torch() -> None:
    code = (
        "import sys; from engine.api import read_policy\n"
        "print(read_policy(sys.stdin.buffer.read(), 'x').card.name)\n"
        "print('torch' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], input=small_policy().to_bytes(), capture_output=True, check=True
    )
    assert done.stdout.split() == [b"small", b"False"]


def test_only_settings_that_are_not_as_usual_are_reported() -> None:
    usual = dataclasses.asdict(PolicyTrainingSettings())
    assert changed_settings({}) == changed_settings(usual) == []
    changes = {"drawn": 8, "seconds": 60.0, "drawn_without": "nmt", "of_another_version": True}
    assert changed_settings(usual | changes) == [
        ChangedSetting("seconds", "60", "3600"),
        ChangedSetting("drawn", "8", "0"),
        ChangedSetting("drawn_without", "nmt", "empty"),
        ChangedSetting("of_another_version", "true", ""),
    ]
