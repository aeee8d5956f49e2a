"""Deleted rows are marked and purged later; lists and reapers find their rows by an index."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("comparisons", "0005_project"),
        ("graphs", "0005_deleted_rows"),
        ("policies", "0009_deleted_rows"),
        ("projects", "0002_deleted_rows"),
    ]

    operations = [
        migrations.AddField(
            model_name="comparison",
            name="deleted_at",
            field=models.DateTimeField(editable=False, null=True),
        ),
        migrations.AlterField(
            model_name="comparison",
            name="project",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="comparisons",
                to="projects.project",
            ),
        ),
        migrations.AddIndex(
            model_name="comparison",
            index=models.Index(
                condition=models.Q(("deleted_at", None)),
                fields=["graph", "-created_at", "id"],
                name="newest_comparisons_of_graph",
            ),
        ),
        migrations.AddIndex(
            model_name="comparison",
            index=models.Index(
                condition=models.Q(("deleted_at", None)),
                fields=["project", "-created_at", "id"],
                name="newest_comparisons_of_project",
            ),
        ),
        migrations.AddIndex(
            model_name="comparison",
            index=models.Index(
                condition=models.Q(("deleted_at__isnull", False)), fields=["deleted_at"], name="deleted_comparisons"
            ),
        ),
    ]
