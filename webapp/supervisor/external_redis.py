"""A Redis that someone else runs (REDIS_URL)."""

from urllib.parse import urlsplit

import redis

from webapp.supervisor.failure import StartError
from webapp.supervisor.redis_server import OLDEST_VERSION


def check_redis(address: str) -> None:
    """Raise StartError, without the password, unless a new enough Redis answers at `address`."""
    parts = urlsplit(address)
    shown = f"{parts.scheme}://{parts.hostname or ''}{f':{parts.port}' if parts.port else ''}{parts.path}"
    try:
        client = redis.Redis.from_url(
            address.replace("redis+socket://", "unix://", 1), socket_timeout=5, socket_connect_timeout=5
        )
        with client:
            version = str(client.info("server")["redis_version"])
    except (redis.RedisError, OSError, ValueError) as error:
        raise StartError(f"no Redis answers at REDIS_URL {shown}: {error}") from None
    if tuple(int(number) for number in version.split(".")[:2]) < OLDEST_VERSION:
        raise StartError(f"the Redis at REDIS_URL {shown} is version {version}; 6.2 or newer is needed")
