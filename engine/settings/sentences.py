"""The sentence of each setting, from where it stands: the text under the field, in the source of its dataclass."""

import ast
import dataclasses
import functools
import inspect
import itertools
import textwrap
from collections.abc import Iterator, Mapping


@functools.cache
def sentences_of(kind: type) -> Mapping[str, str]:
    """Field → sentence, on one line; of a field that is inherited and not told anew, that of the class it is from."""
    inherited = (each for each in reversed(kind.__mro__) if dataclasses.is_dataclass(each))
    return {field: sentence for each in inherited for field, sentence in _told_in(each)}


def _told_in(kind: type) -> Iterator[tuple[str, str]]:
    """Of the fields that the body of `kind` has."""
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    assert isinstance(definition, ast.ClassDef)
    for field, under in itertools.pairwise(definition.body):
        if not (isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)):
            continue
        text = under.value if isinstance(under, ast.Expr) else None
        if isinstance(text, ast.Constant) and isinstance(text.value, str):
            yield field.target.id, " ".join(text.value.split())
