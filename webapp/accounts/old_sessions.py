"""Removes sessions that have ended: those of log-ins that nobody went on with, and of people who stayed away."""

from allauth.usersessions.models import UserSession
from django.contrib.sessions.models import Session
from django.db.models import Exists, OuterRef
from django.db.models.functions import Now

ROWS_A_STEP = 500


def remove_old_sessions() -> bool:
    """Delete some of them, and their lines in the lists of users; False if none were left."""
    keys = list(Session.objects.filter(expire_date__lt=Now()).values_list("session_key", flat=True)[:ROWS_A_STEP])
    Session.objects.filter(session_key__in=keys).delete()
    living = Session.objects.filter(session_key=OuterRef("session_key"))
    ids = list(UserSession.objects.filter(~Exists(living)).values_list("id", flat=True)[:ROWS_A_STEP])
    UserSession.objects.filter(id__in=ids).delete()
    return bool(keys or ids)
