"""The home page, and the example that it opens."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from webapp.example.opening import open_example, run_example
from webapp.pages.home.page import home_page


@require_safe
@never_cache
def home(request: HttpRequest) -> HttpResponse:
    """What the application does, and where to begin."""
    return home_page(request)


@require_POST
def example(request: HttpRequest) -> HttpResponse:
    """Open the example's run, which is stored first if it is not there."""
    return redirect("runs:detail", run_id=open_example().id)


@require_POST
def run_it_yourself(request: HttpRequest) -> HttpResponse:
    """Start a run as the example's."""
    return redirect("runs:detail", run_id=run_example().id)
