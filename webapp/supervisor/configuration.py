"""The supervisor's configuration from the environment."""

from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

from webapp import environment
from webapp.broker_address import broker_address
from webapp.supervisor.failure import StartError

ROOT = Path(__file__).resolve().parent.parent.parent
"""the checkout"""


@dataclass(frozen=True, slots=True)
class Configuration:
    """Where to listen, where to keep everything."""

    host: str
    """HOST: the address to listen on"""
    port: int
    """PORT"""
    data_folder: Path
    """PLACETO_DATA: database, uploads, Redis, logs"""
    redis_url: str | None
    """REDIS_URL in Celery's form: a Redis to use instead of the embedded one"""
    redis_server: Path | None
    """REDIS_SERVER: the program of the embedded Redis, instead of one that is found"""

    @property
    def near_host(self) -> str:
        """The host at which this machine reaches the web server."""
        return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)  # noqa: S104  compared, not listened on

    @property
    def shown_address(self) -> str:
        """The address for a browser on this machine."""
        return f"http://{f'[{self.near_host}]' if ':' in self.near_host else self.near_host}:{self.port}"

    @staticmethod
    def from_environment() -> "Configuration":
        """Read the environment. Raises StartError for an invalid value."""
        try:
            host = environment.text("HOST", "127.0.0.1")
            _require_accounts(host)
            redis_url, redis_server = environment.text("REDIS_URL", ""), environment.text("REDIS_SERVER", "")
            return Configuration(
                host=host,
                port=environment.integer("PORT", 8000, lowest=1, highest=65535),
                data_folder=Path(environment.text("PLACETO_DATA", str(ROOT / "data"))).expanduser().resolve(),
                redis_url=broker_address(redis_url) if redis_url else None,
                redis_server=Path(redis_server).expanduser() if redis_server else None,
            )
        except ImproperlyConfigured as error:
            raise StartError(str(error)) from None


def _require_accounts(host: str) -> None:
    """Raise StartError if others than this machine could come in, and nobody has said that they may."""
    accounts = environment.text("PLACETO_ACCOUNTS", "off")
    if accounts == "off" and not _is_loopback(host) and not environment.flag("PLACETO_OPEN_TO_NETWORK", default=False):
        raise StartError(
            f"HOST {host} lets other machines in, and there are no accounts: set PLACETO_ACCOUNTS, "
            "or PLACETO_OPEN_TO_NETWORK=yes to let everybody do everything"
        )


def _is_loopback(host: str) -> bool:
    """Whether this machine alone reaches it."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
