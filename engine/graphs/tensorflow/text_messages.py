"""Reads TensorFlow's messages in protobuf's text format: which one a file holds, and its content. Runs in the child.

The bytes are untrusted: levels and ops are counted before anything is built.
"""

import re
from dataclasses import dataclass

from engine.errors import GraphError, shortened
from engine.graphs.tensorflow.messages import Message, load_messages

MOST_OPS = 1_000_000
MOST_LEVELS = 100
"""levels of nested messages; also protobuf's own limit for binary files"""


@dataclass(frozen=True, slots=True)
class TextForm:
    """A message of TensorFlow's that people write as text."""

    noun: str
    first_fields: tuple[str, ...]
    """the fields with which such a text may begin"""
    module: str
    message: str
    level_of_ops: int
    """nested messages around an op"""

    @property
    def allowed(self) -> str:
        """The form, for an error."""
        return f"a {self.noun} as text"


GRAPH = TextForm(
    "GraphDef", ("node", "versions", "version", "library"), "tensorflow.core.framework.graph_pb2", "GraphDef", 0
)
META_GRAPH = TextForm(
    "MetaGraphDef",
    (
        "meta_info_def",
        "graph_def",
        "saver_def",
        "collection_def",
        "signature_def",
        "asset_file_def",
        "object_graph_def",
    ),
    "tensorflow.core.protobuf.meta_graph_pb2",
    "MetaGraphDef",
    1,
)
SAVED_MODEL = TextForm(
    "SavedModel",
    ("saved_model_schema_version", "meta_graphs"),
    "tensorflow.core.protobuf.saved_model_pb2",
    "SavedModel",
    2,
)
FORMS = (GRAPH, META_GRAPH, SAVED_MODEL)
_START = re.compile(rb"(?:\xef\xbb\xbf)?(?:\s|#[^\n]*\n)*([a-z_]+)\s*(:?\s*[{<]|:\s*[0-9])")
_BRACES = re.compile(r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|#[^\n]*|[{}<>]")


def form_of_text(content: bytes) -> TextForm | None:
    """The form whose text `content` begins like; None where it begins like none."""
    start = _START.match(content)
    if start is None:
        return None
    first = start[1].decode("ascii")
    return next((form for form in FORMS if first in form.first_fields), None)


def text_of(content: bytes, form: TextForm) -> str:
    """The text of a file, nested no deeper and with no more ops than allowed. Raises GraphError."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        raise GraphError(f"byte {fault.start} is not UTF-8", allowed=form.allowed, field="file") from None
    _require_flat(text, form)
    return text


def message_of_text(text: str, form: TextForm) -> Message:
    """The message that `text` spells. Raises GraphError with the place of the fault."""
    text_format = load_messages("google.protobuf.text_format")
    message = getattr(load_messages(form.module), form.message)()
    try:
        text_format.Parse(text, message)
    except text_format.ParseError as fault:
        place = f"line {fault.GetLine()}, column {fault.GetColumn()}" if fault.GetLine() is not None else ""
        raise _no_text(str(fault).split(" : ", 1)[-1], form, place) from None
    except (ValueError, TypeError) as fault:  # a number that its field cannot hold
        raise _no_text(str(fault), form) from None
    return message


def _no_text(reason: str, form: TextForm, place: str = "") -> GraphError:
    what = f"the text is not a {form.noun}, or it is cut short: {shortened(reason, 200)}"
    return GraphError(what, where=place, allowed=form.allowed, field="file")


def _require_flat(text: str, form: TextForm) -> None:
    """Raise GraphError for too many levels or ops, which the parser does not limit."""
    level = messages = 0
    for match in _BRACES.finditer(text):
        brace = match.group()
        if brace in "{<":
            messages += level == form.level_of_ops
            level += 1
            if level > MOST_LEVELS:
                raise GraphError(f"nested deeper than {MOST_LEVELS} levels", allowed=form.allowed, field="file")
            if messages > MOST_OPS:
                raise GraphError(f"more than {MOST_OPS} ops", allowed=f"at most {MOST_OPS} ops", field="file")
        elif brace in "}>":
            level -= 1
