"""Renames a row, as its page does."""

from webapp.api.form_schemas import FormBody, fields_of, filled
from webapp.jobs.deletion import Deletable
from webapp.pages.renaming import NameForm, store_name


@fields_of(NameForm, required=("name",))
class NameBody(FormBody):
    """A new name."""


def renamed(row: Deletable, body: FormBody, *, may_be_empty: bool = False) -> None:
    """Give `row` the name. Raises RefusedError. `may_be_empty`: the row has words for itself without a name."""
    store_name(row, filled(NameForm, body, may_be_empty=may_be_empty).cleaned_data["name"])
