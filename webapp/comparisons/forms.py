"""The form that starts a comparison."""

from typing import Any

from django import forms

from engine import api
from webapp.runs.forms import ProblemForm
from webapp.user_errors import add_to_form

MOST_RUNS = 200
FIRST_CHOICE = ("auto", "local_search", "heft", "random")
"""chosen when the form is opened: quick ones"""


class ComparisonForm(ProblemForm):
    """Devices, methods, seeds, budget. `request`, made of valid fields, is what is started."""

    methods = forms.MultipleChoiceField(label="Methods", widget=forms.CheckboxSelectMultiple)
    seeds = forms.IntegerField(label="Seeds", initial=3, help_text="Runs of each method, with the seeds 0, 1, …")

    request: api.ComparisonRequest

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._choices("methods", [(method.name, method.label) for method in api.methods()])
        known = [method.name for method in api.methods()]
        self.fields["methods"].initial = [name for name in FIRST_CHOICE if name in known]

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
                drop_devices=data["drop_devices"],
            )
        except api.PlacetoError as error:
            add_to_form(self, error, "methods")
            return data
        runs = len(self.request.members())
        if runs > MOST_RUNS:
            self.add_error("seeds", f"{runs} runs in all; allowed: at most {MOST_RUNS}.")
        return data
