"""States of trainings know which training they are of; policies have a note for people."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("policies", "0002_summary")]

    operations = [
        migrations.AddField(
            model_name="policy",
            name="note",
            field=models.TextField(blank=True, default=""),
        ),
        migrations.AddField(
            model_name="trainingstate",
            name="identity",
            field=models.CharField(default="", max_length=64),
        ),
    ]
