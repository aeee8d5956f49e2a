"""The command-line argument for a trained policy."""

import argparse
import sys
from pathlib import Path

from engine import api
from engine.errors import SettingsError, shortened

SUFFIX = ".safetensors"


def add_policy(parser: argparse.ArgumentParser, words: str) -> None:
    """Add `--policy`."""
    parser.add_argument("--policy", type=Path, metavar=f"POLICY{SUFFIX}", help=words)


def policy_of(parsed: argparse.Namespace) -> api.GivenPolicy | None:
    """The policy in the file that `--policy` names. Raises SettingsError if it is no policy, OSError."""
    if parsed.policy is None:
        return None
    return api.GivenPolicy(read_bounded(parsed.policy), shortened(parsed.policy.name))


def print_fit(policy: api.GivenPolicy | None, graph_name: str, cluster: api.Cluster) -> None:
    """Print on stderr how the training of `policy` relates to the graph and the cluster."""
    if policy is not None:
        print(api.policy_fit(policy.trained.card, graph_name, cluster).sentences, file=sys.stderr)


def read_bounded(path: Path) -> bytes:
    """Read at most one byte more than a policy may have, which is enough to refuse the file."""
    if path.is_dir():
        raise SettingsError("this is a folder", where=shortened(str(path)), allowed=f"a file {SUFFIX}", field="policy")
    with path.open("rb") as source:
        return source.read(api.MOST_POLICY_BYTES + 1)
