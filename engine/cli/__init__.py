"""The commands of `python -m engine`, a file each, and the lines that say what was read."""

import argparse
from typing import TypeAlias

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
"""to which each command adds its parser"""
