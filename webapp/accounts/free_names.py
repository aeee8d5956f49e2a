"""Finds a name for somebody whom a provider lets in for the first time."""

import re
import unicodedata
from itertools import count

from django.db import IntegrityError, transaction

from webapp.accounts.claims import Claims
from webapp.accounts.models import LONGEST_USERNAME, User

WITHOUT_NAME = "user"
ROOM_FOR_NUMBER = 10


def wanted_name(claims: Claims) -> str:
    """The name that the provider gives, else the verified e-mail address; with - in place of what no name may have."""
    word = unicodedata.normalize("NFKC", claims.name or claims.verified_email)
    cleaned = re.sub(r"[^\w.@+-]+", "-", word).strip("-")
    return cleaned[: LONGEST_USERNAME - ROOM_FOR_NUMBER] or WITHOUT_NAME


def store_under_free_name(user: User, wanted: str) -> None:
    """Store a new user as `wanted`, or `wanted-2` and so on: never as somebody who is there."""
    for number in count(1):
        user.username = wanted if number == 1 else f"{wanted}-{number}"
        if User.objects.filter(username__iexact=user.username).exists():
            continue
        try:
            with transaction.atomic():
                user.save(force_insert=True)
        except IntegrityError:
            continue  # somebody has taken it meanwhile
        return
