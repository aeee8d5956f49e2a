from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("jobs", "0003_turn"),
    ]

    operations = [
        migrations.AddField(model_name="turn", name="worked_at", field=models.DateTimeField(null=True)),
        migrations.AddField(model_name="turn", name="worked_seconds", field=models.FloatField(default=0.0)),
    ]
