"""The sentence under a field is found, wherever the class has it from."""

from dataclasses import dataclass

from engine.settings.sentences import sentences_of


@dataclass(frozen=True, slots=True)
class First:
    """Not a field's sentence."""

    size: int = 1
    """of everything;
    in two lines"""
    silent: int = 2
    share: float = 0.5
    """of "all" that `size` is"""

    def told(self) -> str:
        """Nor is this one."""
        return ""


@dataclass(frozen=True, slots=True)
class Second(First):
    share: float = 0.1
    """of something else"""
    form: str = "round"
    """round or flat"""


def test_sentences_stand_on_one_line_in_the_order_of_the_fields() -> None:
    assert list(sentences_of(First).items()) == [
        ("size", "of everything; in two lines"),
        ("share", 'of "all" that `size` is'),
    ]


def test_what_is_inherited_is_told_unless_it_is_told_anew() -> None:
    assert sentences_of(Second) == {
        "size": "of everything; in two lines",
        "share": "of something else",
        "form": "round or flat",
    }
