"""Pytest results: the serializer that judges attempts and answers agents, imported on first use."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentbench.test_runs.report_files import serialize_pytest_results

__all__ = ["serialize_pytest_results"]


def __getattr__(name: str) -> object:
    if name != "serialize_pytest_results":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from agentbench.test_runs.report_files import serialize_pytest_results

    return serialize_pytest_results
