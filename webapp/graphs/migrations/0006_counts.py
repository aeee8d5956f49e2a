"""Lists show the numbers of ops and groups without loading the summaries."""

from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def count(apps: Apps, _schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Take the numbers from the summaries."""
    graphs = apps.get_model("graphs", "graph").objects
    for graph in graphs.exclude(summary=None).only("id", "summary").iterator(chunk_size=100):
        if isinstance(graph.summary, dict):
            counts = {"op_count": graph.summary.get("ops"), "group_count": graph.summary.get("groups")}
            graphs.filter(id=graph.id).update(**counts)


class Migration(migrations.Migration):
    dependencies = [("graphs", "0005_deleted_rows")]

    operations = [
        migrations.AddField(
            model_name="graph",
            name="op_count",
            field=models.BigIntegerField(null=True),
        ),
        migrations.AddField(
            model_name="graph",
            name="group_count",
            field=models.BigIntegerField(null=True),
        ),
        migrations.RunPython(count, migrations.RunPython.noop),
    ]
