"""Starts a child: reads its order from standard input and carries it out. `parent.py` runs it; it is not for people."""

import json
import sys
from pathlib import Path
from typing import Any

from engine.child import own_network, sandbox

if __name__ == "__main__":
    order: dict[str, Any] = json.loads(sys.stdin.buffer.read())
    if order["own_network"]:
        try:
            own_network.enter()
        except OSError as error:
            order |= {"function": own_network.REFUSE, "arguments": {"reason": error.strerror}}

    if order["reads"] is not None:
        sandbox.enter(Path(order["folder"]), map(Path, order["reads"]))

    from engine.child.process import carry_out_and_exit  # it starts threads, so namespace and sandbox come first

    carry_out_and_exit(order)
