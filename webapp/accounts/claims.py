"""What an OpenID provider says of a person, as far as it is used here."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import ValidationError
from django.core.validators import validate_email

LONGEST_SUBJECT = 191
"""characters: django-allauth's column"""
LONGEST_WORD = 254


@dataclass(frozen=True, slots=True)
class Claims:
    """The subject, which never changes; a name and an e-mail address, which may."""

    subject: str
    name: str = ""
    email: str = ""
    """valid and in lower case, or empty"""
    email_is_verified: bool = False

    @property
    def verified_email(self) -> str:
        """The e-mail address if the provider has verified it, else empty."""
        return self.email if self.email_is_verified else ""

    @property
    def domain(self) -> str:
        """Of the verified e-mail address; empty without one."""
        return self.verified_email.rpartition("@")[2]

    @staticmethod
    def of(data: Mapping[str, Any]) -> "Claims":
        """What a provider's answer says; what cannot be used of it is left out. Raises ValueError without a subject."""
        subject = _word(data, "sub", LONGEST_SUBJECT)
        if not subject:
            raise ValueError(f"the subject is missing, or longer than {LONGEST_SUBJECT} characters")
        return Claims(
            subject, _word(data, "preferred_username"), _email(data), data.get("email_verified") in (True, "true")
        )

    def to_json(self) -> dict[str, str | bool]:
        """As `of` reads it."""
        return {
            "sub": self.subject,
            "preferred_username": self.name,
            "email": self.email,
            "email_verified": self.email_is_verified,
        }


def _word(data: Mapping[str, Any], name: str, longest: int = LONGEST_WORD) -> str:
    word = data.get(name)
    return word if isinstance(word, str) and len(word) <= longest and word.isprintable() else ""


def _email(data: Mapping[str, Any]) -> str:
    email = _word(data, "email").lower()
    try:
        validate_email(email)
    except ValidationError:
        return ""
    return email
