"""Addresses of the API: each is one view of Django, which knows the operation of each of its methods."""

from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from ninja import Router
from ninja.operation import PathView

from webapp.http.api_errors import api_error

NOT_ALLOWED = "This address does not take {}; allowed: {}."


class ApiView(PathView):
    """The operations of one address. Its view has `operations`: method → the function with the operation's marks."""

    def clone(self) -> "ApiView":
        """A copy, of this class."""
        copy = ApiView()
        copy.is_async, copy.url_name = self.is_async, self.url_name
        copy.operations = [operation.clone() for operation in self.operations]
        return copy

    def get_view(self) -> Callable[..., Any]:
        """The view of Django."""
        answer = super().get_view()
        operations = {method: operation.view_func for operation in self.operations for method in operation.methods}

        def refusal(request: HttpRequest) -> HttpResponse | None:
            if request.method in operations:
                return None
            allowed = ", ".join(sorted(operations))
            errors = {"": [NOT_ALLOWED.format(request.method, allowed)]}
            status = HTTPStatus.METHOD_NOT_ALLOWED
            return JsonResponse(api_error(status, errors), status=status, headers={"Allow": allowed})

        async def async_view(request: HttpRequest, **ids: Any) -> HttpResponseBase:
            return _unkept(refusal(request) or await answer(request, **ids))

        def view(request: HttpRequest, **ids: Any) -> HttpResponseBase:
            return _unkept(refusal(request) or answer(request, **ids))

        made: Any = async_view if self.is_async else view
        made.operations = operations
        made.csrf_exempt = True  # no cookie counts here; the gate refuses other sites
        return made  # type: ignore[no-any-return]  # a function with attributes


class ApiRouter(Router):
    """A router whose addresses are `ApiView`s."""

    def add_api_operation(self, path: str, *arguments: Any, **named: Any) -> None:
        """Add an operation; ids are `{uuid:run_id}`."""
        self.path_operations.setdefault(path.replace("{uuid:", "{uuidstr:"), ApiView())
        super().add_api_operation(path, *arguments, **named)


def _unkept(answer: HttpResponseBase) -> HttpResponseBase:
    """`answer`, which nobody keeps unless it says so itself."""
    answer.headers.setdefault("Cache-Control", "no-store")
    return answer
