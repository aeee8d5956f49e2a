"""The commands of `python -m engine`, one file each, and the lines that describe a graph as read."""

import argparse
from typing import TypeAlias

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
"""the subparsers, to which each command adds its own"""
