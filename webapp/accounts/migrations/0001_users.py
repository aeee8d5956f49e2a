"""Users, tokens of the API, limits, and the log, which the database only adds to."""

import uuid
from typing import Any

import django.contrib.auth.validators
import django.db.models.deletion
import django.db.models.functions.comparison
import django.db.models.functions.text
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

REFUSAL = "entries of the log are neither changed nor deleted"


def refuse_changes(_apps: Any, editor: BaseDatabaseSchemaEditor) -> None:
    """Have the database itself refuse to change or delete an entry."""
    if editor.connection.vendor == "sqlite":
        for event in ("UPDATE", "DELETE"):
            editor.execute(
                f"CREATE TRIGGER audit_refuses_{event.lower()} BEFORE {event} ON accounts_auditentry "
                f"BEGIN SELECT RAISE(ABORT, '{REFUSAL}'); END"
            )
    elif editor.connection.vendor == "postgresql":
        editor.execute(
            "CREATE FUNCTION audit_refuses() RETURNS trigger LANGUAGE plpgsql AS "
            f"$$ BEGIN RAISE EXCEPTION '{REFUSAL}'; END $$"
        )
        editor.execute(
            "CREATE TRIGGER audit_refuses BEFORE UPDATE OR DELETE ON accounts_auditentry "
            "FOR EACH ROW EXECUTE FUNCTION audit_refuses()"
        )


def allow_changes(_apps: Any, editor: BaseDatabaseSchemaEditor) -> None:
    """The way back: the table goes, and with it its triggers; PostgreSQL's function stays behind otherwise."""
    if editor.connection.vendor == "postgresql":
        editor.execute("DROP FUNCTION audit_refuses CASCADE")


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="User",
            fields=[
                ("password", models.CharField(max_length=128, verbose_name="password")),
                ("last_login", models.DateTimeField(blank=True, null=True, verbose_name="last login")),
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                (
                    "username",
                    models.CharField(
                        error_messages={"unique": "There is a user of this name."},
                        help_text="Letters, digits and @ . + - _",
                        max_length=150,
                        unique=True,
                        validators=[django.contrib.auth.validators.UnicodeUsernameValidator()],
                    ),
                ),
                ("email", models.EmailField(blank=True, default="", max_length=254, verbose_name="e-mail address")),
                ("is_active", models.BooleanField(default=True, help_text="Someone who is not active can do nothing.")),
                (
                    "is_operator",
                    models.BooleanField(default=False, help_text="Operators may do everything, in every project."),
                ),
                ("date_joined", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
            ],
            options={
                "ordering": ("username",),
                "constraints": [
                    models.UniqueConstraint(
                        django.db.models.functions.text.Lower("username"), name="one_user_of_a_name"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="ApiToken",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=100)),
                ("digest", models.CharField(editable=False, max_length=64, unique=True)),
                ("ending", models.CharField(editable=False, max_length=8)),
                (
                    "scope",
                    models.CharField(
                        choices=[
                            ("read", "read: look at what its user may see"),
                            ("write", "write: also start, change and delete"),
                            ("admin", "admin: also members, links, webhooks and projects"),
                        ],
                        default="read",
                        max_length=8,
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("expires_at", models.DateTimeField(blank=True, null=True)),
                ("last_used_at", models.DateTimeField(editable=False, null=True)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="tokens", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "ordering": ("-created_at",),
            },
        ),
        migrations.CreateModel(
            name="AuditEntry",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("at", models.DateTimeField(auto_now_add=True)),
                ("username", models.CharField(blank=True, default="", max_length=150)),
                ("token_id", models.UUIDField(null=True)),
                ("action", models.CharField(max_length=80)),
                ("kind", models.CharField(blank=True, default="", max_length=20)),
                ("row_id", models.UUIDField(null=True)),
                ("project_id", models.UUIDField(null=True)),
                ("address", models.GenericIPAddressField(null=True)),
                ("note", models.CharField(blank=True, default="", max_length=300)),
                (
                    "user",
                    models.ForeignKey(
                        db_constraint=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "audit entries",
                "ordering": ("-id",),
                "indexes": [models.Index(fields=["project_id", "-id"], name="newest_entries_of_project")],
            },
        ),
        migrations.CreateModel(
            name="Quota",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("uploads_a_day", models.PositiveIntegerField(blank=True, null=True)),
                (
                    "disk_bytes",
                    models.PositiveBigIntegerField(
                        blank=True, help_text="Files of the graphs that they added.", null=True
                    ),
                ),
                (
                    "runs_at_once",
                    models.PositiveIntegerField(
                        blank=True, help_text="Runs and searches that have not ended.", null=True
                    ),
                ),
                ("evaluations_a_run", models.PositiveBigIntegerField(blank=True, null=True)),
                (
                    "seconds_a_run",
                    models.FloatField(
                        blank=True, help_text="Runs and searches without a limit of time count as longer.", null=True
                    ),
                ),
                ("trainings_at_once", models.PositiveIntegerField(blank=True, null=True)),
                (
                    "may_measure",
                    models.BooleanField(
                        default=True, help_text="Whether they may run graphs on the machine to measure them."
                    ),
                ),
                (
                    "user",
                    models.OneToOneField(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="quota",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        django.db.models.functions.comparison.Coalesce(
                            "user", models.Value(uuid.UUID(int=0), output_field=models.UUIDField())
                        ),
                        name="one_quota_of_a_user",
                    )
                ],
            },
        ),
        migrations.RunPython(refuse_changes, allow_changes),
    ]
