"""Deleted rows are marked and purged later; lists and reapers find their rows by an index."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("projects", "0001_initial"),
    ]

    operations = [
        migrations.AddField(
            model_name="project",
            name="deleted_at",
            field=models.DateTimeField(editable=False, null=True),
        ),
        migrations.AddIndex(
            model_name="project",
            index=models.Index(
                condition=models.Q(("deleted_at", None)), fields=["-created_at"], name="newest_projects"
            ),
        ),
        migrations.AddIndex(
            model_name="project",
            index=models.Index(
                condition=models.Q(("deleted_at__isnull", False)), fields=["deleted_at"], name="deleted_projects"
            ),
        ),
    ]
