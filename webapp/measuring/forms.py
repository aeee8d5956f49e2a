"""The forms that start a profile, and a measurement of placements."""

from typing import Any

from django import forms

from engine import api
from webapp.measuring.candidates import Candidates, run_words
from webapp.runs.models import Run

MOST_RUNS = 50
LEAST_PLACEMENTS = 2


class ConsentForm(forms.Form):
    """The consent without which no graph is run."""

    consent = forms.BooleanField(
        label="I trust this graph: run it on the worker's machine",
        error_messages={"required": "Measuring executes the graph; it starts once you agree to that."},
    )


class MeasurementForm(ConsentForm):
    """Runs on one cluster, what is measured besides, and how often."""

    runs = forms.MultipleChoiceField(label="Runs", required=False, widget=forms.CheckboxSelectMultiple)
    one_device = forms.BooleanField(label="Each device alone", required=False, initial=True)
    others = forms.IntegerField(label="Random placements", min_value=0, max_value=100, initial=8)
    rounds = forms.IntegerField(label="Rounds", min_value=1, max_value=20, initial=3)
    steps = forms.IntegerField(label="Steps in a round", min_value=1, max_value=50, initial=5)

    chosen: Candidates
    """the chosen runs with their cluster"""

    def __init__(self, candidates: list[Candidates], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._candidates = candidates
        self.only_devices = candidates[0].words if len(candidates) == 1 else ""
        """the devices of all offered runs, in words; empty where they differ"""
        groups = [(each.words, [(str(run.id), _choice_words(run)) for run in each.runs]) for each in candidates]
        field = self.fields["runs"]
        assert isinstance(field, forms.MultipleChoiceField)
        field.choices = groups[0][1] if len(groups) == 1 else groups
        field.initial = [str(run.id) for run in candidates[0].runs[:MOST_RUNS]] if candidates else []

    def clean(self) -> dict[str, Any]:
        """Set `chosen`."""
        super().clean()
        ids = self.cleaned_data.get("runs")
        if ids is None:
            return self.cleaned_data
        chosen = [
            Candidates(each.cluster, [run for run in each.runs if str(run.id) in ids]) for each in self._candidates
        ]
        chosen = [each for each in chosen if each.runs]
        if not chosen:
            self.add_error("runs", "Choose at least one run.")
        elif len(chosen) > 1:
            self.add_error("runs", "These runs are on different devices; choose runs on the same ones.")
        elif len(chosen[0].runs) > MOST_RUNS:
            self.add_error("runs", f"{len(chosen[0].runs)} runs; allowed: at most {MOST_RUNS} at once.")
        else:
            self.chosen = chosen[0]
            self._require_enough()
        return self.cleaned_data

    def _require_enough(self) -> None:
        data, chosen = self.cleaned_data, self.chosen
        alone = chosen.cluster.device_count if data.get("one_device") else 0
        if len(chosen.runs) + alone + (data.get("others") or 0) < LEAST_PLACEMENTS:
            self.add_error("runs", "One placement has nothing to be compared with; choose another one.")


def _choice_words(run: Run) -> str:
    """With the simulated step."""
    assert run.best_step_time_us is not None
    return f"{run_words(run)}: {api.time_words(run.best_step_time_us)}"
