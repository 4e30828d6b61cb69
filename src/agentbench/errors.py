"""The exceptions of agentbench, each with the program's exit code.

`failure_reason` names the reason of an attempt in which the exception escapes from a stage
(docs/failure_taxonomy.md, decision 1).

    AgentbenchError
    ├── UsageError            2   an option, an unknown agent
    ├── InputError           65   a task, run or import file is wrong
    ├── UnavailableError     69   the sandbox or the engine is not there
    │   ├── RegistryError         a registry refuses an image, or does not answer
    │   ├── StorageError          the disk that a run is kept on is full or gone
    │   └── OutageError           what attempts need was away for longer than anybody waits
    └── AttemptError         70   ends one attempt, never the run
        ├── SandboxError     69   the engine or the container is lost
        │   ├── DoesNotFitError       what was to be written is more than a sandbox may hold
    │   └── ServiceError          a service beside the sandbox does not work
        ├── AttemptTimeoutError   its time as a whole is over
        ├── GitCloneError         the repository cannot be had
        │   └── GitCloneTimeoutError  its host does not answer in time
        ├── GitCheckoutError      the commit is not in the repository
        ├── LLMError              the model did not answer
        └── ToolError             a tool of the agent failed for good
    RunCancelled            130   the run or one command of it was cancelled; no Exception
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar, Self


class AgentbenchError(Exception):
    """The harness cannot go on; the message says what was expected, found and to be done."""

    exit_code: ClassVar[int] = 70
    failure_reason: ClassVar[str | None] = None


class UsageError(AgentbenchError):
    """The command line asks for something that does not exist or contradicts itself."""

    exit_code = 2


class InputError(AgentbenchError):
    """A task, run or import file is wrong; holds every fault that was found."""

    exit_code = 65

    def __init__(self, *faults: str) -> None:
        super().__init__("\n".join(faults))
        self.faults = faults


class UnavailableError(AgentbenchError):
    """What attempts run in is not there; the message says what to start or install."""

    exit_code = 69
    failure_reason = "SANDBOX_ERROR"


class ImageBuildError(UnavailableError):
    """An image cannot be built from a task's Dockerfile."""

    fault: str | None = None
    """Overrides the reason's default fault: the Dockerfile's own faults are the task's."""


class RegistryError(UnavailableError):
    """A registry of images refuses, or does not answer; it may well have the image."""


class StorageError(UnavailableError):
    """What a run leaves cannot be written: its disk is full, or was taken away."""


class OutageError(UnavailableError):
    """The engine, a disk or the model was away for longer than attempts wait for it."""


class AttemptError(AgentbenchError):
    """Ends one attempt with the reason that it carries."""

    failure_reason = "UNKNOWN"
    fault: str | None = None
    """Overrides the reason's default fault: a model's refusal is an LLMError, and the agent's."""

    def __init__(self, *args: object, fault: str | None = None) -> None:
        super().__init__(*args)
        if fault is not None:
            self.fault = fault

    def blamed_on(self, fault: str) -> Self:
        """The same error with another fault, to be raised from this one."""
        return type(self)(*self.args, fault=fault)


class SandboxError(AttemptError):
    """The engine, the container or the sandbox process is lost."""

    exit_code = 69  # where it was no attempt that met it, but the start of a run
    failure_reason = "SANDBOX_ERROR"


class DoesNotFitError(SandboxError):
    """What was to be written into a sandbox is more than it may hold; nothing is lost."""


class ServiceError(SandboxError):
    """A service beside the sandbox does not start, or has failed."""

    fault = "task"  # each stage has fresh services, so no agent has touched them
    logs: Mapping[str, bytes] = MappingProxyType({})  # of all services


class AttemptTimeoutError(AttemptError):
    """The time of the attempt as a whole is over."""

    failure_reason = "TIMEOUT"


class GitCloneError(AttemptError):
    """The repository could not be fetched from where the task says it is."""

    failure_reason = "GIT_CLONE_FAILED"


class GitCloneTimeoutError(GitCloneError):
    """The repository's host did not answer, or not to the end, in the time that a clone has."""

    failure_reason = "TIMEOUT"
    fault = "infrastructure"  # no agent has run yet, and the next try may well succeed


class GitCheckoutError(AttemptError):
    """The repository has no such commit."""

    failure_reason = "GIT_CHECKOUT_FAILED"


class LLMError(AttemptError):
    """The model's service failed for good; raised by agents."""

    failure_reason = "LLM_ERROR"


class ToolError(AttemptError):
    """A tool of the agent failed for good; raised by agents."""

    failure_reason = "TOOL_ERROR"


class RunCancelled(BaseException):
    """The run, or one command of it, was cancelled: by a signal, an MCP client or a deadline.

    Raised in the threads that make attempts. No `Exception`, so that an agent that catches every
    `Exception` does not go on after it.
    """

    exit_code: ClassVar[int] = 130
    failure_reason: ClassVar[str] = "INTERRUPTED"

    def __init__(self, message: str = "the run was cancelled") -> None:
        super().__init__(message)
