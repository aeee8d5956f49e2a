"""The way to a page: `{% crumbs run "Delete" %}` links the list, the project, the graph and the run above it."""

from django import template
from django.db.models import Model
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from webapp.comparisons.models import Comparison
from webapp.graphs.models import Graph
from webapp.hooks.models import Webhook
from webapp.measuring.models import StepMeasurement
from webapp.plans.models import PlanSearch
from webapp.policies.models import Policy
from webapp.projects.models import Project
from webapp.runs.models import Run

register = template.Library()


@register.simple_tag
def crumbs(row: Model, here: str = "") -> SafeString:
    """The way to the page `here` of `row`; without `here` to that of `row` itself."""
    way = _way_to(row)
    if not here:
        here = way.pop()[1]
    links = format_html_join("", '<li><a href="{}">{}</a></li>', way)
    return format_html('{}<li><span aria-current="page">{}</span></li>', links, here)


def _way_to(row: Model) -> list[tuple[str, str]]:
    """Address and words of each page from the list down to that of `row`."""
    match row:
        case Project():
            return [(reverse("projects:list"), "Projects"), (reverse("projects:detail", args=[row.id]), row.name)]
        case Graph():
            return [*_way_to(row.project), (reverse("graphs:detail", args=[row.id]), row.name)]
        case Run():
            return [*_way_to(row.graph), (reverse("runs:detail", args=[row.id]), row.name or row.method_label)]
        case Comparison():
            return [*_way_to(row.graph), (reverse("comparisons:detail", args=[row.id]), row.name or "Comparison")]
        case PlanSearch():
            return [*_way_to(row.graph), (reverse("plans:detail", args=[row.id]), row.name or "Plans")]
        case StepMeasurement():
            return [*_way_to(row.graph), (reverse("measurements:detail", args=[row.id]), "Measured placements")]
        case Webhook():
            hooks = (reverse("hooks:list", args=[row.project_id]), "Webhooks")
            return [*_way_to(row.project), hooks, (reverse("hooks:detail", args=[row.id]), row.name)]
        case Policy():
            return [(reverse("policies:list"), "Policies"), (reverse("policies:detail", args=[row.id]), row.name)]
    raise TypeError(
        f"no page for a {type(row).__name__}; "
        "allowed: project, graph, run, comparison, search, measurement, webhook, policy"
    )
