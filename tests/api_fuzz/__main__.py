"""The command: `python -m tests.api_fuzz --seconds 600 --seed 0`. Its exit status is 1 if a promise was broken."""

import argparse
import logging
import os
import sys
import tempfile
import time
import warnings
from collections import Counter


def main() -> int:
    """Send requests until the time is over, and say what came of them."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--seconds", type=float, default=600.0)
    words.add_argument("--seed", type=int, default=0)
    words.add_argument("--accounts", action="store_true", help="with accounts, and the token of an owner")
    options = words.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        accounts = "local" if options.accounts else "off"
        os.environ |= {
            "PLACETO_DATA": folder,
            "DJANGO_SETTINGS_MODULE": "webapp.settings",
            "PLACETO_ACCOUNTS": accounts,
            "PLACETO_API_REQUESTS_PER_MINUTE": "0",
        }
        return _fuzz(options.seconds, options.seed, with_token=options.accounts)


def _fuzz(seconds: float, seed: int, *, with_token: bool) -> int:
    import django

    django.setup()
    logging.disable(logging.WARNING)  # a refused request is no news here
    warnings.filterwarnings("ignore", message="StreamingHttpResponse must consume")  # files, under WSGI
    from tests.api_fuzz.requests import MODES, FailureGroup, attempt, operations
    from tests.api_fuzz.rows import rows_to_name

    ended, waiting, owner = rows_to_name()
    token = owner if with_token else ""
    until, statuses, faults = time.monotonic() + seconds, Counter[int](), dict[str, str]()
    found, number = list(operations()), seed
    while time.monotonic() < until:
        for operation in found:
            for mode in MODES:
                try:
                    statuses.update(attempt(operation, mode, (ended, waiting), 10, number, token))
                except FailureGroup as group:
                    faults[f"{operation.label} {mode}"] = "\n".join(map(str, group.exceptions))
                if time.monotonic() > until:
                    break
        number += 1
    for name, words in faults.items():
        print(f"{name}\n{words}\n")
    counts = ", ".join(f"{count} with {status}" for status, count in sorted(statuses.items()))
    print(f"{statuses.total()} requests in {number - seed} rounds over {len(found)} operations: {counts}")
    print(f"{len(faults)} broken promises")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
