"""Answers that are kept for requests which may come twice."""

from typing import ClassVar

from django.db import models


class KeptAnswer(models.Model):
    """The answer to a request with an `Idempotency-Key`; without a status while the request works."""

    caller = models.CharField(max_length=64)
    """whose key it is: `caller_of` the request"""
    key = models.CharField(max_length=64)
    """SHA-256 of the key, which may be any text"""
    request = models.CharField(max_length=64)
    """SHA-256 of the address and the body"""
    status = models.PositiveSmallIntegerField(null=True)
    location = models.CharField(max_length=200, default="", blank=True)
    body = models.TextField(default="", blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["caller", "key"], name="one_answer_a_key")
        ]
        indexes: ClassVar[list[models.Index]] = [models.Index(fields=["created_at"], name="answers_by_age")]

    def __str__(self) -> str:
        return f"answer {self.status}"
