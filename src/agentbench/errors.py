"""The exceptions of agentbench, each with the program's exit code.

`failure_reason` names the reason of an attempt in which the exception escapes from a stage
(docs/failure_taxonomy.md, decision 1).

    AgentbenchError
    ├── UsageError            2   a wrong option, an unknown agent
    ├── InputError           65   a task, run or import file is wrong
    ├── UnavailableError     69   the sandbox or the engine is unavailable
    │   ├── RegistryError         a registry refuses an image, or does not answer
    │   ├── StorageError          the disk of a run is full or gone
    │   └── OutageError           the engine, a disk or the model was unavailable for too long
    └── AttemptError         70   ends one attempt, never the run
        ├── SandboxError     69   the engine or the container is lost
        │   ├── DoesNotFitError       files exceed the disk limit of a sandbox
        │   └── ServiceError          a service of the sandbox does not work
        ├── AttemptTimeoutError   the time limit of the whole attempt is exceeded
        ├── GitCloneError         the repository cannot be cloned
        │   └── GitCloneTimeoutError  its host does not answer in time
        ├── GitCheckoutError      the commit is not in the repository
        ├── LLMError              the model did not answer
        └── ToolError             a tool of the agent failed permanently
    RunCancelled            130   the run or one of its commands was cancelled; not an Exception
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar, Self

from agentbench.taxonomy import FailureReason, Fault


class AgentbenchError(Exception):
    """agentbench cannot continue; the message says what was expected, found and is to be done."""

    exit_code: ClassVar[int] = 70
    failure_reason: ClassVar[FailureReason | None] = None


class UsageError(AgentbenchError):
    """The command line asks for something that does not exist or contradicts itself."""

    exit_code = 2


class InputError(AgentbenchError):
    """A task, run or import file is wrong; contains every fault that was found."""

    exit_code = 65

    def __init__(self, *faults: str) -> None:
        super().__init__("\n".join(faults))
        self.faults = faults


class UnavailableError(AgentbenchError):
    """The sandbox or its engine is unavailable; the message says what to start or install."""

    exit_code = 69
    failure_reason = FailureReason.SANDBOX_ERROR


class ImageBuildError(UnavailableError):
    """An image cannot be built from a task's Dockerfile."""

    fault: Fault | None = None
    """Overrides the reason's default fault: the Dockerfile's own faults are the task's."""


class RegistryError(UnavailableError):
    """A registry of images refuses a request, or does not answer; it may have the image."""


class StorageError(UnavailableError):
    """The files of a run cannot be written: its disk is full, or was removed."""


class OutageError(UnavailableError):
    """The engine, a disk or the model was unavailable for longer than attempts wait for it."""


class AttemptError(AgentbenchError):
    """Ends one attempt with the reason in `failure_reason`."""

    failure_reason = FailureReason.UNKNOWN
    fault: Fault | None = None
    """Overrides the reason's default fault: a model's refusal is an LLMError, and the agent's."""

    def __init__(self, *args: object, fault: Fault | None = None) -> None:
        super().__init__(*args)
        if fault is not None:
            self.fault = fault

    def blamed_on(self, fault: Fault) -> Self:
        """A copy of the error with another fault, to be raised from this one."""
        return type(self)(*self.args, fault=fault)


class SandboxError(AttemptError):
    """The engine, the container or the sandbox process is lost."""

    exit_code = 69  # if it ended the start of a run, not an attempt
    failure_reason = FailureReason.SANDBOX_ERROR


class DoesNotFitError(SandboxError):
    """Files exceed the disk limit of the sandbox that they are written to, which still works."""


class ServiceError(SandboxError):
    """A service of the sandbox does not start, or has failed."""

    fault = Fault.TASK  # no agent has touched them, since each stage has fresh services
    logs: Mapping[str, bytes] = MappingProxyType({})  # the logs of all services


class AttemptTimeoutError(AttemptError):
    """The time limit of the whole attempt is exceeded."""

    failure_reason = FailureReason.TIMEOUT


class GitCloneError(AttemptError):
    """The repository could not be fetched from the address in the task."""

    failure_reason = FailureReason.GIT_CLONE_FAILED


class GitCloneTimeoutError(GitCloneError):
    """The repository's host did not answer completely within the time limit of a clone."""

    failure_reason = FailureReason.TIMEOUT
    fault = Fault.INFRASTRUCTURE  # no agent has run yet, and the next try may succeed


class GitCheckoutError(AttemptError):
    """The repository has no such commit."""

    failure_reason = FailureReason.GIT_CHECKOUT_FAILED


class LLMError(AttemptError):
    """The model's service failed permanently; raised by agents."""

    failure_reason = FailureReason.LLM_ERROR


class ToolError(AttemptError):
    """A tool of the agent failed permanently; raised by agents."""

    failure_reason = FailureReason.TOOL_ERROR


class RunCancelled(BaseException):
    """The run, or one command of it, was cancelled: by a signal, an MCP client or a deadline.

    Raised in the threads that make attempts. It is not an `Exception`, so that an agent that
    catches every `Exception` does not continue.
    """

    exit_code: ClassVar[int] = 130
    failure_reason: ClassVar[FailureReason] = FailureReason.INTERRUPTED

    def __init__(self, message: str = "the run was cancelled") -> None:
        super().__init__(message)
