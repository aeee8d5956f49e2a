"""Addresses of explanations."""

from django.urls import path

from webapp.pages.explorer import drawings, methods, others, views
from webapp.pages.explorer.bands import band
from webapp.pages.explorer.decisions import decisions

app_name = "explorer"
urlpatterns = [
    path("graphs/<uuid:graph_id>/ops.json", views.ops, name="ops"),
    path("graphs/<uuid:graph_id>/drawing.json", drawings.drawing, name="drawing"),
    path("graphs/<uuid:graph_id>/scope.json", drawings.scope, name="scope"),
    path("graphs/<uuid:graph_id>/costs.json", views.costs, name="costs"),
    path("graphs/<uuid:graph_id>/flat/<str:of>", drawings.flat_view, name="flat_view"),
    path("graphs/<uuid:graph_id>/blocks/<int:number>", drawings.block, name="block"),
    path("graphs/<uuid:graph_id>/blocks/ops", drawings.ops_of_blocks, name="ops_of_blocks"),
    path("graphs/<uuid:graph_id>/methods.json", methods.methods, name="methods"),
    path("runs/<uuid:run_id>/graph.json", drawings.graph_of_run, name="graph_of_run"),
    path("runs/<uuid:run_id>/drawing.json", drawings.drawing_of_run, name="drawing_of_run"),
    path("runs/<uuid:run_id>/scope.json", drawings.scope_of_run, name="scope_of_run"),
    path("runs/<uuid:run_id>/blocks/<int:number>", drawings.block_of_run, name="block_of_run"),
    path("runs/<uuid:run_id>/blocks/ops", drawings.ops_of_blocks_of_run, name="ops_of_blocks_of_run"),
    path("runs/<uuid:run_id>/step", views.step, name="step"),
    path("runs/<uuid:run_id>/blocks.json", views.stream_blocks, name="stream_blocks"),
    path("runs/<uuid:run_id>/gains.json", views.gains, name="gains"),
    path("runs/<uuid:run_id>/band.json", band, name="band"),
    path("runs/<uuid:run_id>/decisions/<int:seq>", decisions, name="decisions"),
    path("runs/<uuid:run_id>/explanations/<int:seq>", views.explanation, name="explanation"),
    path("runs/<uuid:run_id>/others.json", others.others, name="others"),
    path("runs/<uuid:run_id>/others/<uuid:other_id>.json", others.other, name="other"),
]
