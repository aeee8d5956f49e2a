"""The form of a project."""

from typing import TYPE_CHECKING

from django import forms

from webapp.projects.models import Project

if TYPE_CHECKING:
    ModelForm = forms.ModelForm[Project]
else:
    ModelForm = forms.ModelForm  # generic for the type checker only


class ProjectForm(ModelForm):
    """A project's name."""

    class Meta:
        model = Project
        fields = ("name",)
