"""What `--prefer` reads."""

import pytest

from engine.errors import SettingsError
from engine.search.preference import ALLOWED, Preference


@pytest.mark.parametrize(
    ("words", "read"),
    [
        ("fastest", Preference()),
        ("simplest", Preference(simplest=True, tolerance=0.01)),
        ("simplest=1%", Preference(simplest=True, tolerance=0.01)),
        ("simplest=0%", Preference(simplest=True, tolerance=0.0)),
        ("simplest=2.5%", Preference(simplest=True, tolerance=0.025)),
        ("simplest=100%", Preference(simplest=True, tolerance=1.0)),
    ],
)
def test_words_are_read_and_written_again(words: str, read: Preference) -> None:
    assert Preference.of_words(words) == read
    assert Preference.of_words(read.words) == read


@pytest.mark.parametrize("words", ["", "slowest", "simplest=", "simplest=1", "simplest=-1%", "simplest=101%", "nan%"])
def test_other_words_are_refused_with_what_is_allowed(words: str) -> None:
    with pytest.raises(SettingsError) as refused:
        Preference.of_words(words)
    assert str(refused.value) == f"prefer: {words}; allowed: {ALLOWED}"
