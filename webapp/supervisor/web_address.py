"""The address that the web server listens on."""

import errno
import http.client
import socket
from contextlib import closing

from webapp.supervisor.configuration import Configuration
from webapp.supervisor.failure import StartError

HEALTH_PATH = "/health/ready"


def check_free(configuration: Configuration) -> None:
    """Raise StartError unless the web server can listen at its address."""
    host, port = configuration.host, configuration.port
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen()
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise StartError(
                f"port {port} of {host} is taken: stop what listens there, or choose another with PORT"
            ) from None
        raise StartError(f"cannot listen on port {port} of HOST {host}: {error.strerror}") from None


def health_answers(configuration: Configuration) -> bool:
    """Whether the web server reports good health."""
    try:
        connection = http.client.HTTPConnection(configuration.near_host, configuration.port, timeout=2)
        with closing(connection):
            connection.request("GET", HEALTH_PATH)
            return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False
