"""The modules of `frontend/` that a page needs as one script, and style sheets as one.

Our modules import and export by name alone, and no two import each other, so that each becomes a function of its own
that returns what it exports, in the order in which they need each other. The texts are the same in each process.
"""

import hashlib
import re
from functools import cache, lru_cache
from graphlib import TopologicalSorter
from pathlib import Path

from django.conf import settings

FRONTEND = Path(settings.BASE_FOLDER) / "frontend"
_ENTRY = re.compile(r"js/(?:pages|forms)/[\w-]+\.js")
_SHEET = re.compile(r"styles/[\w-]+\.css")
_IMPORT = re.compile(r'^import \{([^}]*)\} from "([^"]+)";\n', re.MULTILINE)
_WHOLE_IMPORT = re.compile(r'^import \* as (\w+) from "([^"]+)";\n', re.MULTILINE)
_LATE_IMPORT = re.compile(r'await import\("([^"]+)"\)')
_EXPORT = re.compile(r"^export (?=(?:async function|function|class|const) (\w+))", re.MULTILINE)
_DEFAULT_EXPORT = re.compile(r"export\{(\w+) as default\};?\s*$")
_LEFT = re.compile(r"^(?:import|export)\b(?! \{\};$)", re.MULTILINE)


def script_of(entry: str) -> str:
    """A classic script that does what the module `entry` of `frontend/` does. Safe inside a `<script>` element.

    Raises LookupError for what no page begins with.
    """
    if not _ENTRY.fullmatch(entry) or not (FRONTEND / entry).is_file():
        raise LookupError(f"{entry} is not the module of a page")
    return _script(entry, _changed_at())


@lru_cache(maxsize=32)
def _script(entry: str, _changed: float) -> str:
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
    order = TopologicalSorter({path: sorted(needs[path]) for path in names}).static_order()
    parts = [_as_function(path, texts[path], names) for path in order]
    return _in_element('"use strict";\n' + "".join(parts))


def sheets_of(names: str) -> tuple[str, ...]:
    """The files of style sheets with these names, `+` between them. Raises LookupError without one of them."""
    sheets = tuple(f"styles/{name}.css" for name in names.split("+"))
    for sheet in sheets:
        if not _SHEET.fullmatch(sheet) or not (FRONTEND / sheet).is_file() or sheets.count(sheet) > 1:
            raise LookupError(f"{sheet} is no style sheet, or is there twice")
    return sheets


def style_of(sheets: tuple[str, ...]) -> str:
    """The style sheets one after the other. Safe inside a `<style>` element."""
    return _style(sheets, _changed_at())


@lru_cache(maxsize=64)
def _style(sheets: tuple[str, ...], _changed: float) -> str:
    return _in_element("\n".join((FRONTEND / sheet).read_text() for sheet in sheets))


@lru_cache(maxsize=128)
def digest_of(text: str) -> str:
    """What differs between two texts, short enough for an address."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _changed_at() -> float:
    """When a file has last changed, where files may change while the server runs: with DEBUG alone."""
    if not settings.DEBUG:
        return 0.0
    return max(path.stat().st_mtime for folder in ("js", "styles") for path in (FRONTEND / folder).rglob("*"))


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
