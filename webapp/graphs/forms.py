"""The forms that make graphs."""

import dataclasses
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

from django import forms
from django.conf import settings

from engine import api
from webapp.form_errors import add_to_form
from webapp.graphs.format_words import formats_sentence
from webapp.graphs.graph_options import GraphOptions, groups_text
from webapp.graphs.incoming import IncomingFile
from webapp.graphs.input_shapes import input_shapes_text, parse_input_shapes
from webapp.graphs.models import Graph
from webapp.graphs.named_numbers import named_numbers_text, parse_named_numbers
from webapp.graphs.open_counts import OpenCount, batch_hint, named_shape_words, open_counts, shortened_in_the_middle

TIMES_SUFFIXES = (".pb", ".json", ".json.gz", ".csv")
GROUPS_ALLOWED = "auto, an integer from 1, or all"
NOT_AN_INTEGER = {"invalid": "Enter an integer."}
EXAMPLES = {"trips": "while=40", "sizes": "Where=100"}
MOST_FETCHES = 1000
MOST_ROWS = 50
"""loops, or sizes, with a field of their own when a graph is read again"""


def _lines(example: str) -> forms.Textarea:
    """A field with one line for each name."""
    return forms.Textarea(attrs={"rows": 3, "spellcheck": "false", "placeholder": example})


class OptionsForm(forms.Form):
    """How to read a graph. Valid fields make `options`, which the row stores."""

    batch_size = forms.IntegerField(
        label="Batch size",
        required=False,
        help_text="For inputs whose first dimension the file leaves open.",
        error_messages=NOT_AN_INTEGER,
    )
    groups = forms.CharField(
        label="Groups",
        required=False,
        initial=groups_text(api.AUTO_GROUPS),
        help_text="auto: a search moves large and small groups of ops; other methods place about 128. "
        "Or the most groups to merge into, or all for no merging.",
    )
    signature = forms.CharField(
        label="Signature",
        required=False,
        help_text="For a SavedModel. Leave empty for serving_default, or for the only one.",
    )
    tags = forms.CharField(
        label="Tags",
        required=False,
        widget=forms.TextInput(attrs={"spellcheck": "false", "placeholder": "train"}),
        help_text="For a SavedModel with several graphs: the tags of the one to read, as train or serve,gpu. "
        f"{api.tags_text(())} is the one without tags.",
    )
    fetches = forms.CharField(
        label="Fetches",
        required=False,
        widget=_lines("train\nlogits:0"),
        help_text="One op or output per line, in place of a signature. Leave empty for what the file names, or else "
        "for all but initialisers, savers and summaries.",
    )
    input_shapes = forms.CharField(
        label="Input shapes",
        required=False,
        strip=True,
        widget=_lines("images=1,224,224,3"),
        help_text="One input per line, with its shape; ? for a length that stays open.",
    )
    trips = forms.CharField(
        label="Trips of loops",
        required=False,
        strip=False,  # the lines are numbered
        widget=_lines(EXAMPLES["trips"]),
        help_text="One loop per line, with how many times a step runs its body, where the file does not say.",
    )
    sizes = forms.CharField(
        label="Sizes that depend on data",
        required=False,
        strip=False,  # the lines are numbered
        widget=_lines(EXAMPLES["sizes"]),
        help_text="One op per line, with the length of its output. The default is the largest possible length.",
    )
    offload = forms.BooleanField(
        label="Weights may wait in CPU memory",
        required=False,
        help_text="For a PyTorch recording, or node-link JSON, of inference: what does not fit on a GPU waits in CPU "
        "memory and is copied to its ops in each step, as accelerate does with a device map's modules on cpu.",
    )
    run_metadata = forms.FileField(
        label="Measured times",
        required=False,
        allow_empty_file=True,  # refused in our own words
        widget=forms.ClearableFileInput(attrs={"accept": ",".join(TIMES_SUFFIXES)}),
        help_text="RunMetadata with step stats (.pb) of the graph, ONNX Runtime's profile (.json) or node memory "
        "(.csv) of an ONNX model, or a trace of torch.profiler (.json, .json.gz) of a recorded step; they replace the "
        "estimates.",
    )
    profile_kind = forms.ChoiceField(
        label="Measured on",
        required=False,
        help_text="The kind of device on which these times were measured.",
    )

    options: GraphOptions

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["profile_kind"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [("", "all devices of this class"), *((kind.name, kind.name) for kind in api.device_kinds())]

    def clean_batch_size(self) -> int | None:
        """The engine checks it."""
        batch_size: int | None = self.cleaned_data["batch_size"]
        with _sentence_at_field():
            api.ReadingOptions(batch_size=batch_size)
        return batch_size

    def clean_groups(self) -> api.Groups:
        """The number of groups, None for `all`, or `auto`."""
        with _sentence_at_field():
            return _groups(self.cleaned_data["groups"])

    def clean_input_shapes(self) -> dict[str, tuple[int, ...]]:
        """Name → shape; the engine checks them."""
        with _sentence_at_field():
            return dict(
                api.ReadingOptions(input_shapes=parse_input_shapes(self.cleaned_data["input_shapes"])).input_shapes
            )

    def clean_tags(self) -> tuple[str, ...] | None:
        """The tags; None where the field is empty."""
        text: str = self.cleaned_data["tags"]
        return api.tags_of_text(text) if text else None

    def clean_fetches(self) -> tuple[str, ...]:
        """The fetches, each once; the graph's reader checks them."""
        lines = (line.strip() for line in self.cleaned_data["fetches"].splitlines())
        fetches = tuple(dict.fromkeys(line for line in lines if line))
        if len(fetches) > MOST_FETCHES:
            raise forms.ValidationError(f"{len(fetches)} fetches; allowed: at most {MOST_FETCHES}")
        return fetches

    def clean_trips(self) -> dict[str, int]:
        """Name of a loop → trips; the engine checks them."""
        return self._clean_counts("trips")

    def clean_sizes(self) -> dict[str, int]:
        """Name of an op → length; the engine checks them."""
        return self._clean_counts("sizes")

    def clean(self) -> dict[str, Any]:
        """Make `options`; the engine's errors appear at the fields."""
        super().clean()
        data = self.cleaned_data
        try:
            self._check_files()
            self._check_profile_kind()
        except api.PlacetoError as error:
            add_to_form(self, error, "run_metadata")
        if not self.errors:
            try:
                self.options = GraphOptions(self._reading(), data["groups"], data["profile_kind"] or None)
            except api.PlacetoError as error:
                add_to_form(self, error, "fetches")
        return data

    def _reading(self) -> api.ReadingOptions:
        """The options of reading. Raises SettingsError for two that exclude each other."""
        data = self.cleaned_data
        return api.ReadingOptions(
            data["signature"],
            data["batch_size"],
            data["input_shapes"],
            data.get("trips", {}),
            data.get("sizes", {}),
            data["fetches"],
            data["tags"],
            data.get("offload", False),
        )

    @property
    def times_file(self) -> IncomingFile | None:
        """The file of measured times, if one was sent."""
        return cast(IncomingFile | None, self.cleaned_data.get("run_metadata"))

    def _clean_counts(self, kind: str) -> dict[str, int]:
        with _sentence_at_field():
            return _checked(kind, parse_named_numbers(self.cleaned_data[kind], kind, EXAMPLES[kind]))

    def _check_files(self) -> None:
        """Raise GraphError for the wrong number of files, a wrong suffix or an empty file."""
        sent = [(name, file) for name in self.files for file in self.files.getlist(name)]
        extra = [file.name or "" for name, file in sent if name not in self.fields]
        if extra or len(sent) > len(self.files):
            what = f"{len(sent)} files were sent"
            raise api.GraphError(what, allowed="one graph, and one file of measured times", field="file")
        times = self.times_file
        if times is None:
            return
        name = times.name or "times"
        if not name.lower().endswith(TIMES_SUFFIXES):
            allowed = (
                ".pb; of an ONNX model .json or .csv, a profile or node memory of ONNX Runtime; of a step recorded in "
                "PyTorch .json or .json.gz, a trace of torch.profiler"
            )
            raise api.GraphError("this is not RunMetadata", where=name, allowed=allowed, field="run_metadata")
        if not times.size:
            allowed = "RunMetadata with step stats"
            raise api.GraphError("the file is empty", where=name, allowed=allowed, field="run_metadata")

    def _check_profile_kind(self) -> None:
        kind = self.cleaned_data.get("profile_kind")
        if (
            kind
            and "run_metadata" in self.cleaned_data
            and self.times_file is None
            and not self.cleaned_data.get("keep_times")
        ):
            what = f"{kind} without measured times"
            raise api.SettingsError(what, where="measured on", allowed="only beside RunMetadata", field="profile_kind")


class UploadForm(OptionsForm):
    """A graph's file, and how to read it."""

    file = forms.FileField(
        label="Graph file",
        allow_empty_file=True,  # refused with the engine's sentence
        help_text=formats_sentence(api.FORMATS),
        widget=forms.ClearableFileInput(
            attrs={"accept": ",".join(api.FORMATS), "data-conversions": json.dumps(api.CONVERSIONS)}
        ),
        error_messages={"required": "No file was chosen; allowed: " + ", ".join(api.FORMATS)},
    )

    @staticmethod
    def limit_bytes() -> int:
        """The largest upload, both files together."""
        return int(settings.UPLOAD_LIMIT_BYTES)


class AgainForm(OptionsForm):
    """A stored graph, to be read with other options."""

    leaves_nothing_open: bool
    """whether the file fixes its step, so that the form has fields for groups and weights alone"""
    has_own_times: bool
    """whether it also fixes the times, so that the form hides those fields too"""
    batch_hint: tuple[int, int] | None
    """(ops that a batch size gives a cost, ops without one): the page then shows the field beside these numbers"""
    form_id = "read-again"

    keep_times = forms.BooleanField(label="Keep the measured times", required=False)

    def __init__(self, graph: Graph, *args: Any, **kwargs: Any) -> None:
        options = graph.own_options
        initial = {
            "batch_size": options.reading.batch_size,
            "groups": groups_text(options.groups),
            "signature": options.reading.signature,
            "input_shapes": input_shapes_text(options.reading.input_shapes),
            "trips": named_numbers_text(options.reading.trips),
            "sizes": named_numbers_text(options.reading.sizes),
            "fetches": "\n".join(options.reading.fetches),
            "tags": "" if options.reading.tags is None else api.tags_text(options.reading.tags),
            "offload": options.reading.offload,
            "keep_times": graph.has_times,
            "profile_kind": options.profile_kind or "",
        }
        super().__init__(*args, initial=initial, **kwargs)
        self.leaves_nothing_open = graph.format.is_closed
        self.has_own_times = self.leaves_nothing_open and not graph.is_recording
        if api.OFFLOAD not in graph.format.options:
            del self.fields["offload"]
        if not graph.has_times:
            del self.fields["keep_times"]
        signatures = graph.signatures
        if len(signatures) > 1:
            old = self.fields["signature"]
            self.fields["signature"] = forms.ChoiceField(
                label=old.label,
                required=False,
                choices=[("", "default"), *((name, name) for name in signatures)],
            )
        self._given = {"trips": options.reading.trips, "sizes": options.reading.sizes}
        self._rows: dict[str, list[OpenCount]] = {"trips": [], "sizes": []}
        summary = graph.summary if isinstance(graph.summary, dict) else {}
        self.batch_hint = None if self.leaves_nothing_open else batch_hint(summary)
        if self.batch_hint:
            self.fields["batch_size"].widget.attrs["form"] = self.form_id
            self.fields["batch_size"].help_text = ""
        for kind, found in open_counts(summary).items():
            if found is not None and not self.leaves_nothing_open:
                self._add_rows(kind, found)

    @property
    def trips_rows(self) -> list[tuple[OpenCount, forms.BoundField]]:
        """Loops with a field of their own."""
        return [(row, self[row.key]) for row in self._rows["trips"]]

    @property
    def sizes_rows(self) -> list[tuple[OpenCount, forms.BoundField]]:
        """Sizes with a field of their own."""
        return [(row, self[row.key]) for row in self._rows["sizes"]]

    def id_for_trips(self, name: str) -> str:
        """The id of the field for the trips of this loop."""
        keys = [row.key for row in self._rows["trips"] if row.name == name] or ["trips"]
        return self[keys[0]].id_for_label

    def clean(self) -> dict[str, Any]:
        """Merge the rows into the lines."""
        for kind, rows in self._rows.items():
            if not self.has_error(kind):
                self._take_rows(kind, rows)
        return super().clean()

    def _add_rows(self, kind: str, found: list[OpenCount]) -> None:
        """Add a field for each of the first; the others, and names that the reading did not find, stay lines."""
        rows = self._rows[kind] = found[:MOST_ROWS]
        for row in rows:
            self.fields[row.key] = forms.IntegerField(
                label=row.label, required=False, help_text=row.words, error_messages=NOT_AN_INTEGER
            )
            self.initial[row.key] = self._given[kind].get(row.name, row.counted)
        with_field = {row.name for row in rows}
        others = {name: count for name, count in self._given[kind].items() if name not in with_field}
        self.initial[kind] = named_numbers_text(others)
        if not others and len(found) <= MOST_ROWS:
            del self.fields[kind]
        elif rows:
            self.fields[kind].label = {"trips": "Trips of other loops", "sizes": "Sizes of other ops"}[kind]

    def _take_rows(self, kind: str, rows: list[OpenCount]) -> None:
        """Put the rows into `cleaned_data[kind]`; a number that the user has not changed stays open."""
        lines: dict[str, int] = self.cleaned_data.get(kind) or {}
        counts = dict(lines)
        for row in rows:
            count = self.cleaned_data.get(row.key)
            if row.name in lines:
                self.add_error(kind, f"{row.label}: it has a field of its own; allowed: names without one")
            if count is None or (count == row.counted and row.name not in self._given[kind]):
                continue
            try:
                counts |= _checked(kind, {row.name: count})
            except api.PlacetoError as error:
                self.add_error(row.key, str(error))
        self.cleaned_data[kind] = counts


class BeginForm(forms.Form):
    """What a file leaves open, asked before it is read. Valid fields make `options`."""

    batch_size = forms.IntegerField(
        label="Batch size",
        initial=32,
        help_text="How many examples one step takes.",
        error_messages={**NOT_AN_INTEGER, "required": "Enter a batch size, or read the graph as it is."},
    )

    options: GraphOptions

    def __init__(self, graph: Graph, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._known = graph.own_options
        self.inputs = graph.asked
        if not any(each.needs_batch_size for each in self.inputs):
            del self.fields["batch_size"]
        self._axes: dict[str, tuple[str, int]] = {}
        self._dimensions: dict[str, str] = {}
        for number, each in enumerate(self.inputs):
            for axis in (at for at, length in enumerate(each.shape) if length == api.OPEN_LENGTH):
                if dimension := each.name_of(axis):
                    self._add_dimension(dimension)
                elif axis:
                    key = f"length_{number}_{axis}"
                    self._axes[key] = each.name, axis
                    self._add_length(key, f"Length {axis + 1} of {shortened_in_the_middle(each.name)}")

    def _add_dimension(self, name: str) -> None:
        """A field for all lengths of one name."""
        if name not in self._dimensions.values():
            key = f"dimension_{len(self._dimensions)}"
            self._dimensions[key] = name
            self._add_length(key, f"Length of {shortened_in_the_middle(name)}")

    def _add_length(self, key: str, label: str) -> None:
        self.fields[key] = forms.IntegerField(
            label=label,
            required=False,
            min_value=1,
            max_value=api.MOST_DIMENSION,
            help_text="Leave empty to keep it open.",
            error_messages=NOT_AN_INTEGER,
        )

    @property
    def rows(self) -> list[tuple[str, str]]:
        """Name and shape of each input, for people."""
        return [(each.name, named_shape_words(each)) for each in self.inputs]

    def clean(self) -> dict[str, Any]:
        """Make `options`."""
        super().clean()
        if self.errors:
            return self.cleaned_data
        reading, shapes = self._known.reading, {each.name: list(each.shape) for each in self.inputs}
        given = {key: length for key in self._axes if (length := self.cleaned_data.get(key)) is not None}
        batch_size: int | None = self.cleaned_data.get("batch_size")
        for key, length in given.items():
            name, axis = self._axes[key]
            shapes[name][axis] = length
            if batch_size is not None and shapes[name][0] == api.OPEN_LENGTH:
                shapes[name][0] = batch_size
        sizes = {
            name: length for key, name in self._dimensions.items() if (length := self.cleaned_data.get(key)) is not None
        }
        closed = {name: tuple(shapes[name]) for name in dict.fromkeys(self._axes[key][0] for key in given)}
        try:
            options = dataclasses.replace(
                reading,
                batch_size=reading.batch_size if batch_size is None else batch_size,
                input_shapes={**reading.input_shapes, **closed},
                sizes={**reading.sizes, **sizes},
            )
        except api.PlacetoError as error:
            add_to_form(self, error, next(iter(self.fields)))
        else:
            self.options = dataclasses.replace(self._known, reading=options)
        return self.cleaned_data


class SampleForm(forms.Form):
    """Which sample to build."""

    sample = forms.ChoiceField(label="Sample", widget=forms.RadioSelect)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["sample"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = list(api.samples().items())
        field.initial = next(iter(api.samples()), None)

    def rows(self) -> list[tuple[str, str, str]]:
        """(name, label up to its first comma, the rest of the label)."""
        parts = [(name, label.partition(",")) for name, label in api.samples().items()]
        return [(name, what, more.strip()) for name, (what, _, more) in parts]


@contextmanager
def _sentence_at_field() -> Iterator[None]:
    """Show an error of the engine at the field that is being cleaned."""
    try:
        yield
    except api.PlacetoError as error:
        raise forms.ValidationError(str(error)) from None


def _checked(kind: str, counts: dict[str, int]) -> dict[str, int]:
    """`counts`. Raises SettingsError if the engine does not allow them."""
    options = api.ReadingOptions(trips=counts) if kind == "trips" else api.ReadingOptions(sizes=counts)
    return dict(options.trips if kind == "trips" else options.sizes)


def _groups(text: str) -> api.Groups:
    """The number of groups, None for `all`, or `auto`. Raises SettingsError."""
    word = text.strip().lower() or api.AUTO_GROUPS
    if word == "all":
        return None
    if word == api.AUTO_GROUPS:
        return api.AUTO_GROUPS
    if not (word.isascii() and word.isdigit() and len(word) <= 9 and int(word) >= 1):
        raise api.SettingsError(f"{word[:40]!r}", where="groups", allowed=GROUPS_ALLOWED, field="groups")
    return int(word)
