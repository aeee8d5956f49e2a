"""Help: what one sees, five questions, words, methods, keys."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from engine import api
from webapp.pages.help.words import WORDS


@require_safe
def help_page(request: HttpRequest) -> HttpResponse:
    """Context: words ((section, words)), methods ((kind, methods))."""
    methods = [(kind, [method for method in api.methods() if method.kind == kind]) for kind in api.KINDS]
    words = [(section, list(found.values())) for section, found in WORDS.items()]
    return render(request, "help/page.html", {"words": words, "methods": methods})
