"""The report as lines of text."""

from collections.abc import Iterable, Iterator, Mapping

from tests.fuzz.lines import functions_never_run, table
from tests.fuzz.outcomes import ABORTED, BROKEN, OVER_LIMIT, READ, REFUSED, Tally


def lines_of_tally(tally: Tally) -> Iterator[str]:
    """Outcomes by format, the slowest input, the largest child, the broken promises."""
    yield f"{tally.inputs} inputs"
    formats = sorted({name.rpartition(": ")[0] for name in tally.outcomes})
    columns = (READ, REFUSED, OVER_LIMIT, ABORTED, BROKEN)
    yield f"  {'format':<24}" + "".join(f"{column:>14}" for column in columns)
    for name in [*formats]:
        yield f"  {name:<24}" + "".join(f"{tally.outcomes.get(f'{name}: {column}', 0):>14}" for column in columns)
    yield f"slowest: {tally.slowest_seconds:.1f} s ({tally.slowest})"
    if tally.largest_bytes:
        yield f"largest resident memory of a child: {tally.largest_bytes / 1e6:.0f} MB"
    for words, files in sorted(tally.aborts.items()):
        yield f"TensorFlow ended the child: {words}"
        yield from (f"    --repeat {path}" for path in files)
    for promise, files in sorted(tally.faults.items()):
        yield f"BROKEN: {promise}"
        yield from (f"    --repeat {path}" for path in files)


def lines_of_coverage(seen: Mapping[str, Iterable[int]]) -> Iterator[str]:
    """Share of the statements that ran, by package, and the functions of which no line did."""
    rows = table(seen)
    for package, count, ran in [*rows, ("all", sum(row[1] for row in rows), sum(row[2] for row in rows))]:
        yield f"  {package:<40}{ran:>6} of {count:>6}{100 * ran / count:>8.1f} %"
    never = functions_never_run(seen)
    yield f"functions never reached: {len(never)}"
    yield from (f"  {name}" for name in never)
