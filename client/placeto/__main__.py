"""`python -m placeto`."""

import sys

from placeto.command_line import main

if __name__ == "__main__":
    sys.exit(main())
