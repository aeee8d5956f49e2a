"""The form that starts a run."""

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.urls import reverse
from django.utils.functional import cached_property
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.text import Truncator

from engine import api
from webapp.form_errors import add_to_form
from webapp.graphs.models import Graph
from webapp.graphs.placeable import require_placeable
from webapp.graphs.prepared import prepared_of
from webapp.option_words import DROP_DEVICES_LABEL
from webapp.policies.models import Policy, PolicyFile
from webapp.policies.offered import offered_policies, words_on_a_cut
from webapp.runs.devices_text import (
    FIRST_DEVICES,
    DescribedDevices,
    describe_devices,
    device_choices,
    parse_devices,
)
from webapp.runs.machines import machine_choices
from webapp.runs.method_labels import methods_by_kind, presets_in_words
from webapp.workers.machine_file import own_machine

LEAST_SECONDS = 1e-6
"""which the page lets through; the engine allows any number above 0"""
ZERO_SHOT_METHOD = "placeto"
"""which evaluates the policy's greedy pass first"""

DEVICES_HELP = format_html(
    "Devices and links, as <code>{}</code> or <code>{}</code>; cluster JSON", "4xV100+cpu", "2xA100:80GiB+cpu@nvlink"
)
FASTEST = api.Preference().words
PREFERENCES = [
    (FASTEST, "the fastest"),
    *((f"simplest={percent}%", f"the simplest, at most {percent} % slower") for percent in (1, 2, 5, 10)),
]
"""what the engine reads, and words for people; a run finds both placements whatever is chosen"""


MOST_CONSTRAINTS = 100_000
"""characters"""
CONSTRAINTS_EXAMPLE = "together encoder/*\napart expert_1/* expert_2/*\noff head GPU:0"
CONSTRAINTS_HELP = format_html(
    "One a line: <code>{}</code>, <code>{}</code>, <code>{}</code>. Ops by name; <code>*</code> stands for any text.",
    *("together OPS …", "apart OPS OPS …", "off OPS … DEVICE"),
)
OBJECTIVES = [
    (str(api.Objective.STEP_TIME), "Step time of one step"),
    (str(api.Objective.THROUGHPUT), "Throughput of a stream of micro-batches"),
]
FIRST_MICRO_BATCHES = 8
USUAL = "usual"
PIPELINES = [
    (USUAL, "usual"),
    *((str(pipeline), str(pipeline)) for pipeline in api.Pipeline),
]


class OptionSelect(forms.Select):
    """A select whose options carry attributes for the page's scripts."""

    attributes: Mapping[str, Mapping[str, object]] = {}
    """value of an option → its HTML attributes"""

    def render(self, name: str, value: Any, attrs: dict[str, Any] | None = None, renderer: object = None) -> SafeString:  # noqa: ARG002  Django's signature
        """Django's HTML without its templates: for 200 policies they take 20 ms."""
        widget = self.get_context(name, value, attrs)["widget"]
        groups = ((label, _options(options)) for label, options, _ in widget["optgroups"])
        parts = (
            format_html('<optgroup label="{}">{}</optgroup>', label, inner) if label else inner
            for label, inner in groups
        )
        inside = format_html_join("", "{}", ((part,) for part in parts))
        return format_html('<select name="{}"{}>{}</select>', widget["name"], _attributes(widget["attrs"]), inside)

    def create_option(
        self,
        name: str,
        value: Any,
        label: int | str,
        selected: bool,
        index: int,
        subindex: int | None = None,
        attrs: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Django's option, with the attributes of its value."""
        option = super().create_option(name, value, label, selected, index, subindex, attrs)
        option["attrs"] |= self.attributes.get(str(value), {})
        return option


def _options(rows: list[dict[str, Any]]) -> SafeString:
    """The options of a select, or of one of its groups."""
    values = ((option["value"], _attributes(option["attrs"]), option["label"]) for option in rows)
    return format_html_join("", '<option value="{}"{}>{}</option>', values)


def _attributes(attributes: Mapping[str, object]) -> SafeString:
    """As HTML, in their order; True: the name alone."""
    values = (
        (name, "" if value is True else format_html('="{}"', value))
        for name, value in attributes.items()
        if value is not False
    )
    return format_html_join("", " {}{}", values)


class DevicesForm(forms.Form):
    """Devices, as every form of work on a cluster has them."""

    cluster = forms.CharField(
        label="As text",
        strip=True,
        initial=FIRST_DEVICES,
        widget=forms.Textarea(attrs={"rows": 1, "spellcheck": "false"}),
        error_messages={"required": f"Describe the devices, such as {FIRST_DEVICES}."},
    )
    drop_devices = forms.BooleanField(label=DROP_DEVICES_LABEL, required=False)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._offer_devices()

    def _offer_devices(self) -> None:
        """The measured machines, each as a whole, beside what a person may write."""
        own = own_machine()
        self._machines = machine_choices(own)
        words = "About measured machines" if self._machines else "Calibrate this machine"
        link = format_html('<a href="{}">{}</a>', reverse("machine:page"), words)
        names = format_html_join("", ", or <code>{}</code>", ((name,) for name in self._machines))
        self.fields["cluster"].help_text = format_html("{}{}. {} {}", DEVICES_HELP, names, own.fault, link)

    @property
    def device_choices(self) -> dict[str, api.Json]:
        """For the builder in the browser."""
        return device_choices(self._machines, self.described)

    @cached_property
    def described(self) -> DescribedDevices:
        """What the field for devices says."""
        return describe_devices(str(self["cluster"].value() or ""), self._machines)

    def _choices(self, name: str, choices: Sequence[tuple[str, str | list[tuple[str, str]]]]) -> None:
        """Set the choices of a field, in groups or not; the first one is chosen if there are no groups."""
        field = self.fields[name]
        assert isinstance(field, forms.ChoiceField)
        field.choices = choices
        field.initial = choices[0][0]

    def chosen_cluster(self) -> api.Cluster | None:
        """The cluster that the field says, or None if it is invalid."""
        text = self.cleaned_data.get("cluster")
        if not text:
            return None
        try:
            return parse_devices(text, self._machines)
        except api.ClusterError as error:
            self.add_error("cluster", str(error))
            return None


class ProblemForm(DevicesForm):
    """Devices, policy, budget and constraints: the fields of every form that starts runs."""

    evaluations = forms.IntegerField(
        label="Evaluations", initial=2000, widget=forms.NumberInput(attrs={"min": 1, "max": api.MOST_EVALUATIONS})
    )
    seconds = forms.FloatField(
        label="Time limit (s)",
        required=False,
        help_text="Leave empty for no limit.",
        widget=forms.NumberInput(attrs={"min": LEAST_SECONDS}),
    )
    policy = forms.ChoiceField(
        label="Apply a policy",
        required=False,
        widget=OptionSelect,
        help_text="Placeto evaluates its proposals, then keeps learning; Auto searches from them.",
        error_messages={
            "invalid_choice": "The chosen policy has been deleted or is no longer offered; "
            "allowed: one of the list, or none."
        },
    )
    constraints = forms.CharField(
        label="Rules",
        required=False,
        max_length=MOST_CONSTRAINTS,
        help_text=CONSTRAINTS_HELP,
        widget=forms.Textarea(attrs={"rows": 3, "spellcheck": "false", "placeholder": CONSTRAINTS_EXAMPLE}),
    )

    once_ready = "a run can be started"
    """what a graph that has been read is good for"""
    policy_row: Policy | None = None
    """the chosen policy"""
    lacks_room = False
    """whether the graph fits no placement on the devices, so that no run could begin"""
    default_fault: str
    """why the release's policy is not offered; empty if it is, or if there is none"""

    def __init__(self, *args: Any, graph: Graph | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._graph = graph
        offered = offered_policies(None if graph is None else graph.project)
        self.default_fault = offered.default_fault
        self._policies = {str(policy.id): policy for policy in offered.policies}
        words = [
            (key, f"{Truncator(policy.name).chars(60)}: {policy.trained_on}") for key, policy in self._policies.items()
        ]
        self._choices("policy", [("", "none: start from scratch"), *words])
        self.fields["policy"].help_text = self._policy_help()

    @property
    def has_constraints(self) -> bool:
        """Whether the form shows constraints, or what is wrong with them."""
        return bool(self["constraints"].value() or self["constraints"].errors)

    @property
    def policies(self) -> list[Policy]:
        """The offered policies."""
        return list(self._policies.values())

    def _policy_help(self) -> str:
        if not self._policies:
            address = reverse("policies:list")
            return format_html('<a href="{}">Train or upload a policy</a> to choose one here.', address)
        return f"{self.fields['policy'].help_text} {words_on_a_cut(self.policies)}".strip()

    def given_policy(self) -> api.GivenPolicy | None:
        """The chosen policy with its file, which becomes `policy_row`. Raises SettingsError if it is gone."""
        self.policy_row = self._policies.get(self.cleaned_data["policy"])
        if self.policy_row is None:
            return None
        file = PolicyFile.objects.filter(policy=self.policy_row).first()
        if file is None:
            name = self.policy_row.name
            raise api.SettingsError("it has been deleted", where=name, allowed="an existing policy", field="policy")
        return api.GivenPolicy(bytes(file.blob))

    def _attributes(self, name: str, attributes: Mapping[str, Mapping[str, object]]) -> None:
        widget = self.fields[name].widget
        assert isinstance(widget, OptionSelect)
        widget.attributes = attributes

    def require_placeable(self, graph: Graph, request: api.RunRequest | api.ComparisonRequest) -> None:
        """Put at its field why no run could place `graph` as the valid form asks; also that it is not ready."""
        if not graph.is_ready:
            self.add_error(None, f"This graph has not been read yet; {self.once_ready} once it is ready.")
            return
        try:
            require_placeable(
                graph, request.cluster, drop_devices=request.drop_devices, constraints=request.constraints
            )
        except api.PlacetoError as error:
            self.lacks_room = isinstance(error, api.InfeasibleError)
            add_to_form(self, error, "cluster")


class StreamForm(ProblemForm):
    """The objective, and the stream of micro-batches whose throughput is to be great.

    With the graph that it is for, the usual pipeline is that of the graph, and its passes are checked.
    """

    objective = forms.ChoiceField(
        label="Objective", choices=OBJECTIVES, required=False, widget=forms.RadioSelect, initial=OBJECTIVES[0][0]
    )
    micro_batches = forms.IntegerField(
        label="Micro-batches",
        required=False,
        initial=FIRST_MICRO_BATCHES,
        widget=forms.NumberInput(attrs={"min": 1, "max": api.MOST_MICRO_BATCHES}),
    )
    pipeline = forms.ChoiceField(
        label="Pipeline",
        choices=PIPELINES,
        required=False,
        help_text="Usual: 1f1b for a graph with a backward pass, else inference.",
    )
    contiguous = forms.BooleanField(
        label="Contiguous stages: a device runs one part of each pass, as PyTorch's pipelining requires", required=False
    )
    recompute = forms.BooleanField(
        label="Recompute: stages run again before their backward pass, which takes time and saves memory",
        required=False,
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)

    def clean(self) -> dict[str, Any]:
        """Forget what is wrong in fields of a stream where none is asked for: no one sees them then."""
        super().clean()
        if self.cleaned_data.get("objective") != api.Objective.THROUGHPUT:
            for name in ("micro_batches", "pipeline"):
                self.errors.pop(name, None)
        return self.cleaned_data

    @property
    def is_for_a_stream(self) -> bool:
        """Whether the form asks for the throughput of a stream."""
        return str(self["objective"].value()) == api.Objective.THROUGHPUT

    def _stream(self) -> api.Stream | None:
        """The stream that is asked for. Raises SettingsError, also where the graph lacks its passes."""
        data = self.cleaned_data
        if data["objective"] != api.Objective.THROUGHPUT:
            return None
        ready = self._graph if self._graph is not None and self._graph.is_ready else None
        graph = None if ready is None else prepared_of(ready).graph
        asked = data["pipeline"] or USUAL
        if asked != USUAL:
            pipeline = api.pipeline_of(asked)
        else:
            pipeline = api.Pipeline.INFERENCE if graph is None else api.usual_pipeline(graph)
        micro_batches = FIRST_MICRO_BATCHES if data["micro_batches"] is None else data["micro_batches"]
        recompute = api.Recompute.STAGES if data["recompute"] else api.Recompute.NONE
        stream = api.Stream(micro_batches, pipeline, data["contiguous"], recompute)
        if graph is not None:
            api.require_stream(graph, stream)
        return stream


class RunForm(StreamForm):
    """Devices, objective, method, policy, budget, seed. Valid fields make `request`, for the engine."""

    method = forms.ChoiceField(label="Method", widget=OptionSelect)
    preset = forms.CharField(label="Preset", required=False)
    zero_shot = forms.BooleanField(
        label="Zero-shot: only the policy's first proposals",
        required=False,
        widget=forms.CheckboxInput(attrs={"data-method": ZERO_SHOT_METHOD}),
    )
    seed = forms.IntegerField(label="Seed", min_value=0, max_value=api.MOST_SEED, initial=0)
    prefer = forms.ChoiceField(label="Placement to offer first", choices=PREFERENCES, required=False)
    request: api.RunRequest

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        methods = api.methods()
        self._choices("method", methods_by_kind(marks_streams=True))
        self.fields["method"].initial = methods[0].name
        self._attributes("method", {method.name: _method_attributes(method) for method in methods})
        presets = dict.fromkeys(preset for method in methods for preset in method.presets)
        self.fields["preset"].help_text = presets_in_words(presets)
        self.fields["preset"].widget = forms.Select(choices=[("", "default"), *((name, name) for name in presets)])
        default_policy = next((policy for policy in self.policies if policy.source == Policy.DEFAULT), None)
        self.fields["policy"].initial = str(default_policy.id) if default_policy else ""
        if self.is_bound and self.data.get("zero_shot"):
            self.fields["evaluations"].required = False

    def clean(self) -> dict[str, Any]:
        """Make `request`; the engine's errors appear at the fields."""
        super().clean()
        self._check_preset()
        self._check_zero_shot()
        cluster = self.chosen_cluster()
        if self.errors or cluster is None:
            return self.cleaned_data
        data = self.cleaned_data
        try:
            self.request = api.RunRequest(
                cluster=cluster,
                method=data["method"],
                budget=api.Budget(self._evaluations(cluster), data["seconds"]),
                seed=data["seed"],
                settings={"preset": data["preset"]} if data["preset"] else {},
                drop_devices=data["drop_devices"],
                policy=self.given_policy(),
                prefer=api.Preference.of_words(data["prefer"] or FASTEST),
                stream=self._stream(),
                constraints=api.Constraints.of_text(data["constraints"]),
            )
        except api.PlacetoError as error:
            add_to_form(self, error, "method")
        return data

    def _evaluations(self, cluster: api.Cluster) -> int:
        if self.cleaned_data["zero_shot"]:
            return api.zero_shot_evaluations(cluster)
        evaluations: int = self.cleaned_data["evaluations"]
        return evaluations

    def _check_zero_shot(self) -> None:
        data = self.cleaned_data
        if not data.get("zero_shot"):
            return
        if not data.get("policy") and "policy" not in self.errors:
            self.add_error("zero_shot", "Zero-shot needs a policy; choose one.")
        elif data.get("method") not in (None, ZERO_SHOT_METHOD):
            self.add_error("zero_shot", "Zero-shot works with Placeto only.")

    def _check_preset(self) -> None:
        preset, method = self.cleaned_data.get("preset"), self.cleaned_data.get("method")
        presets = {info.name: info.presets for info in api.methods()}
        if not preset or method is None or preset in presets[method]:
            return
        allowed = ", ".join(presets[method]) or "none for this method"
        self.add_error("preset", f"There is no preset {api.shortened(preset)!r}; allowed: {allowed}.")


def _method_attributes(method: api.Method) -> dict[str, object]:
    return {
        "data-presets": " ".join(method.presets),
        "data-does": method.does,
        "data-takes-a-policy": method.takes_policy,
        "data-policy-preset": method.policy_preset,
        "data-streams-only": method.streams_only,
        "data-keeps-contiguous": method.keeps_contiguous,
    }
