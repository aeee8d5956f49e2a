"""Attempts without progress are counted apart from all attempts."""

from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def all_were_fruitless(apps: Apps, _schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Attempts so far count as they did."""
    apps.get_model("measuring", "profile").objects.update(fruitless_attempts=models.F("attempts"))


class Migration(migrations.Migration):
    replaces = [("profiles", "0003_fruitless_attempts")]

    dependencies = [("measuring", "0002_revision")]

    operations = [
        migrations.AddField(
            model_name="profile",
            name="fruitless_attempts",
            field=models.PositiveSmallIntegerField(default=0, editable=False),
        ),
        migrations.RunPython(all_were_fruitless, migrations.RunPython.noop),
    ]
