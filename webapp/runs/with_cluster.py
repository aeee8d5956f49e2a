"""Rows that have a cluster: its JSON, the engine's value, and words."""

from django.db import models

from engine import api
from webapp.json_field import JsonTextField, to_text
from webapp.runs.cluster_words import cluster_words


class WithCluster(models.Model):
    """A row with a cluster, which never changes."""

    cluster = JsonTextField()
    """cluster JSON of docs/formats.md"""

    class Meta:
        abstract = True

    @property
    def cluster_value(self) -> api.Cluster:
        """The engine's cluster. Raises ClusterError for one of a version that allowed other clusters."""
        return api.parse_cluster(to_text(self.cluster))

    @property
    def rules(self) -> api.Constraints:
        """The rules that its placements keep beside those of the graph's file: none, where no column has them."""
        return api.Constraints.from_json(getattr(self, "constraints", None) or [])

    @property
    def cluster_words(self) -> str:
        """The cluster in a few words."""
        return cluster_words(self.cluster)
