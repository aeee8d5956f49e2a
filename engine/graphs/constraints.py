"""Constraints: which ops must share a device, which must not, and which devices are closed to an op; one rule a line.

    together encoder/*
    apart expert_1/* expert_2/*
    off head GPU:0

A word names an op; with a `*`, which stands for any text, all ops whose names match. A word with spaces is quoted. In a
rule `off` the last word is a device, by its name, or a kind or class of devices.
"""

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.errors import SettingsError, shortened
from engine.events import Json
from engine.files.json_text import shown
from engine.graphs.apart import Apart

FIELD = "constraints"
TOGETHER, APART, OFF = "together", "apart", "off"
LEAST_WORDS = {TOGETHER: 1, APART: 2, OFF: 2}
FORMS = "together OPS …, apart OPS OPS …, off OPS … DEVICE"
ANY_TEXT = "*"
MOST_RULES, MOST_WORDS = 1000, 10_000
MOST_PATTERNS = 1000
"""words with a `*`, each of which is compared with every op"""
MOST_COMPARED = 20_000_000
"""ops times such words: some seconds"""
Words = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Constraints:
    """Rules of a graph or of a request, as people write them. Raises SettingsError for a rule of another form."""

    together: tuple[Words, ...] = ()
    """the ops of all words of a rule share a device"""
    apart: tuple[Words, ...] = ()
    """no device has ops of two words of a rule"""
    off: tuple[Words, ...] = ()
    """the ops of all words but the last are not on the device that the last one names"""

    def __post_init__(self) -> None:
        words = [words for _, words in self._rules()]
        for count, most, what in (
            (len(words), MOST_RULES, "rules"),
            (sum(map(len, words)), MOST_WORDS, "words"),
            (self.patterns, MOST_PATTERNS, "words with a *"),
        ):
            if count > most:
                raise SettingsError(f"{count:,} {what}", where=FIELD, allowed=f"at most {most:,}", field=FIELD)
        for kind, of_rule in self._rules():
            if len(of_rule) < LEAST_WORDS[kind] or "" in of_rule:
                raise _of_another_form(_line(kind, of_rule))

    def __bool__(self) -> bool:
        """Whether there are rules."""
        return bool(self.together or self.apart or self.off)

    @property
    def patterns(self) -> int:
        """The number of words with a `*`."""
        return sum(ANY_TEXT in word for _, words in self._rules() for word in words)

    def and_those(self, other: "Constraints") -> "Constraints":
        """The rules of both."""
        if not other:
            return self
        return Constraints(self.together + other.together, self.apart + other.apart, self.off + other.off)

    @staticmethod
    def of_lines(lines: Iterable[str]) -> "Constraints":
        """The rules of `lines`; empty ones and those that begin with `#` say nothing. Raises SettingsError."""
        rules: dict[str, list[Words]] = {kind: [] for kind in LEAST_WORDS}
        for line in lines:
            if not line.strip() or line.lstrip().startswith("#"):
                continue
            try:
                kind, *words = shlex.split(line)
            except ValueError:  # an open quote
                raise _of_another_form(line) from None
            if kind not in rules:
                raise _of_another_form(line)
            rules[kind].append(tuple(words))
        return Constraints(**{kind: tuple(of_kind) for kind, of_kind in rules.items()})

    @staticmethod
    def of_text(text: str) -> "Constraints":
        """The rules of a text with one on each line. Raises SettingsError."""
        return Constraints.of_lines(text.splitlines())

    @property
    def lines(self) -> list[str]:
        """The rules as a person writes them; the inverse of `of_lines`."""
        return [_line(kind, words) for kind, words in self._rules()]

    def to_json(self) -> Json:
        """A list of rules."""
        return [*self.lines]

    @staticmethod
    def from_json(value: Json) -> "Constraints":
        """The inverse of `to_json`. Raises SettingsError."""
        lines = [line for line in value if isinstance(line, str)] if isinstance(value, list) else []
        if not isinstance(value, list) or len(lines) < len(value):
            raise SettingsError(shown(value), where=FIELD, allowed=f"a list of rules: {FORMS}", field=FIELD)
        return Constraints.of_lines(lines)

    def _rules(self) -> Iterator[tuple[str, Words]]:
        for kind in LEAST_WORDS:
            for words in getattr(self, kind):
                yield kind, words


@dataclass(frozen=True, slots=True, eq=False)
class ConstrainedOps:
    """The ops that rules name."""

    rules: Constraints
    together: tuple[NDArray[np.int64], ...]
    """[rules] the ops of each, in their order"""
    apart: Apart
    """of ops; a rule's parts are its words"""
    off: tuple[NDArray[np.int64], ...]
    """[rules] the ops of each, in their order"""

    @staticmethod
    def of(rules: Constraints, op_names: Sequence[str]) -> "ConstrainedOps":
        """The ops of `op_names` that `rules` name. Raises SettingsError for a word that names none."""
        if rules.patterns * len(op_names) > MOST_COMPARED:
            what = f"{rules.patterns} words with a * for {len(op_names):,} ops"
            raise SettingsError(what, where=FIELD, allowed=f"at most {MOST_COMPARED // len(op_names)}", field=FIELD)
        names = _Names(op_names if rules else ())
        together = tuple(names.of_all(words, TOGETHER, words) for words in rules.together)
        parts = [[names.of(word, APART, words) for word in words] for words in rules.apart]
        for words, of_words in zip(rules.apart, parts, strict=True):
            ops, times = np.unique(np.concatenate(of_words), return_counts=True)
            if (times > 1).any():
                twice = shortened(op_names[int(ops[times > 1][0])])
                raise _wrong(f"{twice} cannot be apart from itself", _line(APART, words), "words without a common op")
        off = tuple(names.of_all(words[:-1], OFF, words) for words in rules.off)
        return ConstrainedOps(rules, together, Apart.of(parts), off)

    def marks(self, ops: int) -> list[NDArray[np.bool_]]:
        """[ops] for each part of a rule that keeps ops apart or off devices, whether an op is in it."""
        parts = np.unique(np.stack((self.apart.rule, self.apart.part)), axis=1).T
        members = [self.apart.member[(self.apart.rule == rule) & (self.apart.part == part)] for rule, part in parts]
        return [np.isin(np.arange(ops), its) for its in (*members, *self.off)]

    def line_of_apart(self, rule: int) -> str:
        """The rule of this number among those that keep ops apart, as a person writes it."""
        return _line(APART, self.rules.apart[rule])

    def require_possible(self, class_of_op: NDArray[np.int32], op_names: Sequence[str]) -> None:
        """Raise SettingsError where ops of one class [ops], which share a device, are to be apart."""
        for rule, one, other in self.apart.clashes(class_of_op):
            what = f"{shortened(op_names[one])} and {shortened(op_names[other])} must share a device"
            raise _wrong(what, self.line_of_apart(rule), "ops that may be apart")


class _Names:
    """Finds ops by the words of rules."""

    def __init__(self, op_names: Sequence[str]) -> None:
        self._op_names = op_names
        self._op_of_name = {name: op for op, name in enumerate(op_names)}

    def of_all(self, words: Words, kind: str, rule: Words) -> NDArray[np.int64]:
        """The ops of all `words` of a rule, each once, in order."""
        return np.unique(np.concatenate([self.of(word, kind, rule) for word in words]))

    def of(self, word: str, kind: str, rule: Words) -> NDArray[np.int64]:
        """The ops of a word of a rule, in order. Raises SettingsError for one that names none."""
        if word in self._op_of_name:
            return np.array([self._op_of_name[word]])
        found: list[int] = []
        if ANY_TEXT in word:
            first, *middle, last = word.split(ANY_TEXT)
            found = [op for op, name in enumerate(self._op_names) if _matches(name, first, middle, last)]
        if not found:
            what = f"{shortened(word)} names no op"
            raise _wrong(what, _line(kind, rule), "an op's name, or a text with * that matches some")
        return np.array(found)


def _matches(name: str, first: str, middle: Sequence[str], last: str) -> bool:
    """Whether `name` is these texts in this order with any text between them."""
    at, end = len(first), len(name) - len(last)
    if at > end or not name.startswith(first) or not name.endswith(last):
        return False
    for text in middle:
        at = name.find(text, at, end) + len(text)
        if at < len(text):
            return False
    return True


def _line(kind: str, words: Words) -> str:
    return " ".join((kind, *map(_quoted, words)))


def _quoted(word: str) -> str:
    if word and not re.search(r"""[\s"'\\]""", word):
        return word
    escaped = word.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _wrong(what: str, line: str, allowed: str) -> SettingsError:
    return SettingsError(what, where=f"the rule `{shortened(line)}`", allowed=allowed, field=FIELD)


def _of_another_form(line: str) -> SettingsError:
    return _wrong("it has another form", line, FORMS)
