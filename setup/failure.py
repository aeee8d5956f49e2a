"""Errors of a set-up, each one line for the person who started it."""

import re

NETWORK_SIGNS = re.compile(
    r"NewConnectionError|name resolution|Name or service not known|nodename nor servname|Network is unreachable"
    r"|Connection refused|ConnectTimeout|Read timed out|ProxyError|ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT"
    r"|ENETUNREACH|ERR_SOCKET_TIMEOUT|Could not resolve|Temporary failure resolving"
)
ERROR_LINE = re.compile(r"^(?:ERROR: |npm (?:error|ERR!) |E: |Error: )(?!A complete log of this run)(?P<message>.+)$")


class SetupError(Exception):
    """The set-up cannot continue; the message is one line: what is wrong, and what to do."""


def explain(tool: str, output: str, log: str) -> str:
    """The reason why `tool` failed, one line from its output; `log` has all of the output."""
    if "No space left on device" in output or "ENOSPC" in output:
        return f"{tool}: the disk is full; all of its output: {log}"
    if NETWORK_SIGNS.search(output):
        return f"{tool}: no connection to the package registry: is there a network? All of its output: {log}"
    messages = [match["message"].strip() for line in output.splitlines() if (match := ERROR_LINE.match(line.strip()))]
    if not messages and tool.startswith("python "):  # ours: an error is the last line
        messages = [line.strip() for line in output.splitlines() if line.strip()]
    return f"{tool} failed: {messages[-1] if messages else 'it gives no reason'}; all of its output: {log}"
