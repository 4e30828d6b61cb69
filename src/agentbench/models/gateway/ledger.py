"""The requests, tokens and cost of one attempt."""

from collections import Counter
from collections.abc import Callable
from threading import Lock
from types import MappingProxyType

from agentbench.models import interface
from agentbench.models.gateway.exchange_log import ModelExchange
from agentbench.models.gateway.upstream import ProviderRequest
from agentbench.scoring.evidence import Finding, Severity

CostFunction = Callable[[str, interface.TokenCounts], float | None]
"""The price in USD of a model's tokens; None if it is unknown."""

_MAX_FINDINGS = 50


class Ledger:
    """Counts requests, tokens and cost. Safe to use from several threads.

    The budget is compared with the known cost. It has no effect without a known price, and does
    not include running requests.
    """

    def __init__(self, *, model: str, budget_usd: float, cost_of: CostFunction, free: bool) -> None:
        """Start at zero; `free`: answers come from a recording and cost nothing."""
        self.model = model
        self.budget_usd = budget_usd
        self._cost_of = cost_of
        self._free = free
        self._lock = Lock()
        self._requests = 0
        self._tokens = Counter[str]()
        self._spent_usd = 0.0
        self._unpriced = cost_of(model, interface.TokenCounts()) is None
        self._errors = Counter[interface.ModelErrorKind]()
        self._unanswered: interface.ModelFailure | None = None
        self._unanswered_call: ProviderRequest | None = None
        self._over_budget = False
        self._findings: dict[tuple[str, str], Finding] = {}

    def is_budget_spent(self) -> bool:
        """Whether the budget is spent; records that a request was refused for that."""
        with self._lock:
            spent = self._spent_usd >= self.budget_usd
            self._over_budget |= spent
            return spent

    def count_request(self) -> None:
        with self._lock:
            self._requests += 1

    def count_tokens(self, exchange: ModelExchange, tokens: interface.TokenCounts) -> None:
        """Record the tokens of an answer, replacing earlier ones of the same answer."""
        cost = self._cost_of(exchange.model, tokens)
        with self._lock:
            before = exchange.tokens or interface.TokenCounts()
            self._tokens["input"] += tokens.input - before.input
            self._tokens["output"] += tokens.output - before.output
            self._tokens["cached"] += tokens.cached - before.cached
            self._unpriced |= cost is None
            self._spent_usd += (cost or 0.0) - (exchange.cost_usd or 0.0)
            exchange.tokens, exchange.cost_usd = tokens, cost

    def answered(self) -> None:
        """Record an answered request, which clears the last failure."""
        with self._lock:
            self._unanswered = None

    def failed(
        self,
        failure: interface.ModelFailure,
        call: ProviderRequest | None = None,
        *,
        is_certain: bool = True,
    ) -> None:
        """Record a request without an answer.

        Args:
            failure: Why there is none.
            call: The request, if repeating it can show that the model is not to blame.
            is_certain: False if the client has left early; then this is no error so far.
        """
        with self._lock:
            self._errors[failure.kind] += is_certain
            self._unanswered, self._unanswered_call = failure, call

    @property
    def unanswered_call(self) -> ProviderRequest | None:
        """The last request, if it failed and was not the agent's own error."""
        with self._lock:
            is_own = self._unanswered and self._unanswered.kind in interface.AGENTS_OWN_ERRORS
            return None if self._unanswered is None or is_own else self._unanswered_call

    def add_finding(self, rule: str, severity: Severity, where: str, what: str) -> None:
        """Record a finding once, up to a limit."""
        with self._lock:
            if len(self._findings) < _MAX_FINDINGS:
                finding = Finding(rule=rule, severity=severity, where=where, what=what)
                self._findings.setdefault((rule, where), finding)

    def facts(self) -> interface.ModelTraffic:
        """The current state."""
        with self._lock:
            usage = interface.ModelUsage(
                requests=self._requests,
                input_tokens=self._tokens["input"],
                output_tokens=self._tokens["output"],
                cached_tokens=self._tokens["cached"],
                cost_usd=0.0 if self._free else None if self._unpriced else self._spent_usd,
            )
            return interface.ModelTraffic(
                usage=usage,
                errors=MappingProxyType(dict(+self._errors)),
                last_failure=self._unanswered,
                over_budget=self._over_budget,
                findings=tuple(self._findings.values()),
            )
