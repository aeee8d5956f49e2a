"""The page's own modules and styles as one script and one style sheet, for a file that opens without a server.

Our modules import and export by name alone, and no two import each other, so that each becomes a function of its own
that returns what it exports, in the order in which they need each other.
"""

import re
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

from django.conf import settings

FRONTEND = Path(settings.BASE_FOLDER) / "frontend"
_IMPORT = re.compile(r'^import \{([^}]*)\} from "([^"]+)";\n', re.MULTILINE)
_WHOLE_IMPORT = re.compile(r'^import \* as (\w+) from "([^"]+)";\n', re.MULTILINE)
_LATE_IMPORT = re.compile(r'await import\("([^"]+)"\)')
_EXPORT = re.compile(r"^export (?=(?:async function|function|class|const) (\w+))", re.MULTILINE)
_DEFAULT_EXPORT = re.compile(r"export\{(\w+) as default\};?\s*$")
_LEFT = re.compile(r"^(?:import|export)\b(?! \{\};$)", re.MULTILINE)


@cache
def script_of(entry: str) -> str:
    """A classic script that does what the module `entry` of `frontend/` does. Safe inside a `<script>` element."""
    texts: dict[Path, str] = {}
    needs: dict[Path, set[Path]] = {}
    waiting = [FRONTEND / entry]
    while waiting:
        path = waiting.pop()
        if path not in texts:
            texts[path] = path.read_text()
            needs[path] = {_resolved(path, address) for address in _addresses(texts[path])}
            waiting += needs[path]
    names = {path: f"module{index}" for index, path in enumerate(sorted(texts))}
    order = TopologicalSorter(needs).static_order()
    parts = [_as_function(path, texts[path], names) for path in order]
    return _in_element('"use strict";\n' + "".join(parts))


@cache
def style_of(sheets: tuple[str, ...]) -> str:
    """The style sheets one after the other. Safe inside a `<style>` element."""
    return _in_element("\n".join((FRONTEND / sheet).read_text() for sheet in sheets))


@cache
def classic_script(name: str) -> str:
    """A script of `frontend/` that is no module. Safe inside a `<script>` element."""
    return _in_element((FRONTEND / name).read_text())


def _addresses(text: str) -> list[str]:
    found = [address for _, address in _IMPORT.findall(text)]
    return found + [address for _, address in _WHOLE_IMPORT.findall(text)] + _LATE_IMPORT.findall(text)


def _resolved(path: Path, address: str) -> Path:
    found = (path.parent / address).resolve()
    assert found.is_relative_to(FRONTEND.resolve()), address
    return found


def _as_function(path: Path, text: str, names: dict[Path, str]) -> str:
    def name_of(address: str) -> str:
        return names[_resolved(path, address)]

    exported = [*_EXPORT.findall(text)]
    text = _IMPORT.sub(lambda found: f"const {{{_renamed(found[1])}}} = {name_of(found[2])};\n", text)
    text = _WHOLE_IMPORT.sub(lambda found: f"const {found[1]} = {name_of(found[2])};\n", text)
    text = _LATE_IMPORT.sub(lambda found: name_of(found[1]), text)
    text = _EXPORT.sub("", text)
    default = _DEFAULT_EXPORT.search(text)
    if default:
        text, exported = text[: default.start()], [f"default: {default[1]}"]
    left = _LEFT.search(text)
    assert left is None, f"{path.name}: {text[left.start() : left.start() + 80] if left else ''}"
    text = text.replace("\nexport {};", "")
    return f"const {names[path]} = (() => {{\n{text}\nreturn {{ {', '.join(exported)} }};\n}})();\n"


def _renamed(names: str) -> str:
    """The names of an import as those of a destructuring: `a as b` is `a: b`."""
    return re.sub(r"(\w+) as (\w+)", r"\1: \2", names)


def _in_element(text: str) -> str:
    """The same text, without what could end the element that holds it."""
    assert "<!--" not in text, "a comment of HTML would change what ends the element"
    return re.sub(r"</(script|style)", r"<\\/\1", text, flags=re.IGNORECASE)
