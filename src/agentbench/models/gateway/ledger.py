"""What one attempt has requested, received and spent."""

from collections import Counter
from collections.abc import Callable
from threading import Lock
from types import MappingProxyType

from agentbench.models.gateway.exchange_log import ModelExchange
from agentbench.models.interface import (
    ModelErrorKind,
    ModelFailure,
    ModelTraffic,
    ModelUsage,
    TokenCounts,
)
from agentbench.scoring.evidence import Finding, Severity

CostFunction = Callable[[str, TokenCounts], float | None]
"""USD for tokens of a model; None if nobody knows its price."""

_MAX_FINDINGS = 50


class Ledger:
    """Counts; safe to use from several threads.

    The budget is held against what is known to be spent. Where no price is known it cannot bind,
    and requests that are under way are not in it yet.
    """

    def __init__(self, *, model: str, budget_usd: float, cost_of: CostFunction, free: bool) -> None:
        """Start at zero; `free`: answers come from a recording, so that they cost nothing."""
        self._budget_usd = budget_usd
        self._cost_of = cost_of
        self._free = free
        self._lock = Lock()
        self._requests = 0
        self._tokens = Counter[str]()
        self._spent_usd = 0.0
        self._unpriced = cost_of(model, TokenCounts()) is None
        self._errors = Counter[ModelErrorKind]()
        self._unanswered: ModelFailure | None = None
        self._over_budget = False
        self._findings: dict[tuple[str, str], Finding] = {}

    def is_budget_spent(self) -> bool:
        """Whether the budget is spent; that it was asked then is remembered."""
        with self._lock:
            spent = self._spent_usd >= self._budget_usd
            self._over_budget |= spent
            return spent

    def count_request(self) -> None:
        """One more request goes to the model."""
        with self._lock:
            self._requests += 1

    def count_tokens(self, exchange: ModelExchange, tokens: TokenCounts) -> None:
        """An answer tells of its tokens; what it told before is replaced."""
        cost = self._cost_of(exchange.model, tokens)
        with self._lock:
            before = exchange.tokens or TokenCounts()
            self._tokens["input"] += tokens.input - before.input
            self._tokens["output"] += tokens.output - before.output
            self._tokens["cached"] += tokens.cached - before.cached
            self._unpriced |= cost is None
            self._spent_usd += (cost or 0.0) - (exchange.cost_usd or 0.0)
            exchange.tokens, exchange.cost_usd = tokens, cost

    def answered(self) -> None:
        """The model has answered a request; what went wrong before is made good."""
        with self._lock:
            self._unanswered = None

    def failed(self, failure: ModelFailure) -> None:
        """A request got no answer."""
        with self._lock:
            self._errors[failure.kind] += 1
            self._unanswered = failure

    def add_finding(self, rule: str, severity: Severity, where: str, what: str) -> None:
        """Keep a finding, once, and so many at most."""
        with self._lock:
            if len(self._findings) < _MAX_FINDINGS:
                made = Finding(rule=rule, severity=severity, where=where, what=what)
                self._findings.setdefault((rule, where), made)

    def facts(self) -> ModelTraffic:
        """All of it, as it is now."""
        with self._lock:
            usage = ModelUsage(
                requests=self._requests,
                input_tokens=self._tokens["input"],
                output_tokens=self._tokens["output"],
                cached_tokens=self._tokens["cached"],
                cost_usd=0.0 if self._free else None if self._unpriced else self._spent_usd,
            )
            return ModelTraffic(
                usage=usage,
                errors=MappingProxyType(dict(self._errors)),
                last_failure=self._unanswered,
                over_budget=self._over_budget,
                findings=tuple(self._findings.values()),
            )
