"""Mutators of texts by their tokens: protobuf's text form, cluster shorthands, the form's lines."""

import re
from random import Random

from tests.fuzz.mutators.odd_values import odd_integer, odd_text

TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"|[A-Za-z_][A-Za-z0-9_/.]*|-?[0-9][0-9.e+-]*|\s+|.', re.DOTALL)
STRINGS = (r'"\377"', r'"\u00e9"', r'"\0"', '"\\', r'"\q"', '"a" "b"', "'a'", '"' + "a" * 5000 + '"')
INSERTED = ("{", "}", "<", ">", "[", "]", ":", ";", ",", "#", "# {\n", "\0", "\n", "+", "=", "x", "-", "inf", "[a.b/c]")
LEVELS = (5, 40, 120, 20_000)


def tokens(content: bytes) -> list[str]:
    """The tokens of the text; joined again they are the text."""
    return TOKEN.findall(content.decode("utf-8", "surrogateescape"))


def joined(parts: list[str]) -> bytes:
    """The inverse of `tokens`; a half character is written as UTF-8 would write it."""
    text = "".join(parts)
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def drop_tokens(content: bytes, _other: bytes, rng: Random) -> bytes:
    """Take some tokens away."""
    parts = tokens(content)
    at = rng.randrange(len(parts) + 1)
    del parts[at : at + rng.choice((1, 1, 2, 5))]
    return joined(parts)


def repeat_tokens(content: bytes, _other: bytes, rng: Random) -> bytes:
    """Repeat some tokens."""
    parts = tokens(content)
    at = rng.randrange(len(parts) + 1)
    some = parts[at : at + rng.choice((1, 2, 10, 40))]
    parts[at:at] = some * rng.choice((1, 1, 3, 300))
    return joined(parts)


def swap_tokens(content: bytes, _other: bytes, rng: Random) -> bytes:
    """Let two tokens change places."""
    parts = tokens(content)
    if len(parts) > 1:
        first, second = rng.randrange(len(parts)), rng.randrange(len(parts))
        parts[first], parts[second] = parts[second], parts[first]
    return joined(parts)


def borrow_tokens(content: bytes, other: bytes, rng: Random) -> bytes:
    """Put a token of a kind in the place of another one of that kind."""
    parts, others = tokens(content), tokens(other if rng.random() < 0.5 else content)
    if not parts or not others:
        return content
    at = rng.randrange(len(parts))
    alike = [token for token in others if token[0].isalpha() == parts[at][0].isalpha() and not token.isspace()]
    parts[at] = rng.choice(alike or others)
    return joined(parts)


def odd_token(content: bytes, _other: bytes, rng: Random) -> bytes:
    """Put an odd text, number or sign into the text or over a token."""
    parts = tokens(content)
    new = rng.choice((odd_text(rng), str(odd_integer(rng)), rng.choice(STRINGS), rng.choice(INSERTED)))
    if parts and rng.random() < 0.5:
        at = rng.randrange(len(parts))
        quoted = len(parts[at]) > 1 and parts[at][0] == '"'
        parts[at] = f'"{new}"' if quoted and rng.random() < 0.7 else new
    else:
        parts.insert(rng.randrange(len(parts) + 1), new)
    return joined(parts)


def nest_tokens(content: bytes, _other: bytes, rng: Random) -> bytes:
    """Open many braces."""
    parts = tokens(content)
    words = [token for token in parts if token[0].isalpha()] or ["a"]
    levels, word = rng.choice(LEVELS), rng.choice(words)
    closing = "}" * levels if rng.random() < 0.7 else ""
    parts.insert(rng.randrange(len(parts) + 1), f"{word} {{ " * levels + closing)
    return joined(parts)


MUTATORS = (drop_tokens, repeat_tokens, swap_tokens, borrow_tokens, borrow_tokens, odd_token, odd_token, nest_tokens)
