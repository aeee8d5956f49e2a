"""Users, their tokens, their limits, and the log of who did what."""

import hashlib
import secrets
import uuid
from typing import Any, ClassVar

from django.contrib.auth.models import AbstractBaseUser, BaseUserManager
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models.functions import Coalesce, Lower
from django.utils import timezone

LONGEST_USERNAME = 150


class UserManager(BaseUserManager["User"]):
    """Makes users, and finds them by name whatever its case."""

    def create_user(self, username: str, email: str = "", password: str | None = None, **more: Any) -> "User":
        """A user; without a password, one who cannot log in by it."""
        user = self.model(username=self.model.normalize_username(username), email=self.normalize_email(email), **more)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def create_superuser(self, username: str, email: str = "", password: str | None = None, **more: Any) -> "User":
        """An operator."""
        return self.create_user(username, email, password, is_operator=True, **more)

    def get_by_natural_key(self, username: str | None) -> "User":
        """The user of that name. Raises User.DoesNotExist."""
        return self.get(username__iexact=self.model.normalize_username(username or ""))


class User(AbstractBaseUser):
    """A person with an account. Nobody is deleted: an inactive user does nothing, and the log still names them."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    username = models.CharField(
        max_length=LONGEST_USERNAME,
        unique=True,
        validators=[UnicodeUsernameValidator()],
        help_text="Letters, digits and @ . + - _",
        error_messages={"unique": "There is a user of this name."},
    )
    email = models.EmailField("e-mail address", default="", blank=True)
    is_active = models.BooleanField(default=True, help_text="Someone who is not active can do nothing.")
    is_operator = models.BooleanField(default=False, help_text="Operators may do everything, in every project.")
    date_joined = models.DateTimeField(default=timezone.now, editable=False)

    USERNAME_FIELD = "username"
    EMAIL_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    objects = UserManager()

    class Meta:
        ordering = ("username",)
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(Lower("username"), name="one_user_of_a_name"),
        ]

    def __str__(self) -> str:
        return self.username

    @property
    def is_staff(self) -> bool:
        """Whether Django's admin lets them in."""
        return self.is_operator

    @property
    def is_superuser(self) -> bool:
        """The same, as other packages ask for it."""
        return self.is_operator

    def has_perm(self, _permission: str, _row: models.Model | None = None) -> bool:
        """Whether they may do it in Django's admin."""
        return self.is_active and self.is_operator

    def has_module_perms(self, _app: str) -> bool:
        """The same for an app."""
        return self.is_active and self.is_operator


TOKEN_PREFIX = "plx_"  # noqa: S105  not a secret
TOKEN_BYTES = 32
SHOWN_CHARACTERS = 8


class TokenScope(models.TextChoices):
    """What a token may do; each includes the ones before."""

    READ = "read", "read: look at what its user may see"
    WRITE = "write", "write: also start, change and delete"
    ADMIN = "admin", "admin: also members, links, webhooks and projects"


class ApiToken(models.Model):
    """A token of the API. The database has its SHA-256 alone; the token itself is shown once, when it is made."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="tokens")
    name = models.CharField(max_length=100)
    digest = models.CharField(max_length=64, unique=True, editable=False)
    ending = models.CharField(max_length=SHOWN_CHARACTERS, editable=False)
    """its last characters, by which its user knows it again"""
    scope = models.CharField(max_length=8, choices=TokenScope.choices, default=TokenScope.READ)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, editable=False)

    class Meta:
        ordering = ("-created_at",)

    def __str__(self) -> str:
        return f"{self.name} …{self.ending}"

    @classmethod
    def make(cls, user: User, name: str, scope: str, expires_at: Any = None) -> tuple["ApiToken", str]:
        """Store a new token; returns its row and the token, which is stored nowhere."""
        token = TOKEN_PREFIX + secrets.token_urlsafe(TOKEN_BYTES)
        ending = token[-SHOWN_CHARACTERS:]
        row = cls(user=user, name=name, scope=scope, expires_at=expires_at, digest=digest_of(token), ending=ending)
        row.save(force_insert=True)
        return row, token

    @property
    def has_expired(self) -> bool:
        """Whether it opens nothing any more."""
        return self.expires_at is not None and self.expires_at <= timezone.now()


def digest_of(token: str) -> str:
    """SHA-256 of a token, in hexadecimal: it is random and long enough that it needs no salt."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


EVERYBODY = models.Value(uuid.UUID(int=0), output_field=models.UUIDField())


class Quota(models.Model):
    """The limits of one user, or of everybody who has none of their own. An empty one is no limit."""

    user = models.OneToOneField(User, null=True, blank=True, on_delete=models.CASCADE, related_name="quota")
    """None: the limits of everybody else"""
    uploads_a_day = models.PositiveIntegerField(null=True, blank=True)
    disk_bytes = models.PositiveBigIntegerField(null=True, blank=True, help_text="Files of the graphs that they added.")
    runs_at_once = models.PositiveIntegerField(
        null=True, blank=True, help_text="Runs and searches that have not ended."
    )
    evaluations_a_run = models.PositiveBigIntegerField(null=True, blank=True)
    seconds_a_run = models.FloatField(
        null=True, blank=True, help_text="Runs and searches without a limit of time count as longer."
    )
    trainings_at_once = models.PositiveIntegerField(null=True, blank=True)
    may_measure = models.BooleanField(
        default=True, help_text="Whether they may run graphs on the machine to measure them."
    )

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(Coalesce("user", EVERYBODY), name="one_quota_of_a_user")
        ]

    def __str__(self) -> str:
        return f"limits of {self.user.username if self.user else 'everybody else'}"


class AuditEntry(models.Model):
    """Who did what, when, to which row. Rows are added, and neither changed nor deleted: the database refuses it."""

    id = models.BigAutoField(primary_key=True)
    at = models.DateTimeField(auto_now_add=True)
    user = models.ForeignKey(User, null=True, on_delete=models.DO_NOTHING, related_name="+", db_constraint=False)
    username = models.CharField(max_length=LONGEST_USERNAME, default="", blank=True)
    """as it was then; of a log-in that failed, the name that was tried"""
    token_id = models.UUIDField(null=True)
    """of the API's token that it was done with"""
    action = models.CharField(max_length=80)
    """the name of the address, such as `runs:create`, or `log-in`"""
    kind = models.CharField(max_length=20, default="", blank=True)
    """what it was done to: `run`"""
    row_id = models.UUIDField(null=True)
    project_id = models.UUIDField(null=True)
    """the row's project, which may be deleted since"""
    address = models.GenericIPAddressField(null=True)
    """of the client"""
    note = models.CharField(max_length=300, default="", blank=True)

    class Meta:
        ordering = ("-id",)
        verbose_name_plural = "audit entries"
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["project_id", "-id"], name="newest_entries_of_project"),
        ]

    def __str__(self) -> str:
        return f"{self.username or 'nobody'}: {self.action}"

    def save(self, *arguments: Any, **named: Any) -> None:
        """Add it. Raises ValidationError for one that is there."""
        if not self._state.adding:
            raise ValidationError("An entry of the log is never changed.")
        super().save(*arguments, **named)

    def delete(self, *_arguments: Any, **_named: Any) -> tuple[int, dict[str, int]]:
        """Raise ValidationError."""
        raise ValidationError("An entry of the log is never deleted.")
