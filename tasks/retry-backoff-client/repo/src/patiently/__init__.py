"""Send requests again, after a polite while."""

from patiently.client import Attempt, Client
from patiently.messages import Headers, Request, Response, Transport, TransportError
from patiently.policy import Policy
from patiently.retry_after import retry_after

__all__ = [
    "Attempt",
    "Client",
    "Headers",
    "Policy",
    "Request",
    "Response",
    "Transport",
    "TransportError",
    "retry_after",
]
