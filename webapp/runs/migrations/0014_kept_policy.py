import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    replaces = [("decisions", "0001_kept_policy")]

    dependencies = [("runs", "0014_parts")]

    operations = [
        migrations.CreateModel(
            name="KeptPolicy",
            fields=[
                (
                    "run",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="kept_policy",
                        serialize=False,
                        to="runs.run",
                    ),
                ),
                ("policy", models.BinaryField()),
            ],
            options={"db_table": "decisions_keptpolicy"},
        ),
    ]
