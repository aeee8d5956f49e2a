from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.models import OuterRef, Subquery
from django.db.models.functions import Coalesce

BYTES_OF_AN_EVENT, BYTES_OF_A_GROUP = 350, 2


def estimate(apps: Apps, _editor: BaseDatabaseSchemaEditor) -> None:
    """Estimate what is stored already by its numbers: to read all events would take minutes."""
    runs, graphs = apps.get_model("runs", "Run"), apps.get_model("graphs", "Graph")
    groups = Subquery(graphs._base_manager.filter(pk=OuterRef("graph_id")).values("group_count"))
    events = Coalesce("kept_events", "last_seq")
    runs._base_manager.update(event_bytes=events * (BYTES_OF_AN_EVENT + BYTES_OF_A_GROUP * Coalesce(groups, 0)))


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0012_name"),
        ("graphs", "0006_counts"),
    ]

    operations = [
        migrations.AddField(
            model_name="run",
            name="event_bytes",
            field=models.BigIntegerField(default=0, editable=False),
        ),
        migrations.RunPython(estimate, migrations.RunPython.noop),
    ]
