"""Whether an answer is as the OpenAPI document says."""

import json
from collections.abc import Iterator
from typing import Any

import jsonschema_rs


def operations_of(document: dict[str, Any]) -> dict[str, tuple[str, str, dict[str, Any]]]:
    """Name → (method, address, operation)."""
    return {
        operation["operationId"]: (method.upper(), address, operation)
        for address, operations in document["paths"].items()
        for method, operation in operations.items()
    }


def faults_of(document: dict[str, Any], operation: dict[str, Any], response: Any) -> Iterator[str]:
    """What of `response` is not documented."""
    described = operation["responses"].get(str(response.status_code))
    if described is None:
        yield f"status {response.status_code} is not documented"
        return
    content = described.get("content", {})
    kind = response.headers.get("Content-Type", "").partition(";")[0]
    if not content:
        if response.content:
            yield f"no content is documented, but there is {kind}"
        return
    if kind not in content:
        yield f"{kind} is not documented, only {', '.join(content)}"
    elif kind == "application/json" and content[kind]["schema"].get("format") != "binary":
        schema = {**content[kind]["schema"], "components": document["components"]}
        for error in jsonschema_rs.Draft202012Validator(schema).iter_errors(json.loads(response.content)):
            yield f"{'.'.join(map(str, error.instance_path))}: {error.message}"
