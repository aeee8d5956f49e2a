"""Who is an operator, where a proxy or a provider says who comes in."""

from django.conf import settings

from webapp.accounts.claims import Claims


def is_listed(word: str) -> bool:
    """Whether PLACETO_OPERATORS has it."""
    return bool(word) and word.casefold() in {each.casefold() for each in settings.OPERATORS}


def is_operator(claims: Claims, username: str) -> bool:
    """Whether PLACETO_OPERATORS lists the person of whom the provider says this, and who is `username` here.

    An entry with an @ is an e-mail address, which must be verified; any other is a subject, or a name. A name must be
    both the provider's for this person and the one here: the cleaned name of somebody else is not enough.
    """
    named = "@" not in claims.name and claims.name.casefold() == username.casefold() and is_listed(claims.name)
    return claims.subject in settings.OPERATORS or is_listed(claims.verified_email) or named
