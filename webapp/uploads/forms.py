"""The form of an upload in parts."""

from typing import Any

from django import forms
from django.conf import settings

from engine import api
from webapp.form_errors import add_to_form


class PartialUploadForm(forms.Form):
    """A file that will arrive in parts."""

    name = forms.CharField(label="File name", max_length=200, help_text="Its suffix says the format.")
    bytes = forms.IntegerField(label="Size in bytes", min_value=1)
    sha256 = forms.RegexField(
        r"^[0-9a-fA-F]{64}$",
        label="SHA-256 of the whole file",
        required=False,
        help_text="As hexadecimal digits; a file with another one is refused.",
        error_messages={"invalid": "This is no SHA-256; allowed: 64 hexadecimal digits."},
    )

    def clean(self) -> dict[str, Any]:
        """Refuse a format that nothing reads, and a file that is too large."""
        super().clean()
        data = self.cleaned_data
        try:
            if "name" in data and (suffix := api.suffix_of(data["name"])) not in api.FORMATS:
                raise api.unknown_suffix(suffix, data["name"]).at("name")
            if data.get("bytes", 0) > settings.UPLOAD_LIMIT_BYTES:
                what = f"the file is too large: {api.bytes_words(data['bytes'])}"
                raise api.LimitError(
                    what, allowed=f"at most {api.bytes_words(settings.UPLOAD_LIMIT_BYTES)}", field="bytes"
                )
        except api.PlacetoError as error:
            add_to_form(self, error, "name")
        return data
