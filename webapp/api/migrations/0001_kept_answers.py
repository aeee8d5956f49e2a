"""Answers that are kept for requests which come twice."""

from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="KeptAnswer",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("caller", models.CharField(max_length=64)),
                ("key", models.CharField(max_length=64)),
                ("request", models.CharField(max_length=64)),
                ("status", models.PositiveSmallIntegerField(null=True)),
                ("location", models.CharField(blank=True, default="", max_length=200)),
                ("body", models.TextField(blank=True, default="")),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "indexes": [models.Index(fields=["created_at"], name="answers_by_age")],
                "constraints": [models.UniqueConstraint(fields=("caller", "key"), name="one_answer_a_key")],
            },
        ),
    ]
