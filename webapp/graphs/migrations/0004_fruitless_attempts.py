"""Attempts without progress are counted apart from all attempts."""

from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def all_were_fruitless(apps: Apps, _schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Attempts so far count as they did."""
    apps.get_model("graphs", "graph").objects.update(fruitless_attempts=models.F("attempts"))


class Migration(migrations.Migration):
    dependencies = [("graphs", "0003_revision")]

    operations = [
        migrations.AddField(
            model_name="graph",
            name="fruitless_attempts",
            field=models.PositiveSmallIntegerField(default=0, editable=False),
        ),
        migrations.RunPython(all_were_fruitless, migrations.RunPython.noop),
    ]
