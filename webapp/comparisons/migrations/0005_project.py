"""A comparison knows its graph's project."""

import django.db.models.deletion
from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def take_from_graph(apps: Apps, _schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Fill the column."""
    graph = apps.get_model("graphs", "graph").objects.filter(id=models.OuterRef("graph_id"))
    apps.get_model("comparisons", "comparison").objects.update(project_id=models.Subquery(graph.values("project_id")))


class Migration(migrations.Migration):
    dependencies = [
        ("comparisons", "0004_compared_run"),
        ("graphs", "0005_deleted_rows"),
        ("policies", "0009_deleted_rows"),
        ("projects", "0002_deleted_rows"),
    ]

    operations = [
        migrations.AddField(
            model_name="comparison",
            name="project",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="comparisons",
                to="projects.project",
            ),
        ),
        migrations.RunPython(take_from_graph, migrations.RunPython.noop),
    ]
