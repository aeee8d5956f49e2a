"""The form that starts a comparison."""

from dataclasses import dataclass
from typing import Any

from django import forms
from django.forms.boundfield import BoundWidget

from engine import api
from webapp.comparisons.models import Comparison
from webapp.form_errors import add_to_form
from webapp.runs import first_values
from webapp.runs.forms import StreamForm
from webapp.runs.method_labels import methods_by_kind, presets_in_words

MOST_RUNS = 200
FIRST_CHOICE = ("auto", "placeto", "heft", "random")
"""the recommended methods with a scheduler and a baseline, chosen when the form opens"""


@dataclass(frozen=True, slots=True)
class MethodChoice:
    """One method in the form."""

    box: BoundWidget
    info: api.Method
    preset: forms.BoundField | None
    """None where it has no presets"""


class ComparisonForm(StreamForm):
    """Devices, objective, methods, policy, seeds, budget, rules. Valid fields make `request`, for the engine."""

    methods = forms.MultipleChoiceField(label="Methods", widget=forms.CheckboxSelectMultiple)
    seeds = forms.IntegerField(
        label="Seeds",
        initial=3,
        help_text="Runs of each method, with the seeds 0, 1, …",
        widget=forms.NumberInput(attrs={"min": 1}),
    )

    once_ready = "methods can be compared"
    request: api.ComparisonRequest

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._choices("methods", methods_by_kind(marks_streams=True))
        known = [method.name for method in api.methods()]
        self.fields["methods"].initial = [name for name in FIRST_CHOICE if name in known]
        for method in api.methods():
            if method.presets:
                choices = [(preset, preset) for preset in method.presets]
                self.fields[preset_name(method.name)] = forms.ChoiceField(
                    label=f"Preset of {method.label}", required=False, choices=choices
                )

    def method_choices(self) -> list[tuple[str, list[MethodChoice]]]:
        """[(kind, one row for each method: its check box and its presets)]."""
        boxes = {str(box.data["value"]): box for box in self["methods"]}
        choices = [
            MethodChoice(boxes[info.name], info, self[preset_name(info.name)] if info.presets else None)
            for info in api.methods()
            if info.name in boxes
        ]
        return [(kind, [choice for choice in choices if choice.info.kind == kind]) for kind in api.KINDS]

    def presets_in_words(self) -> str:
        """What each preset stands for."""
        return presets_in_words(dict.fromkeys(preset for info in api.methods() for preset in info.presets))

    def clean(self) -> dict[str, Any]:
        """Make `request`; the engine's sentences go to the fields."""
        super().clean()
        cluster = self.chosen_cluster()
        if self.errors or cluster is None:
            return self.cleaned_data
        data = self.cleaned_data
        try:
            self.request = api.ComparisonRequest(
                cluster=cluster,
                methods=tuple(data["methods"]),
                budget=api.Budget(data["evaluations"], data["seconds"]),
                seeds=data["seeds"],
                settings=self._settings(data["methods"]),
                drop_devices=data["drop_devices"],
                policy=self.given_policy(),
                stream=self._stream(),
                constraints=api.Constraints.of_text(data["constraints"]),
            )
        except api.PlacetoError as error:
            add_to_form(self, error, "methods")
            return data
        runs = len(self.request.members())
        if runs > MOST_RUNS:
            self.add_error("seeds", f"{runs} runs in all; allowed: at most {MOST_RUNS}.")
        return data

    def _settings(self, methods: list[str]) -> dict[str, dict[str, api.Json]]:
        """The presets of the chosen methods that differ from the default."""
        presets = {info.name: info.presets for info in api.methods()}
        chosen = {method: self.cleaned_data.get(preset_name(method)) for method in methods}
        return {
            method: {"preset": preset} for method, preset in chosen.items() if preset and preset != presets[method][0]
        }


def first_values_of_comparison(comparison: Comparison) -> dict[str, Any]:
    """All fields of the form, so that it starts as `comparison` did."""
    presets = {preset_name(name): values.get("preset") for name, values in comparison.settings_of_methods.items()}
    return {
        **first_values.of_problem(comparison, comparison.evaluations, comparison.seconds, comparison.policy),
        "methods": comparison.methods,
        "seeds": comparison.seeds,
        "drop_devices": comparison.drop_devices,
        **first_values.of_constraints(comparison.constraints),
        **first_values.of_stream(comparison.stream),
        **presets,
    }


def preset_name(method: str) -> str:
    """The name of the field for the presets of `method`."""
    return f"preset_{method}"
