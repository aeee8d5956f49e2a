"""The form that starts a comparison."""

from dataclasses import dataclass
from typing import Any

from django import forms
from django.forms.boundfield import BoundWidget

from engine import api
from webapp.runs.forms import ProblemForm
from webapp.runs.method_labels import method_labels
from webapp.user_errors import add_to_form

MOST_RUNS = 200
FIRST_CHOICE = ("auto", "local_search", "heft", "random")
"""quick methods, chosen when the form opens"""


@dataclass(frozen=True, slots=True)
class MethodChoice:
    """One method in the form."""

    box: BoundWidget
    info: api.Method
    preset: forms.BoundField | None
    """None where it has no presets"""


class ComparisonForm(ProblemForm):
    """Devices, methods, policy, seeds, budget. Valid fields make `request`, the comparison to start."""

    methods = forms.MultipleChoiceField(label="Methods", widget=forms.CheckboxSelectMultiple)
    seeds = forms.IntegerField(
        label="Seeds",
        initial=3,
        help_text="Runs of each method, with the seeds 0, 1, …",
        widget=forms.NumberInput(attrs={"min": 1}),
    )

    request: api.ComparisonRequest

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._choices("methods", list(method_labels().items()))
        known = [method.name for method in api.methods()]
        self.fields["methods"].initial = [name for name in FIRST_CHOICE if name in known]
        for method in api.methods():
            if method.presets:
                choices = [(preset, preset) for preset in method.presets]
                self.fields[preset_name(method.name)] = forms.ChoiceField(
                    label=f"Preset of {method.label}", required=False, choices=choices
                )

    def method_choices(self) -> list[MethodChoice]:
        """One row for each method: its check box and its presets."""
        infos = {method.name: method for method in api.methods()}
        boxes = {str(box.data["value"]): box for box in self["methods"]}
        return [
            MethodChoice(box, infos[name], self[preset_name(name)] if infos[name].presets else None)
            for name, box in boxes.items()
        ]

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
                policy=self.policy_bytes(),
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


def preset_name(method: str) -> str:
    """The name of the field for the presets of `method`."""
    return f"preset_{method}"
