"""The form that starts a measurement."""

from django import forms


class ProfileForm(forms.Form):
    """A graph is run only by who says so."""

    consent = forms.BooleanField(
        label="I trust this graph: run it on the worker's machine",
        error_messages={"required": "Measuring executes the graph; it starts once you agree to that."},
    )
