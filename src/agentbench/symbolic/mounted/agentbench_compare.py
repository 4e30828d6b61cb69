"""Compares pairs of functions: searches for a program on which they behave differently.

Reads a `Question` from stdin and writes an `Answer` a line to stdout, as agentbench.symbolic.
comparison describes them. Neither function ever runs in this process.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

_HERE = str(Path(__file__).parent)
sys.path[:0] = [_HERE]
sys.path[len(sys.path) :] = sys.argv[1:2]  # the library: hypothesis, crosshair

from agentbench_link import Link, LostError  # noqa: E402 - found by what stands above
from agentbench_outcome import (  # noqa: E402 - the same
    ALL,
    differ,
    is_hidden,
    is_reordered,
    same,
    says_something,
    shows_something,
    words,
)

_MADE_OF = {"t": "missing"}
_SHARE = 0.6  # of the time, for inputs that are made; the rest is for paths
_SAID = 300  # characters of an error
_OBSERVED = 100  # calls of tests
_LEAST_SHARE = 1 / 8  # of the time of a call
_ORDERS = 6  # of sets, in which a difference must be the same
_FEWEST = 10  # inputs that say something
_GUESSES: tuple[dict[str, Any], ...] = (
    {"t": "int"},
    {"t": "str"},
    {"t": "list", "of": {"t": "int"}},
    {"t": "float"},
    {"t": "list", "of": {"t": "str"}},
    {"t": "dict", "keys": {"t": "str"}, "values": {"t": "int"}},
    {"t": "bool"},
)


class Sides:
    """The two workers, and what was seen of them."""

    def __init__(self, pair: dict[str, Any], question: dict[str, Any]) -> None:
        """Take who is compared; nothing is started."""
        self.left, self.right = (Link(pair[side]) for side in ("left", "right"))
        self.places = pair["left"], pair["right"]
        self.errors = pair.get("errors", "contract")
        self.seconds = self.whole_seconds = question.get("call_seconds", 2.0)
        self.inferred = False
        self.unordered = False  # the code has sets, whose order says nothing
        self.tried = 0
        self.informative = 0
        self.shown = 0  # of them: there was something to see
        self.hidden = 0  # a part of what was returned cannot be looked into
        self.beside = 0  # something was printed, or changed outside of the arguments
        self.reached = ""  # the first that was written, sent or started

    def end(self) -> None:
        """End both workers."""
        self.left.end()
        self.right.end()

    def look(self, program: list[str]) -> tuple[str, str, int] | None:
        """What they did where they differ, and at which statement."""
        self.tried += 1
        left = self._run(self.left, program)
        if "lost" in left:
            return None  # what kills the reference is no input for it
        self._hurry(left)
        self._note(left)
        found = self._difference(left, self._run(self.right, program))
        self.informative += found is not None
        return found

    def _hurry(self, left: dict[str, Any]) -> None:
        """Where the reference takes too long at times, the time is for those where it does not."""
        if left["steps"][-1]["kind"] == "timeout":
            self.seconds = max(self.seconds / 2, self.whole_seconds * _LEAST_SHARE)

    def _note(self, left: dict[str, Any]) -> None:
        """What there was to see of the reference."""
        steps = [one for one in left["steps"] if one["kind"] != "timeout"]
        changed = [name for name, one in left["after"].items() if one["changed"]]
        seen = [shows_something(one) for one in steps if not one.get("preparing")]
        self.shown += any(seen) or bool(changed)
        self.hidden += any(is_hidden(one["form"]) for one in steps if "form" in one)
        self.beside += any("." in name for name in changed) or any(
            stream in one for one in steps for stream in ("stdout", "stderr")
        )
        reached = (one["reached"] for one in steps if "reached" in one)
        self.reached = self.reached or next(reached, "")

    def _difference(
        self, left: dict[str, Any], right: dict[str, Any]
    ) -> tuple[str, str, int] | None:
        said = False
        for at, step in enumerate(left["steps"]):
            if not says_something(step, errors=self.errors, inferred=self.inferred):
                break
            if "lost" in right:
                return words(step), right["lost"], at
            if at < len(right["steps"]):
                other = right["steps"][at]
                if self._differ(step, other):
                    return words(step), words(other), at
            said = True
            if step["kind"] == "raises" and at + 1 < len(left["steps"]):
                break
        else:
            self.informative += said
            return self._changed(left, right)
        self.informative += said
        return None

    def _differ(self, step: dict[str, Any], other: dict[str, Any]) -> bool:
        if self.unordered and is_reordered(step, other):
            return False
        return differ(step, other, errors=self.errors, inferred=self.inferred)

    def _changed(self, left: dict[str, Any], right: dict[str, Any]) -> tuple[str, str, int] | None:
        """Arguments, or variables, that one leaves otherwise than the other."""
        last = len(left["steps"]) - 1
        if left["steps"][last]["kind"] == "raises" or right["steps"][-1]["kind"] == "timeout":
            return None
        for name in sorted({**left["after"], **right["after"]}):
            if "." in name and self.errors != ALL:
                continue  # a variable of a module: how a project keeps its state is its own affair
            one, other = left["after"].get(name), right["after"].get(name)
            if one is None or other is None:
                differs = "." in name  # a variable that one of them alone has changed
            else:
                differs = not same(one["form"], other["form"])
            if differs:
                return _leaves(name, one), _leaves(name, other), last
        return None

    def _run(self, link: Link, program: list[str]) -> dict[str, Any]:
        try:
            return link.run(program, self.seconds)
        except LostError as error:
            return {"lost": f"ends its process: {error}"}

    def works(self, program: list[str]) -> bool:
        """Whether the reference takes an input, as far as its type goes."""
        last = self._run(self.left, program).get("steps", [{"kind": "timeout"}])[-1]
        return last["kind"] == "returns" or not {"TypeError", "AttributeError"} & set(
            last.get("mro", ())
        )

    def confirm(self, program: list[str]) -> tuple[str, str, int] | None:
        """The same difference in new processes, whatever the order in their sets."""
        found, self.seconds = None, self.whole_seconds
        for hashes in range(_ORDERS):
            self.end()
            self.left, self.right = (Link(place, hashes=hashes) for place in self.places)
            again = self.look(program)
            if again is None or (found is not None and again != found):
                return None
            found = again
        return found


def _leaves(name: str, after: dict[str, Any] | None) -> str:
    return f"leaves {after['text']}" if after is not None else f"leaves {name} as it was"


def compare(pair: dict[str, Any], question: dict[str, Any]) -> dict[str, Any]:
    """The answer for one pair."""
    began = time.monotonic()
    sides = Sides(pair, question)
    try:
        answer = _compare(pair, question, sides, began + question.get("seconds", 20.0))
    except LostError as error:
        answer = _not_compared(f"cannot be loaded or described: {error}")
    except Exception as error:  # noqa: BLE001 - one pair's trouble is not the others'
        answer = _not_compared(
            f"the comparing itself failed: {type(error).__name__}: {error}"[:300]
        )
    finally:
        sides.end()
    answer.setdefault("inputs_tried", sides.informative)
    return {**answer, "time_spent": round(time.monotonic() - began, 3)}


def _not_compared(why: str) -> dict[str, Any]:
    return {"ending": "not_compared", "why": why}


def _compare(
    pair: dict[str, Any], question: dict[str, Any], sides: Sides, until: float
) -> dict[str, Any]:
    try:
        from agentbench_inputs import NoInputsError, Words, programs
        from agentbench_search import search
        from agentbench_types import has_sets
    except ImportError as error:
        return _not_compared(f"no inputs can be made here: {error}")
    described, other = sides.left.describe(), sides.right.describe()
    literals = [*described["constants"], *other["constants"], *question.get("literals", ())]
    sources = [*described["sources"], *other["sources"]]
    known = Words.of(literals, sources, anything=sides.errors == ALL)
    sides.inferred = complete(described, sides, known)
    sides.unordered = any(map(has_sets, sources))
    try:
        strategy = programs(described, known)
    except NoInputsError as error:
        return _not_compared(str(error))
    now = time.monotonic()
    limit = now + (until - now) * (_SHARE if question.get("symbolic", True) else 1.0)
    found = _seen_in_tests(pair, described, sides)
    found = found or search(strategy, sides.look, limit, question)
    answer: dict[str, Any] = {}
    if found is None and question.get("symbolic", True):
        seconds = min(until - time.monotonic(), question.get("path_seconds", 15.0))
        answer, found = _paths(pair, described, sides, known, seconds)
    if found is not None:
        free = '"choice"' not in json.dumps(described)  # or a smaller text is none of the choices
        return {**answer, **_different(found, sides, pair, free=free)}
    return {**answer, "exhausted": False, **_alike(sides, answer)}


def _seen_in_tests(
    pair: dict[str, Any], described: dict[str, Any], sides: Sides
) -> list[str] | None:
    """The first of the tests' own calls on which they differ."""
    if described["kind"] != "function":
        return None
    for text in pair.get("observed", ())[:_OBSERVED]:
        _name, opened, arguments = text.partition("(")
        program = [f"__this__({arguments}"]
        if opened and sides.look(program) is not None:
            return program
    return None


def _different(
    program: list[str], sides: Sides, pair: dict[str, Any], *, free: bool
) -> dict[str, Any]:
    from agentbench_search import smaller

    least = smaller(program, sides.look) if free else program
    seen = sides.confirm(least) or sides.confirm(least := program)
    if seen is None:
        return _not_compared("a difference was seen once and not again: it hangs on something else")
    left, right, at = seen
    shown = written(least[: at + 1], pair["left"])
    difference = {"program": shown, "call": for_a_reader(least[: at + 1], pair["left"]["name"])}
    return {"ending": "different", "difference": {**difference, "left": left, "right": right}}


def _alike(sides: Sides, answer: dict[str, Any]) -> dict[str, Any]:
    """That no difference was seen, as far as there was something to see."""
    # A path's end says nothing of what is printed, changed elsewhere, or not to be looked into.
    exhausted = answer.get("exhausted", False) and not (sides.hidden or sides.beside)
    if sides.reached:
        there = f"it reaches out of its process ({sides.reached})"
        return _not_compared(f"{there}, and what it does there is not seen")
    if sides.informative < min(_FEWEST, sides.tried) and not exhausted:
        said = f"{sides.informative} of {sides.tried} inputs"
        return _not_compared(f"too few inputs are any that the reference works on: {said}")
    if sides.informative and not sides.shown:
        what = "cannot be looked into" if sides.hidden else "is nothing, and it changes no argument"
        return _not_compared(f"what it returns {what}")
    return {"ending": "no_difference", "exhausted": exhausted}


def _paths(
    pair: dict[str, Any], described: dict[str, Any], sides: Sides, known: Any, seconds: float
) -> tuple[dict[str, Any], list[str] | None]:
    """Search the paths of both; what is found there is looked at as any other program."""
    from agentbench_plausible import is_plausible
    from agentbench_symbolic_link import explore

    said = explore(pair, described, seconds)
    facts = {"paths_explored": said.get("paths", 0), "exhausted": said.get("exhausted", False)}
    if said.get("why"):
        facts["why"] = f"paths were not searched: {said['why']}"
    ascii_alone = sides.errors == "contract"
    for program in said.get("programs", []):
        if is_plausible(program, known, ascii_alone=ascii_alone) and sides.look(program):
            return facts, program
    return facts, None


def complete(described: dict[str, Any], sides: Sides, known: Any) -> bool:
    """Guess the types that nobody wrote down; whether any had to be."""
    from agentbench_guessing import guess

    places = [
        described.get("params"),
        described.get("init"),
        (described.get("method") or {}).get("params"),
    ]
    params = [one for params in places for one in params or ()]
    open_ones = [one for one in params if one["type"] == _MADE_OF]
    if not open_ones:
        return any(one.get("guessed") for one in params)
    guess(open_ones, described, sides, known, _GUESSES)
    return True


def written(program: list[str], place: dict[str, Any]) -> list[str]:
    """A program that says where its callable is from."""
    root = place["name"].split(".")[0]
    name = _owner(place["name"], program)
    return [
        f"from {place['module']} import {root}",
        *(one.replace("__this__", name) for one in program),
    ]


def for_a_reader(program: list[str], name: str) -> str:
    """A program in one line: `f([1], 2)`, `it = Cache(2); it.get('a')`."""
    values: dict[str, str] = {}
    lines = []
    for statement in program:
        variable, _, value = statement.partition(" = ")
        if variable.startswith("arg") and variable.isidentifier():
            values[variable] = value
        elif not statement.startswith("import "):
            lines.append(statement.replace("__this__", _owner(name, program)))
    line = "; ".join(lines)
    for variable, value in values.items():
        line = line.replace(variable, value)
    return line


def _owner(name: str, program: list[str]) -> str:
    """What `__this__` stands for: the function, or the class of a method."""
    is_object = any(one.startswith("it = ") for one in program)
    owner, _, last = name.rpartition(".")
    is_method = owner and (is_object or any(f"__this__.{last}(" in one for one in program))
    return owner if is_method else name


def main() -> None:
    """Answer the question on stdin."""
    question = json.loads(sys.stdin.read())
    for pair in question["pairs"]:
        sys.stdout.write(json.dumps(compare(pair, question)) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
