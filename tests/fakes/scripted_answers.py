"""What a scripted model may answer, and what it is asked."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Event
from typing import Any

from agentbench.models.interface import ApiFormat, ModelErrorKind

_KINDS = {
    400: ModelErrorKind.MALFORMED,
    401: ModelErrorKind.AUTH,
    402: ModelErrorKind.QUOTA,
    403: ModelErrorKind.AUTH,
    404: ModelErrorKind.UNKNOWN_MODEL,
    429: ModelErrorKind.RATE_LIMIT,
    503: ModelErrorKind.OVERLOADED,
    529: ModelErrorKind.OVERLOADED,
}


@dataclass(frozen=True)
class Tokens:
    """What an answer says it took; `input` counts all, cached and cache-written ones included."""

    input: int = 100
    output: int = 20  # reasoning included
    cached: int = 0
    cache_written: int = 0
    reasoning: int = 0

    def __add__(self, other: "Tokens") -> "Tokens":
        return Tokens(
            self.input + other.input,
            self.output + other.output,
            self.cached + other.cached,
            self.cache_written + other.cache_written,
            self.reasoning + other.reasoning,
        )


NO_TOKENS = Tokens(0, 0)


@dataclass(frozen=True)
class Say:
    """Text. With `hold`, a stream waits for that event after its first piece of text."""

    text: str
    tokens: Tokens = Tokens()
    refused: bool = False
    hold: Event | None = None

    def begins_in(self, chunk: bytes) -> bool:
        """Whether a piece of the stream holds the first word of the text."""
        return self.text.split()[0].encode() in chunk


@dataclass(frozen=True)
class Call:
    """One call of a tool, after some text or none."""

    tool: str
    arguments: Mapping[str, Any]
    text: str = ""
    tokens: Tokens = Tokens()


@dataclass(frozen=True)
class Calls:
    """Several calls of tools in one answer."""

    calls: Sequence[Call]
    text: str = ""
    tokens: Tokens = Tokens()


@dataclass(frozen=True)
class Fail:
    """An error in the provider's own shape; with `after_chunks`, in the middle of a stream."""

    status: int
    kind: ModelErrorKind | None = None  # by the status
    message: str | None = None
    retry_after: float | None = None  # seconds
    after_chunks: int | None = None

    @property
    def shown_kind(self) -> ModelErrorKind:
        return self.kind or _KINDS.get(self.status, ModelErrorKind.SERVER_ERROR)


@dataclass(frozen=True)
class Cut:
    """An answer that begins and whose connection is closed; not streamed: in mid-body."""

    after_chunks: int = 2
    tokens: Tokens = Tokens()


@dataclass(frozen=True)
class Hang:
    """Nothing more is said, until the client or the test goes away."""

    after_chunks: int = 0
    tokens: Tokens = Tokens()


@dataclass(frozen=True)
class Reset:
    """The connection is reset, as by a crash."""

    after_chunks: int = 0
    tokens: Tokens = Tokens()


@dataclass(frozen=True)
class Endless:
    """A stream (or a body) that never ends: 16 KiB after 16 KiB."""


@dataclass(frozen=True)
class Huge:
    """An answer whose text is of so many bytes."""

    size: int
    tokens: Tokens = Tokens()


@dataclass(frozen=True)
class Raw:
    """These very bytes."""

    body: bytes
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


Answer = Say | Call | Calls | Fail | Cut | Hang | Reset | Endless | Huge | Raw


@dataclass
class Asked:
    """One request, as it came, and what became of it."""

    method: str
    path: str  # without the query
    query: str
    headers: Mapping[str, str]  # names in small letters
    raw: bytes
    wire: ApiFormat | None = None
    answer: Answer | None = None
    told: Tokens = NO_TOKENS  # what was said to the client about tokens

    @property
    def body(self) -> dict[str, Any]:
        """The body as JSON; empty where it is none."""
        try:
            return json.loads(self.raw)
        except ValueError:
            return {}

    @property
    def model(self) -> str:
        """The model that is asked for."""
        if self.wire is ApiFormat.GEMINI_GENERATE:
            return self.path.rpartition("/models/")[2].partition(":")[0]
        return str(self.body.get("model", ""))

    @property
    def stream(self) -> bool:
        """Whether the answer is to be streamed."""
        if self.wire is ApiFormat.GEMINI_GENERATE:
            return ":stream" in self.path
        return bool(self.body.get("stream"))

    @property
    def turns(self) -> list[dict[str, Any]]:
        """The conversation so far, in the wire's own form."""
        body = self.body
        turns = body.get("messages") or body.get("input") or body.get("contents") or []
        return turns if isinstance(turns, list) else [{"role": "user", "content": turns}]

    @property
    def answered_before(self) -> int:
        """How many answers of a model the conversation holds: 0 at its start."""
        model_roles = {"assistant", "model"}
        count, inside = 0, False
        for turn in self.turns:
            from_model = turn.get("role") in model_roles or turn.get("type") in {
                "function_call", "reasoning", "custom_tool_call", "local_shell_call",
            }  # fmt: skip
            count += from_model and not inside
            inside = from_model
        return count

    @property
    def tools(self) -> list[str]:
        """The names of the tools that are offered."""
        names = []
        for tool in self.body.get("tools") or []:
            inner = tool.get("function") if isinstance(tool.get("function"), dict) else tool
            declared = tool.get("functionDeclarations") or [inner]
            names += [str(each.get("name") or each.get("type")) for each in declared]
        return names


Script = Sequence[Answer] | Callable[[Asked], Answer]


def for_ever(answer: Answer) -> Callable[[Asked], Answer]:
    """The same answer to every request."""
    return lambda _asked: answer


def by_turn(answers: Sequence[Answer], *, aside: str = "ok") -> Callable[[Asked], Answer]:
    """The answer that fits how far a conversation is: serves many conversations at a time.

    A request that offers no tools (a title, a summary) gets `aside` as long as answers are Calls.
    """

    def choose(asked: Asked) -> Answer:
        answer = answers[min(asked.answered_before, len(answers) - 1)]
        if isinstance(answer, Call | Calls) and not asked.tools:
            return Say(aside)
        return answer

    return choose
