"""Addresses of links, and of what they open."""

from django.urls import include, path

from webapp.pages.comparisons import views as comparisons
from webapp.pages.explorer import drawings
from webapp.pages.explorer import views as explorer
from webapp.pages.exports import views as exports
from webapp.pages.runs import downloads
from webapp.pages.sharing import links, views
from webapp.pages.sharing.views import of_comparison, of_graph, of_run

_BELOW_A_LINK = [
    path("", views.page, name="page"),
    path("events.json", views.events_json),
    path("events", views.stream),
    path("graph.json", of_run(drawings.graph_of_run)),
    path("ops.json", of_graph(explorer.ops)),
    path("costs.json", of_graph(explorer.costs)),
    path("drawing.json", of_run(drawings.drawing_of_run)),
    path("scope.json", of_run(drawings.scope_of_run)),
    path("flat/<str:of>", of_graph(drawings.flat_view)),
    path("blocks/<int:number>", of_run(drawings.block_of_run)),
    path("blocks/ops", of_run(drawings.ops_of_blocks_of_run)),
    path("explanations/<int:seq>", of_run(explorer.explanation)),
    path("blocks.json", of_run(explorer.stream_blocks)),
    path("step", of_run(explorer.step)),
    path("gains.json", of_run(explorer.gains)),
    path("exports/run/run.html", of_run(exports.html_file)),
    path("exports/run/<str:name>", of_run(exports.of_run)),
    path("exports/<str:name>", of_run(exports.of_placement)),
    path("placement.json", of_run(downloads.download), {"name": "placement.json"}),
    path("simplest/placement.json", of_run(downloads.download_simplest), {"name": "placement.json"}),
    path("report.json", of_run(downloads.download), {"name": "report.json"}),
    path("table.html", of_comparison(comparisons.table_part)),
    path("comparison.md", of_comparison(comparisons.table)),
    path("comparison.json", of_comparison(comparisons.report)),
    path("comparison.svg", of_comparison(comparisons.figure), {"suffix": ".svg"}),
    path("comparison.png", of_comparison(comparisons.figure), {"suffix": ".png"}),
]
"""What the pages ask for, by addresses relative to their own; nothing that changes a row, and no file of a user."""

app_name = "sharing"
urlpatterns = [
    path("shared/<str:token>/", include(_BELOW_A_LINK)),
    path("runs/<uuid:run_id>/links/", links.links_of_run, name="of-run"),
    path("runs/<uuid:run_id>/links/new", links.share_run, name="share-run"),
    path("comparisons/<uuid:comparison_id>/links/", links.links_of_comparison, name="of-comparison"),
    path("comparisons/<uuid:comparison_id>/links/new", links.share_comparison, name="share-comparison"),
    path("links/<uuid:link_id>/revoke", links.revoke, name="revoke"),
]
