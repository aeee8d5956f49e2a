"""Policies get the version of their files, so that one of another release is not offered."""

import json
from typing import Any

from django.db import migrations, models

LENGTH_BYTES = 8
"""of a safetensors file's header: its length comes first"""


def write_versions(apps: Any, _schema: object) -> None:
    """For the files that are there, one by one: they may be large."""
    files = apps.get_model("policies", "PolicyFile").objects
    policies = apps.get_model("policies", "Policy").objects
    for policy_id in list(files.values_list("policy_id", flat=True)):
        version = _version(bytes(files.get(policy_id=policy_id).blob))
        policies.filter(id=policy_id).update(file_version=version)


def _version(blob: bytes) -> int:
    """0 where it cannot be read."""
    length = int.from_bytes(blob[:LENGTH_BYTES], "little")
    try:
        header = json.loads(blob[LENGTH_BYTES : LENGTH_BYTES + length])
        return int(json.loads(header["__metadata__"]["placeto"])["version"])
    except (ValueError, KeyError, TypeError):
        return 0


class Migration(migrations.Migration):
    dependencies = [("policies", "0004_newest_first")]

    operations = [
        migrations.AddField(
            model_name="policy",
            name="file_version",
            field=models.PositiveIntegerField(default=0),
        ),
        migrations.RunPython(write_versions, migrations.RunPython.noop),
    ]
