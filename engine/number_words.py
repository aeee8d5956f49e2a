"""Numbers in words for people: times, bytes, shares, differences.

`frontend/js/ui/format.js` writes the same in the browser; both meet the cases of `tests/number_words.json`.
"""

TIME_UNITS = ((1e6, "s"), (1e3, "ms"), (1.0, "µs"))
BYTE_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
DECIMAL_UNITS = ("", "k", "M", "G", "T", "P", "E")
LEAST_GAP = 0.0005
"""relative difference below which two times count as equal"""


def time_words(time_us: float, digits: int = 3) -> str:
    """`842 µs`, `12.3 ms`, `1.28 s`."""
    divisor, unit = next((unit for unit in TIME_UNITS if abs(time_us) >= unit[0] * 0.9995), TIME_UNITS[-1])
    return f"{_significant(time_us / divisor, digits)} {unit}"


def bytes_words(count: int) -> str:
    """`512 B`, `2.34 GiB`."""
    return _in_units(count, BYTE_UNITS, 1024)


def flops_words(count: float) -> str:
    """A number of floating-point operations: `3.87 G`."""
    return _in_units(count, DECIMAL_UNITS, 1000).strip()


def percent_words(share: float) -> str:
    """A share or a difference: `57 %`, `2.4 %`, `−0.3 %`. Below 10 % it has a decimal, unless that is zero."""
    percent = abs(100 * share)
    text = f"{percent:,.1f}".removesuffix(".0") if percent < 9.95 else f"{percent:,.0f}"
    return f"{'−' if share < 0 and text != '0' else ''}{text} %"


def part_words(share: float) -> str:
    """A part of a whole: `12 %`; 0 and 100 % only for exactly these."""
    if 0 < share < 0.01:
        return "< 1 %"
    return "> 99 %" if 0.99 < share < 1 else f"{100 * share:.0f} %"


def gap_words(gap: float) -> str:
    """How a time compares with another: `16 % faster`, `2.4 % slower`. `gap`: the time over the other one, minus 1."""
    if abs(gap) < LEAST_GAP:
        return "equally fast"
    return f"{percent_words(abs(gap))} {'slower' if gap > 0 else 'faster'}"


def counted(count: int, noun: str) -> str:
    """`1 group`, `10,061 groups`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _in_units(value: float, units: tuple[str, ...], base: int) -> str:
    power = 0
    while abs(value) >= 999.5 and power < len(units) - 1:
        value, power = value / base, power + 1
    return f"{value:,.0f} {units[0]}" if power == 0 else f"{_significant(value, 3)} {units[power]}"


def _significant(value: float, digits: int) -> str:
    """`digits` significant digits, or all of the integer part if there are more."""
    whole = len(f"{int(abs(float(f'{value:.{digits - 1}e}')))}")  # 9.996 is 10.0
    return f"{value:,.{0 if value == 0 else max(0, digits - whole)}f}"
