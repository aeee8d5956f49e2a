"""Addresses of links, and of what they open."""

from django.urls import include, path

from webapp.pages.comparisons import views as comparisons
from webapp.pages.explorer import drawings
from webapp.pages.explorer import views as explorer
from webapp.pages.exports import views as exports
from webapp.pages.graphs import views as graphs
from webapp.pages.plans import views as plans
from webapp.pages.runs import downloads
from webapp.pages.sharing import links, views
from webapp.pages.sharing.views import below

_BELOW_A_LINK = [
    path("", views.page, name="page"),
    path("events.json", views.events_json),
    path("events", views.stream),
    path("graph.json", below(run_id=drawings.graph_of_run)),
    path("ops.json", below(graph_id=explorer.ops)),
    path("costs.json", below(graph_id=explorer.costs)),
    path("drawing.json", below(run_id=drawings.drawing_of_run, graph_id=drawings.drawing)),
    path("scope.json", below(run_id=drawings.scope_of_run, graph_id=drawings.scope)),
    path("flat/<str:of>", below(graph_id=drawings.flat_view)),
    path("blocks/<int:number>", below(run_id=drawings.block_of_run, graph_id=drawings.block)),
    path("blocks/ops", below(run_id=drawings.ops_of_blocks_of_run, graph_id=drawings.ops_of_blocks)),
    path("explanations/<int:seq>", below(run_id=explorer.explanation)),
    path("blocks.json", below(run_id=explorer.stream_blocks)),
    path("step", below(run_id=explorer.step)),
    path("gains.json", below(run_id=explorer.gains)),
    path("exports/run/run.html", below(run_id=exports.html_file)),
    path("exports/run/<str:name>", below(run_id=exports.of_run)),
    path("exports/<str:name>", below(run_id=exports.of_placement)),
    path("placement.json", below(run_id=downloads.download), {"name": "placement.json"}),
    path("simplest/placement.json", below(run_id=downloads.download_simplest), {"name": "placement.json"}),
    path("report.json", below(run_id=downloads.download), {"name": "report.json"}),
    path("view.json", below(graph_id=graphs.view)),
    path("status.json", below(graph_id=graphs.status)),
    path("plan.json", below(search_id=plans.report)),
    path("table.html", below(comparison_id=comparisons.table_part)),
    path("comparison.md", below(comparison_id=comparisons.table)),
    path("comparison.json", below(comparison_id=comparisons.report)),
    path("comparison.svg", below(comparison_id=comparisons.figure), {"suffix": ".svg"}),
    path("comparison.png", below(comparison_id=comparisons.figure), {"suffix": ".png"}),
]
"""What the pages ask for, by addresses relative to their own; nothing that changes a row, and no file of a user."""

app_name = "sharing"
urlpatterns = [
    path("shared/<str:token>/", include(_BELOW_A_LINK)),
    *(address for kind in links.KINDS for address in kind.paths()),
    path("links/<uuid:link_id>/revoke", links.revoke, name="revoke"),
]
