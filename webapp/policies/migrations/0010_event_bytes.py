from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.models import F

BYTES_OF_AN_EVENT = 500


def estimate(apps: Apps, _editor: BaseDatabaseSchemaEditor) -> None:
    """Estimate what is stored already by its number: to read all events would take minutes."""
    apps.get_model("policies", "Policy")._base_manager.update(event_bytes=F("last_seq") * BYTES_OF_AN_EVENT)


class Migration(migrations.Migration):
    dependencies = [
        ("policies", "0009_deleted_rows"),
    ]

    operations = [
        migrations.AddField(
            model_name="policy",
            name="event_bytes",
            field=models.BigIntegerField(default=0, editable=False),
        ),
        migrations.RunPython(estimate, migrations.RunPython.noop),
    ]
