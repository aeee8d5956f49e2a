"""The runs of a comparison get a name that nothing else has."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("comparisons", "0003_policy")]

    operations = [
        migrations.RenameModel("Member", "ComparedRun"),
        migrations.AlterField(
            "comparedrun",
            "comparison",
            models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="compared_runs", to="comparisons.comparison"
            ),
        ),
        migrations.AlterField(
            "comparedrun",
            "run",
            models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name="compared", to="runs.run"),
        ),
    ]
