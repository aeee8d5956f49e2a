"""The forms that make graphs."""

from typing import Any

from django import forms
from django.conf import settings

from engine import api


class UploadForm(forms.Form):
    """A graph's file."""

    file = forms.FileField(
        label="Graph file",
        allow_empty_file=True,  # refused with the engine's sentence
        help_text="A TensorFlow GraphDef (.pb, .pbtxt) or node-link JSON (.json).",
        widget=forms.ClearableFileInput(attrs={"accept": ",".join(api.FORMATS)}),
        error_messages={"required": "No file was chosen; allowed: " + ", ".join(api.FORMATS)},
    )

    @staticmethod
    def limit_bytes() -> int:
        """The largest file that is taken."""
        return int(settings.UPLOAD_LIMIT_BYTES)


class SampleForm(forms.Form):
    """Which sample to build."""

    sample = forms.ChoiceField(label="Sample")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["sample"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = list(api.samples().items())
