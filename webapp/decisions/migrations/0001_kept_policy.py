import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [("runs", "0010_kept_events")]

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
        ),
    ]
