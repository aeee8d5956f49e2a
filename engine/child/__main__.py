"""Starts a child: reads its order from standard input and carries it out. `parent.py` runs it; it is not for people."""

import json
import sys
from typing import Any

from engine.child import own_network

if __name__ == "__main__":
    order: dict[str, Any] = json.loads(sys.stdin.buffer.read())
    if order["own_network"]:
        try:
            own_network.enter()
        except OSError as error:
            order |= {"function": own_network.REFUSE, "arguments": {"reason": error.strerror}}

    from engine.child.process import carry_out_and_exit  # it starts threads, so the namespace comes first

    carry_out_and_exit(order)
