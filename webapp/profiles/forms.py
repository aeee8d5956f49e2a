"""The consent of the forms that have a graph run."""

from django import forms


class ConsentForm(forms.Form):
    """The consent without which no graph is run."""

    consent = forms.BooleanField(
        label="I trust this graph: run it on the worker's machine",
        error_messages={"required": "Measuring executes the graph; it starts once you agree to that."},
    )
