"""Addresses of webhooks."""

from django.urls import path

from webapp.pages.hooks import views

app_name = "hooks"
urlpatterns = [
    path("projects/<uuid:project_id>/hooks/", views.hook_list, name="list"),
    path("hooks/<uuid:hook_id>/", views.detail, name="detail"),
    path("hooks/<uuid:hook_id>/edit/", views.edit, name="edit"),
    path("hooks/<uuid:hook_id>/test/", views.test, name="test"),
    path("hooks/<uuid:hook_id>/switch/", views.switch, name="switch"),
    path("hooks/<uuid:hook_id>/secret/", views.secret, name="secret"),
    path("hooks/<uuid:hook_id>/delete/", views.delete, name="delete"),
    path("hooks/<uuid:hook_id>/deliveries/<uuid:delivery_id>/again/", views.send_again, name="again"),
]
