"""JSON Schema (draft 2020-12) as far as our schemas use it: what of a value is not as its schema says."""

from collections.abc import Iterator, Mapping
from typing import Any

TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "null": (type(None),),
}
KNOWN = {
    *("$schema", "title", "$defs", "$ref", "anyOf", "const", "enum", "type", "minimum", "exclusiveMinimum"),
    *("items", "minItems", "maxItems", "properties", "required", "additionalProperties"),
}


def faults(value: Any, schema: Mapping[str, Any], root: Mapping[str, Any], where: str = "$") -> Iterator[str]:
    """A line for each fault of `value`; `root` is the whole schema, with its `$defs`."""
    assert schema.keys() <= KNOWN, sorted(schema.keys() - KNOWN)
    if "$ref" in schema:
        yield from faults(value, root["$defs"][schema["$ref"].removeprefix("#/$defs/")], root, where)
    if "anyOf" in schema and all(any(faults(value, each, root, where)) for each in schema["anyOf"]):
        yield f"{where}: none of its forms"
    if value not in schema.get("enum", [value]) or value != schema.get("const", value):
        yield f"{where}: {value!r}"
    if "type" in schema and not _is_of(value, schema["type"]):
        yield f"{where}: a {type(value).__name__}"
    elif isinstance(value, dict):
        yield from _faults_of_object(value, schema, root, where)
    elif isinstance(value, list):
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
            yield f"{where}: {len(value)} items"
        for index, item in enumerate(value):
            yield from faults(item, schema.get("items", {}), root, f"{where}[{index}]")
    elif isinstance(value, int | float) and (
        value < schema.get("minimum", value) or value <= schema.get("exclusiveMinimum", value - 1)
    ):
        yield f"{where}: {value} is too small"


def _is_of(value: Any, types: str | list[str]) -> bool:
    named = [types] if isinstance(types, str) else types
    if isinstance(value, bool):
        return "boolean" in named
    return any(isinstance(value, TYPES[name]) for name in named)


def _faults_of_object(
    value: Mapping[str, Any], schema: Mapping[str, Any], root: Mapping[str, Any], where: str
) -> Iterator[str]:
    yield from (f"{where}: no {name}" for name in schema.get("required", []) if name not in value)
    properties, others = schema.get("properties", {}), schema.get("additionalProperties", True)
    for name, item in value.items():
        if name not in properties and others is False:
            yield f"{where}: {name} is not known"
        else:
            of_item = properties.get(name, {} if others is True else others)
            yield from faults(item, of_item, root, f"{where}.{name}")
