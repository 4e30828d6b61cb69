"""Metrics of the service for Prometheus."""

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    generate_latest,
)

from agentbench import __version__
from agentbench.extensions.service.messages import JobState, ServiceJob

_SECONDS = (0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600)
_HTTP_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)


class ServiceMetrics:
    """Counters and gauges of one service."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._ended = Counter(
            "agentbench_jobs",
            "Jobs that have ended, by their outcome.",
            ["outcome", "reason"],
            registry=self._registry,
        )
        self._seconds = Histogram(
            "agentbench_judging_seconds",
            "How long judging one change took, without the wait for a free slot.",
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._waited = Histogram(
            "agentbench_waiting_seconds",
            "How long a job waited before it was judged.",
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._requests = Counter(
            "agentbench_http_requests",
            "Answered requests, by their route.",
            ["method", "route", "status"],
            registry=self._registry,
        )
        self._request_seconds = Histogram(
            "agentbench_http_request_seconds",
            "How long answering a request took; long-polls wait.",
            ["method", "route"],
            buckets=_HTTP_SECONDS,
            registry=self._registry,
        )
        self._queued = self._gauge("agentbench_jobs_queued", "Jobs that wait for a free slot.")
        self._running = self._gauge("agentbench_jobs_running", "Jobs that are being judged.")
        self._sessions = self._gauge("agentbench_sessions", "Open sessions.")
        info = self._gauge("agentbench_info", "The version of agentbench.", "version")
        info.labels(__version__).set(1)
        ProcessCollector(registry=self._registry)

    def ended(self, job: ServiceJob) -> None:
        verdict = job.verdict
        reason = "" if verdict is None or verdict.reason is None else verdict.reason.value
        if job.state is not JobState.DONE or verdict is None:
            outcome = job.state.value
        elif verdict.reward is None:
            outcome = "no_verdict"
        else:
            outcome = "resolved" if verdict.resolved else "not_resolved"
        self._ended.labels(outcome, reason).inc()
        if verdict is not None and not verdict.from_cache and verdict.run_id is not None:
            self._seconds.observe(verdict.seconds)
        if job.starts:
            waited = job.starts[0].started_at - job.created_at
            self._waited.observe(max(0.0, waited.total_seconds()))

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        self._requests.labels(method, route, str(status)).inc()
        self._request_seconds.labels(method, route).observe(seconds)

    def text(self, *, queued: int, running: int, sessions: int) -> bytes:
        """All values in Prometheus' text format, with these present numbers."""
        self._queued.set(queued)
        self._running.set(running)
        self._sessions.set(sessions)
        return generate_latest(self._registry)

    def _gauge(self, name: str, text: str, *labels: str) -> Gauge:
        return Gauge(name, text, labels, registry=self._registry)
