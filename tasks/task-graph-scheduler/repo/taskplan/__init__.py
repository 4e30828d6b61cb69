"""Order tasks by what they depend on, and run them."""

from taskplan.graph import CycleError, TaskGraph, UnknownTask
from taskplan.plan import Plan
from taskplan.running import Outcome

__all__ = ["CycleError", "Outcome", "Plan", "TaskGraph", "UnknownTask"]
