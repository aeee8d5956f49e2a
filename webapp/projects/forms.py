"""The form of a new project."""

from itertools import count
from typing import TYPE_CHECKING, Any

from django import forms

from webapp.accounts.visitor import acting
from webapp.projects.access import store_new, visible_to
from webapp.projects.models import Project

if TYPE_CHECKING:
    ModelForm = forms.ModelForm[Project]
else:
    ModelForm = forms.ModelForm  # generic for the type checker only


class NewProjectForm(ModelForm):
    """A name; without one, the project gets one of ours."""

    class Meta:
        model = Project
        fields = ("name",)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["name"].required = False
        self.fields["name"].widget.attrs["placeholder"] = self._free_name()

    def clean_name(self) -> str:
        """The given name, or a free one."""
        return self.cleaned_data["name"] or self._free_name()

    def _free_name(self) -> str:
        seen = visible_to(acting())
        names = (f"Project {number}" for number in count(seen.count() + 1))
        return next(name for name in names if not seen.filter(name=name).exists())

    def store(self) -> Project:
        """The stored project, whose owner is the user who acts."""
        return store_new(self.save(commit=False))
