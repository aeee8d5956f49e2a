"""The policy of a run when it ended."""

from django.db import models


class KeptPolicy(models.Model):
    """An `engine.api.KeptPolicy`, to compute a run's decisions again; deleted with the run, or as it is thinned."""

    run = models.OneToOneField("runs.Run", on_delete=models.CASCADE, primary_key=True, related_name="kept_policy")
    policy = models.BinaryField()
    """at most a few megabytes, most often some hundred kilobytes"""

    def __str__(self) -> str:
        return f"policy of run {self.run_id}"
