"""Addresses of explanations."""

from django.urls import path

from webapp.pages.explorer import views

app_name = "explorer"
urlpatterns = [
    path("graphs/<uuid:graph_id>/ops.json", views.ops, name="ops"),
    path("graphs/<uuid:graph_id>/costs.json", views.costs, name="costs"),
    path("runs/<uuid:run_id>/step", views.step, name="step"),
    path("runs/<uuid:run_id>/gains.json", views.gains, name="gains"),
    path("runs/<uuid:run_id>/explanations/<int:seq>", views.explanation, name="explanation"),
]
