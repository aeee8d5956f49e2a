"""What a form's devices are, as the server parses them, while a person writes them."""

from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_POST

from webapp.access.marks import needs
from webapp.projects.access import Role
from webapp.runs.devices_text import describe_devices
from webapp.runs.machines import machine_choices
from webapp.workers.machine_file import own_machine


@needs(Role.VIEWER)
@require_POST
def described(request: HttpRequest) -> JsonResponse:
    """The devices of the field `text`, or why it says none: `DescribedDevices.to_json()`."""
    return JsonResponse(describe_devices(request.POST.get("text", ""), machine_choices(own_machine())).to_json())
