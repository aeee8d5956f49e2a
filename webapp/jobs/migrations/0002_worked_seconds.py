"""A turn knows how long its owner's jobs have worked."""

from django.db import migrations, models


class Migration(migrations.Migration):
    replaces = [("jobs", "0004_worked_seconds")]

    dependencies = [("jobs", "0001_tables_of_0_2_0")]

    operations = [
        migrations.AddField(model_name="turn", name="worked_at", field=models.DateTimeField(null=True)),
        migrations.AddField(model_name="turn", name="worked_seconds", field=models.FloatField(default=0.0)),
    ]
