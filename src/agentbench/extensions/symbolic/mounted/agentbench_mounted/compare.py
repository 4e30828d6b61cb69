"""Compares pairs of functions: searches for a program on which they behave differently.

Reads a `ComparisonRequest` from stdin and writes a `ComparisonResult` per pair and line to stdout:
see agentbench.extensions.symbolic.analysis. Neither function ever runs in this process.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import dataclass

from . import messages, outcomes
from .descriptions import has_sets
from .foreign_code import call_foreign
from .literals import KnownLiterals
from .path_comparison import explore_in_process
from .worker import THIS
from .worker_process import WorkerDiedError, WorkerProcess

_INPUTS_SHARE = 0.6  # of the time, if paths are searched afterwards
_OBSERVED = 100  # calls of tests
_LEAST_SHARE = 1 / 8  # of the time of a call
_HASH_SEEDS = 6  # orders in sets in which a difference must be the same
_FEWEST = 10  # inputs that say something


@dataclass(frozen=True)
class Difference:
    """The behaviour of both at the statement where they differ."""

    left: str
    right: str
    at: int


class ComparedFunctions:
    """The reference and the other function, each in a worker, and the facts seen so far."""

    def __init__(self, pair: messages.Pair, request: messages.Request) -> None:
        self._locations = pair["left"], pair["right"]
        self._start_workers(hash_seed=0)
        self.errors = pair.get("errors", outcomes.CONTRACT)
        self._seconds = self._whole_seconds = request.get("call_seconds", 2.0)
        self.inferred = False  # types were guessed
        self.unordered = False  # the code has sets, whose order says nothing
        self.tried = 0
        self.informative = 0  # of them, the reference works on
        self.visible = 0  # of them, have a visible effect
        self.hidden = 0  # return something that cannot be looked into
        self.side_effects = 0  # print something, or change more than the arguments
        self.reached = ""  # the first attempt to write, send or start something

    def _start_workers(self, *, hash_seed: int) -> None:
        left, right = self._locations
        self.left = WorkerProcess(left, hash_seed=hash_seed)
        self.right = WorkerProcess(right, hash_seed=hash_seed)

    def end(self) -> None:
        self.left.close()
        self.right.close()

    def run(self, program: list[str]) -> Difference | None:
        """Run a program in both; returns the difference, if there is one."""
        self.tried += 1
        left = self._run(self.left, program)
        if "lost" in left:
            return None  # an input that ends the reference's process says nothing
        if left["steps"][-1]["kind"] == outcomes.TIMEOUT:
            # Spend the time on inputs on which the reference is fast.
            self._seconds = max(self._seconds / 2, self._whole_seconds * _LEAST_SHARE)
        # Count the visible effects of the reference.
        steps = [one for one in left["steps"] if one["kind"] != outcomes.TIMEOUT]
        changed = [name for name, variable in left["after"].items() if variable["changed"]]
        visible = [outcomes.shows_something(one) for one in steps if not one.get("preparing")]
        self.visible += any(visible) or bool(changed)
        self.hidden += any(outcomes.is_hidden(one["form"]) for one in steps if "form" in one)
        printed = any(one.get("stdout") or one.get("stderr") for one in steps)
        self.side_effects += printed or any("." in name for name in changed)
        reached = (one["reached"] for one in steps if "reached" in one)
        self.reached = self.reached or next(reached, "")
        right = self._run(self.right, program)
        found, informative_steps = self._step_difference(left, right)
        if found is None and informative_steps == len(left["steps"]):
            found = self._variable_difference(left, right)
        self.informative += found is not None or informative_steps > 0
        return found

    def differs(self, program: list[str]) -> bool:
        return self.run(program) is not None

    def works(self, program: list[str]) -> bool:
        """Whether the reference takes an input, as far as its types go."""
        result = self._run(self.left, program)
        if "lost" in result:
            return True
        last = result["steps"][-1]
        wrong_type = {"TypeError", "AttributeError"}.intersection(last.get("mro", ()))
        return last["kind"] == outcomes.RETURNS or not wrong_type

    def confirm(self, program: list[str]) -> Difference | None:
        """The same difference in new processes, for each order in their sets."""
        found = None
        self._seconds = self._whole_seconds
        for hash_seed in range(_HASH_SEEDS):
            self.end()
            self._start_workers(hash_seed=hash_seed)
            again = self.run(program)
            if again is None or (found is not None and again != found):
                return None
            found = again
        return found

    def _run(self, worker: WorkerProcess, program: list[str]) -> messages.ProgramResult:
        try:
            return worker.run(program, self._seconds)
        except WorkerDiedError as error:
            return {"steps": [], "after": {}, "lost": f"ends its process: {error}"}

    # The first difference of two steps, and how many steps of the reference say something.
    def _step_difference(
        self, left: messages.ProgramResult, right: messages.ProgramResult
    ) -> tuple[Difference | None, int]:
        for at, step in enumerate(left["steps"]):
            if not outcomes.says_something(step, errors=self.errors, inferred=self.inferred):
                return None, at
            if "lost" in right:
                return Difference(outcomes.words(step), right["lost"], at), at
            if at < len(right["steps"]) and self._differ(step, right["steps"][at]):
                return Difference(outcomes.words(step), outcomes.words(right["steps"][at]), at), at
            if step["kind"] == outcomes.RAISES and at + 1 < len(left["steps"]):
                return None, at + 1
        return None, len(left["steps"])

    def _differ(self, step: messages.Step, other: messages.Step) -> bool:
        if self.unordered and outcomes.is_reordered(step, other):
            return False
        return outcomes.differ(step, other, errors=self.errors, inferred=self.inferred)

    # The first argument or module variable that one leaves otherwise than the other.
    def _variable_difference(
        self, left: messages.ProgramResult, right: messages.ProgramResult
    ) -> Difference | None:
        last = len(left["steps"]) - 1
        left_kind, right_kind = left["steps"][last]["kind"], right["steps"][-1]["kind"]
        if left_kind == outcomes.RAISES or right_kind == outcomes.TIMEOUT:
            return None
        for name in sorted({**left["after"], **right["after"]}):
            is_module_variable = "." in name
            if is_module_variable and self.errors != outcomes.ALL:
                continue  # a project is free in how it keeps its state
            one, other = left["after"].get(name), right["after"].get(name)
            if one is None or other is None:
                differs = is_module_variable  # only one of them has changed it
            else:
                differs = not outcomes.is_same(one["form"], other["form"])
            if differs:
                return Difference(_effect_text(name, one), _effect_text(name, other), last)
        return None


def _effect_text(name: str, variable: messages.Variable | None) -> str:
    return f"leaves {name} as it was" if variable is None else f"leaves {variable['text']}"


def compare(pair: messages.Pair, request: messages.Request) -> messages.Json:
    """The result for one pair."""
    began = time.monotonic()
    functions = ComparedFunctions(pair, request)
    until = began + request.get("seconds", 20.0)
    try:
        result = call_foreign(lambda: _compare(pair, request, functions, until))
    finally:
        functions.end()
    answer = result.value
    if answer is None:  # the trouble of one pair must not affect the others
        error = result.error
        why = f"the comparing itself failed: {type(error).__name__}: {error}"[:300]
        if isinstance(error, WorkerDiedError):
            why = f"cannot be loaded or described: {error}"
        answer = _not_compared(why)
    answer.setdefault("inputs_tried", functions.informative)
    return {**answer, "time_spent": round(time.monotonic() - began, 3)}


def _not_compared(why: str) -> messages.Json:
    return {"ending": "not_compared", "why": why}


def _compare(
    pair: messages.Pair, request: messages.Request, functions: ComparedFunctions, until: float
) -> messages.Json:
    try:
        from .input_search import search
        from .inputs import NoInputsError, programs
    except ImportError as error:
        return _not_compared(f"no inputs can be made here: {error}")
    described, other = functions.left.describe(), functions.right.describe()
    literals = [*described["constants"], *other["constants"], *request.get("literals", ())]
    sources = [*described["sources"], *other["sources"]]
    known = KnownLiterals.of(literals, sources, anything=functions.errors == outcomes.ALL)
    functions.inferred = _complete_types(described, functions, known)
    functions.unordered = any(map(has_sets, sources))
    try:
        strategy = programs(described, known)
    except NoInputsError as error:
        return _not_compared(str(error))
    symbolic = request.get("symbolic", True)
    now = time.monotonic()
    limit = now + (until - now) * (_INPUTS_SHARE if symbolic else 1.0)
    found = _first_of_tests(pair, described, functions)
    found = found or search(strategy, functions.differs, limit, request)
    facts: messages.Json = {}
    if found is None and symbolic:
        seconds = min(until - time.monotonic(), request.get("path_seconds", 15.0))
        findings = explore_in_process(pair, described, seconds)
        facts = {
            "paths_explored": findings.get("paths", 0),
            "exhausted": findings.get("exhausted", False),
        }
        if findings.get("why"):
            facts["why"] = f"paths were not searched: {findings['why']}"
        found = _first_of_paths(findings, functions, known)
    if found is not None:
        # A shorter text is none of the choices of an enumeration.
        can_shrink = '"choice"' not in json.dumps(described)
        return {**facts, **_different(found, functions, pair, can_shrink=can_shrink)}
    return {**facts, "exhausted": False, **_no_difference(functions, facts)}


# Guess the types without annotation; returns whether any type is a guess.
def _complete_types(
    described: messages.Description, functions: ComparedFunctions, known: KnownLiterals
) -> bool:
    from .input_search import guess_types

    method = described.get("method") or {"name": ""}
    lists = described.get("params"), described.get("init"), method.get("params")
    params = [one for params in lists for one in params or ()]
    untyped = [one for one in params if one["type"] == {"t": "missing"}]
    if not untyped:
        return any(one.get("guessed") for one in params)
    guess_types(untyped, described, known, functions.works)
    return True


def _first_of_tests(
    pair: messages.Pair, described: messages.Description, functions: ComparedFunctions
) -> list[str] | None:
    if described["kind"] != "function":
        return None
    for text in pair.get("observed", ())[:_OBSERVED]:
        _name, opened, arguments = text.partition("(")
        program = [f"{THIS}({arguments}"]
        if opened and functions.differs(program):
            return program
    return None


# The first program of the path search on which the functions really differ.
def _first_of_paths(
    findings: messages.PathFindings, functions: ComparedFunctions, known: KnownLiterals
) -> list[str] | None:
    ascii_only = functions.errors == outcomes.CONTRACT
    for program in findings.get("programs", []):
        if known.is_plausible(program, ascii_only=ascii_only) and functions.differs(program):
            return program
    return None


def _different(
    program: list[str], functions: ComparedFunctions, pair: messages.Pair, *, can_shrink: bool
) -> messages.Json:
    from .input_search import smaller

    least = smaller(program, functions.differs) if can_shrink else program
    confirmed = functions.confirm(least)
    if confirmed is None:
        least = program
        confirmed = functions.confirm(least)
    if confirmed is None:
        return _not_compared("a difference was seen only once: it depends on something else")
    least = least[: confirmed.at + 1]
    difference = {
        "program": written(least, pair["left"]),
        "call": for_a_reader(least, str(pair["left"]["name"])),
        "left": confirmed.left,
        "right": confirmed.right,
    }
    return {"ending": "different", "difference": difference}


# The ending without a difference, if there was enough to see.
def _no_difference(functions: ComparedFunctions, facts: messages.Json) -> messages.Json:
    # The end of a path shows no output, no other changes and no hidden parts.
    unseen = functions.hidden or functions.side_effects
    exhausted = facts.get("exhausted", False) and not unseen
    if functions.reached:
        reaching = f"it reaches out of its process ({functions.reached})"
        return _not_compared(f"{reaching}, and the effect of that is not seen")
    if functions.informative < min(_FEWEST, functions.tried) and not exhausted:
        counted = f"{functions.informative} of {functions.tried}"
        return _not_compared(f"the reference works on too few inputs: {counted}")
    if functions.informative and not functions.visible:
        nothing = "is nothing, and it changes no argument"
        effect = "cannot be looked into" if functions.hidden else nothing
        return _not_compared(f"what it returns {effect}")
    return {"ending": "no_difference", "exhausted": exhausted}


def written(program: list[str], location: messages.Location) -> list[str]:
    """A program that imports its callable."""
    name = str(location["name"])
    owner = _owner(name, program)
    imports = f"from {location['module']} import {name.split('.')[0]}"
    return [imports, *(one.replace(THIS, owner) for one in program)]


def for_a_reader(program: list[str], name: str) -> str:
    """A program in one line: `f([1], 2)`, `it = Cache(2); it.get('a')`."""
    values: dict[str, str] = {}
    lines = []
    for statement in program:
        variable, _, value = statement.partition(" = ")
        if variable.startswith("arg") and variable.isidentifier():
            values[variable] = value
        elif not statement.startswith("import "):
            lines.append(statement.replace(THIS, _owner(name, program)))
    line = "; ".join(lines)
    for variable, value in values.items():
        line = line.replace(variable, value)
    return line


# The name for `THIS`: the function's, or that of a method's class.
def _owner(name: str, program: list[str]) -> str:
    is_object = any(one.startswith("it = ") for one in program)
    owner, _, last = name.rpartition(".")
    is_method = owner and (is_object or any(f"{THIS}.{last}(" in one for one in program))
    return owner if is_method else name


def main() -> None:
    """Answer the request on stdin."""
    request: messages.Request = json.loads(sys.stdin.read())
    for pair in request["pairs"]:
        sys.stdout.write(json.dumps(compare(pair, request)) + "\n")
        sys.stdout.flush()
