"""`python -m engine`: the engine's command line. Reports go to stdout, progress and errors to stderr."""

import sys

from engine.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
