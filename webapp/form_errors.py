"""The sentences at the fields of a form."""

from django.forms import BaseForm

from engine import api
from webapp.option_words import with_fields


def shorten_refused_values(form: BaseForm) -> None:
    """Shorten the values that Django's own sentences repeat: a user may send a choice of any length."""
    for errors in form.errors.as_data().values():
        for error in errors:
            if error.params and isinstance(error.params.get("value"), str):
                error.params["value"] = api.shortened(error.params["value"])


def form_errors(form: BaseForm) -> dict[str, list[str]]:
    """A form's sentences by field."""
    return {
        "" if field == "__all__" else field: [str(sentence) for sentence in sentences]
        for field, sentences in form.errors.items()
    }


def add_to_form(form: BaseForm, error: api.PlacetoError, field: str) -> None:
    """Put the engine's error at the field that it names, or else at `field`."""
    form.add_error(error.field if error.field in form.fields else field, with_fields(str(error)))
