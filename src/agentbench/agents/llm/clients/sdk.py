"""What the two clients share, whose libraries are made alike: their door and their errors."""

from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

import httpx2

from agentbench.agents.llm.clients.failure import unanswered
from agentbench.agents.llm.clients.interface import UnansweredError
from agentbench.agents.llm.clients.transport import DoorTransport
from agentbench.agents.model_door import ModelDoor, ModelErrorKind, ModelFailure

BASE_URL = "http://gateway"
"""Its host is the door, whatever it is called."""


def http_client(door: ModelDoor) -> httpx2.Client:
    """HTTP that goes through the door and nowhere else; no proxy of the environment has a say."""
    return httpx2.Client(transport=DoorTransport(door.socket), trust_env=False)


_UNREADABLE = (AttributeError, LookupError, TypeError, ValueError)  # no JSON, or of another shape


@contextmanager
def told(library: ModuleType, otherwise: ModelErrorKind) -> Iterator[None]:
    """Turn whatever a library raises into an UnansweredError.

    Args:
        library: `openai` or `anthropic`.
        otherwise: What a connection that breaks is: none yet, or a stream that is cut.

    Raises:
        UnansweredError: the model did not answer.
    """
    try:
        yield
    except library.APIStatusError as error:
        raise unanswered(
            error.status_code, error.body, error.message, error.response.headers
        ) from error
    except (library.APITimeoutError, httpx2.TimeoutException) as error:
        raise _broken(ModelErrorKind.TIMEOUT, error) from error
    except (library.APIConnectionError, httpx2.TransportError, httpx2.StreamError) as error:
        raise _broken(otherwise, error) from error
    except library.APIError as error:  # told in the middle of a stream
        raise unanswered(200, error.body, error.message, {}) from error
    except (
        AttributeError,
        LookupError,
        TypeError,
        ValueError,
    ) as error:  # no JSON, or of another shape
        shape = f"an answer that cannot be read: {type(error).__name__}: {error}"
        failure = ModelFailure(kind=ModelErrorKind.CUT_STREAM, status=None, message=shape)
        raise UnansweredError(failure) from error


def _broken(kind: ModelErrorKind, error: Exception) -> UnansweredError:
    cause = error.__cause__ or error
    message = f"{type(cause).__name__}: {cause}" if str(cause) else type(cause).__name__
    return UnansweredError(ModelFailure(kind=kind, status=None, message=message))
