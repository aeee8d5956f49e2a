"""Requests that schemathesis makes of the OpenAPI document: no answer is a 5xx, and none is undocumented."""
