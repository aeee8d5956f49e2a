"""`python -m setup application|tests`: make a checkout ready; `node` and `browser` print a path.

`python -m setup constraints` writes constraints.txt anew.
"""

import argparse
import fcntl
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from setup.browser import Browser
from setup.commands import say
from setup.compiled_engine import CompiledEngine
from setup.constraints import renew
from setup.failure import SetupError
from setup.front_end import FrontEnd
from setup.python_packages import APPLICATION, TESTS, PythonPackages

ROOT = Path(__file__).resolve().parent.parent


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Wait until no other set-up works on this checkout. The lock is on the folder itself and leaves nothing behind."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("waiting for another set-up of this checkout")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def browser_path() -> Path:
    """The browser of the tests. Raises SetupError."""
    found = Browser(ROOT).find()
    if found is None:
        raise SetupError("no Chromium: `make test` installs one")
    return found


def main(arguments: list[str]) -> int:
    """Do one step; if it fails, print one line on stderr and return 1."""
    parser = argparse.ArgumentParser(prog="python -m setup", description=__doc__)
    parser.add_argument("step", choices=["application", "tests", "node", "browser", "constraints"])
    step = parser.parse_args(arguments).step
    try:
        if step == "node":
            print(FrontEnd(ROOT).node())
        elif step == "browser":
            print(browser_path())
        elif step == "constraints":
            renew(ROOT)
        else:
            with alone(ROOT):
                PythonPackages(ROOT).install(APPLICATION if step == "application" else TESTS)
                FrontEnd(ROOT).install()
                if step == "tests":
                    FrontEnd(ROOT).ensure_node()
                    Browser(ROOT).install()
                else:
                    CompiledEngine(ROOT).compile()
    except (SetupError, OSError) as error:
        print(f"set-up: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
