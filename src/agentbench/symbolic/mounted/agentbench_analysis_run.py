"""One question to a function's paths, from its reading to its answer."""

from __future__ import annotations

import inspect
import json
import os
import sys
import time
from dataclasses import replace
from pathlib import Path

import agentbench_analysis_branches as branches
import crosshair.core_and_libs  # noqa: F401 - registers what CrossHair knows
from agentbench_alarm import Alarm, OverError
from agentbench_analysis_call import Caller
from agentbench_analysis_code import (
    RefusalError,
    cut,
    find,
    load,
    node_of,
    parse,
    refuse_unsearchable,
    said,
)
from agentbench_analysis_contract import (
    Contract,
    contract_of,
    exception_named,
)
from agentbench_analysis_looks import (
    Branching,
    Calling,
    Checking,
    Raising,
)
from agentbench_analysis_paths import (
    Bounds,
    Explored,
    explore,
)
from agentbench_analysis_replay import Replayer
from agentbench_analysis_samples import samples
from agentbench_analysis_types import (
    assumed,
    is_enumerable,
    open_parameters,
)
from agentbench_analysis_wall import BlockedError, Wall

_CALL_SECONDS = 2.0
_TELL_EVERY = 0.3
_PLAIN_SECONDS = 1.0  # for plain inputs where the search has used all of its time
_MOST_ENDLESS = 2  # plain inputs on which a function does not end, until no more are tried
_MOST_EXAMPLE = 200  # characters of a call that is shown for a way
_VARIANTS = 2  # of assumed types that are searched

Json = dict[str, object]


class Channel:
    """Our way out, kept from before the code ran; what the code prints goes nowhere."""

    def __init__(self) -> None:
        self._out = os.dup(1)
        nothing = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(nothing, descriptor)
        self._told = 0.0

    def put(self, what: Json) -> None:
        """Write a line."""
        line = json.dumps(what).encode() + b"\n"
        while line:
            line = line[os.write(self._out, line) :]

    def progress(self, explored: Explored) -> None:
        """Say how far it is, now and then."""
        now = time.monotonic()
        if now - self._told >= _TELL_EVERY:
            self._told = now
            self.put({"progress": _counts(explored)})


class Analysis:
    """One question, and what is done about it."""

    def __init__(self, question: Json, channel: Channel, wall: Wall) -> None:
        self.question = question
        self.tool, self.name = str(question["tool"]), str(question["function"])
        self.path = Path(str(question["path"]))
        self.channel, self.wall, self.alarm = channel, wall, Alarm()
        self.until = time.monotonic() + float(question["seconds"])
        self.went: set[int] = set()
        self.ways: list[branches.Way] = []
        self.found: Json = {}
        self._tree: object = None

    def run(self) -> Json:
        """Do it.

        Raises:
            RefusalError: there is nothing to search.
            OverError: the time was over before the search began.
            BlockedError: the code tried to leave its process.
        """
        tree = self._tree = parse(self.path)
        if self.tool == "find":
            return self._all_found(tree)
        function = node_of(tree, self.name)
        if self.tool == "branches":
            self._see_form(tree, function)
        module = load(tree, self.path, {branches.MARK: self.went.add})
        holder, last, found = find(module, self.name, self.path)
        refuse_unsearchable(inspect.unwrap(_plain(found)), self.name)
        kind = self._kind(vars(module))
        contract = self._contract(holder, last, found)
        caller = Caller(module, self.path, contract, kind, _CALL_SECONDS, self.went)
        with self.wall.lowered():
            replayer = Replayer(self._behind_wall(caller), _CALL_SECONDS)
        look = self._look(contract, replayer, kind)
        look.of_class = isinstance(found, classmethod)
        self._search(contract, look, replayer, inspect.unwrap(_plain(found)))
        if isinstance(look, Branching):
            self._tell_ways(look, function)
        return self.found

    def _all_found(self, tree: object) -> Json:
        module = load(tree, self.path, {})
        for name in self.name.split(","):
            find(module, name, self.path)
        return {}

    def _see_form(self, tree: object, function: object) -> None:
        if function is None:
            return
        self.found["complexity"] = branches.complexity(function)
        self.found["dead"] = sorted(branches.dead_by_form(function))
        self.found["lines"] = sorted(branches.lines_of(function))
        self.ways = branches.mark(tree, function)
        self.found["branches"] = [_way(way, None, "") for way in self.ways]

    def _kind(self, known: Json) -> type[BaseException]:
        name = self.question.get("exception")
        if name is None:
            return BaseException
        kind = exception_named(str(name), known)
        if kind is None:
            raise RefusalError("ValueError", f"'{name}' is no exception that the code knows")
        return kind

    def _contract(self, holder: object, name: str, found: object) -> Contract:
        try:
            contract = contract_of(holder, name, found)
        except Exception as fault:  # noqa: BLE001 - evaluates what the code has annotated
            raise RefusalError("ValueError", f"'{self.name}': {said(fault)}") from None
        if contract is None:
            raise RefusalError("ValueError", f"'{self.name}': its signature cannot be told")
        if self.tool != "check":
            call, signature = _plain(found), contract.signature
            return Contract(call=call, signature=signature)
        self.found["checked"] = cut(contract.checked)
        return contract

    def _behind_wall(self, caller: Caller) -> object:
        def run(asked: Json) -> Json:
            self.wall.up()
            return caller.run(asked)

        return run

    def _look(self, contract: Contract, replayer: Replayer, kind: type[BaseException]) -> Calling:
        if self.tool == "branches":
            return Branching(self.name, contract, replayer.ask, went=self.went)
        if self.tool == "raises":
            return Raising(self.name, contract, replayer.ask, kind=kind)
        return Checking(self.name, contract, replayer.ask)

    def _search(
        self, contract: Contract, look: Calling, replayer: Replayer, code_of: object
    ) -> None:
        """Follow paths with the types that are annotated, or those that calls let assume."""
        total, variants = Explored(), self._variants(contract, replayer)
        share = (self.until - time.monotonic()) / max(1, len(variants))
        for signature, told in variants:
            bounds = Bounds(
                paths=int(self.question["paths"]),
                idle_paths=int(self.question["idle_paths"]),
                until=min(self.until, time.monotonic() + share),
                alarm=self.alarm,
            )
            look.contract = _with(contract, signature)
            self.alarm.set(self.until - time.monotonic())
            explored = explore(look, signature, code_of, bounds, self.channel.progress)
            self.alarm.off()  # what is left is bounded by itself
            total = _sum(total, explored)
            if told:
                self.found.setdefault("assumed", []).append(told)
            self._try(look, samples(signature, self._tree))
            if look.findings:
                break
        kinds = [each.annotation for each in contract.signature.parameters.values()]
        total.exhausted &= all(map(is_enumerable, kinds))
        self.found |= _counts(total)
        self.found |= {"findings": look.findings, "hits": look.hits}
        self.found |= {"unconfirmed": look.unconfirmed[:5]}

    def _try(self, look: Calling, arguments: list[str]) -> None:
        """Really call it with plain inputs, where the search has found nothing."""
        if look.findings or isinstance(look, Branching):
            return
        endless, until = 0, max(self.until, time.monotonic() + _PLAIN_SECONDS)
        for text in arguments:
            if look.findings or endless == _MOST_ENDLESS or time.monotonic() >= until:
                break
            endless += not look.try_plain(text)
            self.found["tried"] = int(self.found.get("tried", 0)) + 1

    def _variants(self, contract: Contract, replayer: Replayer) -> list[tuple[object, Json]]:
        nameless = open_parameters(contract.signature)
        if not nameless:
            return [(contract.signature, {})]
        probe = lambda calls: bool(calls and replayer.ask({"probe": calls}).get("fits"))  # noqa: E731 - used once
        made = []
        for variant in assumed(contract.signature, probe):
            made.append(variant)
            if len(made) == _VARIANTS:
                break
        if not made:
            names = ", ".join(nameless)
            raise RefusalError(
                "ValueError", f"'{self.name}': cannot tell the type of {names}; annotate it"
            )
        return made

    def _tell_ways(self, look: Branching, function: object) -> None:
        proven = bool(self.found["exhausted"]) and not look.unconfirmed
        self.found["branches"] = [
            _way(
                way,
                True if number in look.examples else (False if proven else None),
                look.examples.get(number, ""),
            )
            for number, way in enumerate(self.ways)
        ]
        if proven and function is not None:
            self.found["dead"] = sorted(set(self.found["lines"]) - look.lines)


def _plain(found: object) -> object:
    return found.__func__ if isinstance(found, (staticmethod, classmethod)) else found


def _with(contract: Contract, signature: object) -> Contract:
    return replace(contract, signature=signature)


def _way(way: branches.Way, reachable: bool | None, example: str) -> Json:  # noqa: FBT001 - of three
    shown = {"line": way.line, "kind": way.kind, "condition": way.condition, "taken": way.taken}
    return {**shown, "reachable": reachable, "example": cut(example, _MOST_EXAMPLE)}


def _sum(one: Explored, other: Explored) -> Explored:
    return Explored(
        paths=one.paths + other.paths,
        verified=one.verified + other.verified,
        given_up=one.given_up + other.given_up,
        exhausted=other.exhausted,
        over=one.over or other.over,
        coverage=max(one.coverage, other.coverage),
    )


def _counts(explored: Explored) -> Json:
    return {
        "paths": explored.paths,
        "verified": explored.verified,
        "given_up": dict(explored.given_up),
        "exhausted": explored.exhausted,
        "over": explored.over,
        "coverage": round(explored.coverage, 4),
    }


def _answer(analysis: Analysis, wall: Wall) -> Json:
    try:
        found = analysis.run()
    except RefusalError as fault:
        found = {**analysis.found, "error_type": fault.error_type, "message": str(fault)}
    except OverError:
        found = {**analysis.found, "over": True}
    except BlockedError:
        found = analysis.found
    except MemoryError:
        found = _failed(analysis, "the search ran out of memory")
    except BaseException as fault:  # noqa: BLE001 - of the code's, or of CrossHair's
        found = _failed(analysis, f"the search cannot follow this code: {said(fault)}")
    analysis.alarm.off()
    if wall.blocked is not None:
        message = f"Blocked operation: {wall.blocked}"
        found = {**found, "error_type": "ValidationError", "message": message}
    return found


def _failed(analysis: Analysis, message: str) -> Json:
    return {**analysis.found, "error_type": "RuntimeError", "message": message}


def main() -> None:
    """Answer the one question on stdin."""
    question = json.load(sys.stdin)
    channel, wall = Channel(), Wall()
    channel.put({"progress": {}})
    analysis = Analysis(question, channel, wall)
    wall.raise_it()
    try:
        analysis.alarm.set(float(question["seconds"]))
        found = _answer(analysis, wall)
    except OverError:  # just when all was done
        found = {**analysis.found, "over": True}
    with wall.lowered():
        channel.put({"found": found})
    os._exit(0)  # past what the code has registered
