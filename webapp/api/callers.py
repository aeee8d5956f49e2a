"""Who calls the API, as keys and rates know them."""

from django.http import HttpRequest

from webapp.accounts.addresses import client_address
from webapp.accounts.visitor import acting


def caller_of(request: HttpRequest) -> str:
    """The token that the request came with, else its user, else the client's address."""
    visitor = acting()
    if visitor.token is not None:
        return f"token-{visitor.token.id}"
    return f"user-{visitor.user_id}" if visitor.user is not None else f"address-{client_address(request)}"
