"""Texts and numbers that programs trip over."""

from random import Random

ODD_TEXTS = (
    "",
    " ",
    "/",
    "..",
    "^",
    "^a",
    ":0",
    "a:-1",
    "a:99999999999",
    "/device:GPU:-1",
    "/job:x/replica:0/task:0/device:GPU:4294967296",
    "\0",
    "a\nb",
    "\u202etxt.exe",
    "\u0301" * 40,
    "\ufeff",
    "\U0001f600",
    "\ud800",
    "ﷺ",
    "İı",
    "%s%n{0}",
    "<script>alert(1)</script>",
    "'; --",
    "__proto__",
    "loc:@",
    "NaN",
    "1e999",
    "0x10",
    "٣",
    "-0",
)
LENGTHS = (80, 255, 4096, 5000, 70_000)
ODD_INTEGERS = (
    0,
    1,
    -1,
    2,
    3,
    127,
    128,
    255,
    2**15,
    2**31 - 1,
    2**31,
    -(2**31),
    2**32,
    2**53 + 1,
    2**62,
    2**63 - 1,
    2**63,
    -(2**63),
    2**64 - 1,
)


def odd_text(rng: Random) -> str:
    """A text that programs trip over: odd characters, or very long."""
    chosen = rng.choice(ODD_TEXTS)
    if rng.random() < 0.15:
        return (chosen or "a") * (rng.choice(LENGTHS) // max(1, len(chosen)) + 1)
    return chosen


def odd_integer(rng: Random) -> int:
    """An integer at a border, or a small one."""
    return rng.choice(ODD_INTEGERS) if rng.random() < 0.7 else rng.randrange(-4, 300)
