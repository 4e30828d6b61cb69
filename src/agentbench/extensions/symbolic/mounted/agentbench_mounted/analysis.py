"""Searches a function's paths for the answer to one question, in a sandbox.

Reads the question from stdin and writes its progress and its findings as lines of JSON to stdout.
Python 3.11 or newer.
"""

import ast
import json
import os
import sys
import time
from dataclasses import asdict, replace
from inspect import Signature
from itertools import islice
from pathlib import Path

import crosshair.core_and_libs  # noqa: F401 - registers CrossHair's models

from . import path_search, submitted_code
from .branches import MARK, Branch, complexity, dead_by_form, lines_of, mark_branches
from .contract import Contract, contract_of, exception_named
from .foreign_code import AGAIN, Alarm, OutOfTimeError, call_foreign
from .messages import Json
from .real_calls import Caller, ForkServer
from .sample_arguments import assumed, is_enumerable, open_parameters, samples
from .side_effects import BlockedError, ProcessGuard, discard_output

_CALL_SECONDS = 2.0
_PROGRESS_SECONDS = 0.3
_PLAIN_SECONDS = 1.0  # for plain inputs, if the search has used all of its time
_MOST_ENDLESS = 2  # plain inputs on which the function does not end
_MOST_EXAMPLE = 200  # characters of the example of a branch
_VARIANTS = 2  # of assumed types that are searched


class Channel:
    """The output, kept from before the code ran; output of the code is discarded."""

    def __init__(self) -> None:
        self._out = discard_output()
        self._reported = 0.0

    def put(self, what: Json) -> None:
        line = json.dumps(what).encode() + b"\n"
        while line:
            line = line[os.write(self._out, line) :]

    def progress(self, explored: path_search.Explored) -> None:
        """Report the progress from time to time."""
        now = time.monotonic()
        if now - self._reported >= _PROGRESS_SECONDS:
            self._reported = now
            self.put({"progress": _counts(explored)})


class Analysis:
    """The analysis of one question."""

    def __init__(self, question: Json, channel: Channel, guard: ProcessGuard) -> None:
        self.question = question
        self.tool, self.name = str(question["tool"]), str(question["function"])
        self.path = Path(str(question["path"]))
        self.channel, self.guard, self.alarm = channel, guard, Alarm(repeat=AGAIN)
        self.until = time.monotonic() + float(question["seconds"])
        self.taken: set[int] = set()
        self.branches: list[Branch] = []
        self.found: Json = {}

    def run(self) -> Json:
        """The findings.

        Raises:
            RefusalError: there is nothing to search.
            OutOfTimeError: the time was over before the search began.
            BlockedError: the code tried to leave its process.
        """
        tree = submitted_code.parse(self.path)
        if self.tool == "find":
            module = submitted_code.load(tree, self.path, {})
            for name in self.name.split(","):
                submitted_code.find(module, name, self.path)
            return {}
        if self.tool == "branches":
            searched = submitted_code.node_of(tree, self.name)
            if searched is not None:
                self.found["complexity"] = complexity(searched)
                self.found["dead"] = sorted(dead_by_form(searched))
                self.found["lines"] = sorted(lines_of(searched))
                self.branches = mark_branches(tree, searched)
                self.found["branches"] = list(map(_branch_facts, self.branches))
        module = submitted_code.load(tree, self.path, {MARK: self.taken.add})
        function = submitted_code.find(module, self.name, self.path)
        submitted_code.refuse_unsearchable(function.function, self.name)
        kind = self._exception(vars(module))
        contract = self._contract(function)
        caller = Caller(module, self.path, contract, kind, seconds=_CALL_SECONDS, taken=self.taken)

        def run_guarded(question: Json) -> Json:
            self.guard.activate()
            return caller.run(question)

        with self.guard.suspended():
            server = ForkServer(run_guarded, _CALL_SECONDS)
        visitor = self._visitor(contract, server, kind)
        visitor.is_class_method = isinstance(function.attribute, classmethod)
        self._search(visitor, server, function, tree)
        if isinstance(visitor, path_search.BranchVisitor):
            is_proven = self.found["exhausted"] and not visitor.unconfirmed
            otherwise = False if is_proven else None
            examples = [visitor.examples.get(number, "") for number in range(len(self.branches))]
            self.found["branches"] = [
                _branch_facts(branch, reachable=bool(example) or otherwise, example=example)
                for branch, example in zip(self.branches, examples, strict=True)
            ]
            if is_proven and "lines" in self.found:
                self.found["dead"] = sorted(set(self.found["lines"]) - visitor.lines)
        return self.found

    def _exception(self, known: Json) -> type[BaseException]:
        name = self.question.get("exception")
        if name is None:
            return BaseException
        kind = exception_named(str(name), known)
        if kind is None:
            raise submitted_code.RefusalError(f"'{name}' is no exception that the code knows")
        return kind

    def _contract(self, function: submitted_code.FoundFunction) -> Contract:
        result = call_foreign(lambda: contract_of(function))  # it evaluates annotations of the code
        if result.error is not None:
            raise submitted_code.RefusalError(
                f"'{self.name}': {submitted_code.error_line(result.error)}"
            )
        contract = result.value
        if contract is None:
            raise submitted_code.RefusalError(f"'{self.name}': its signature cannot be told")
        if self.tool != "check":
            return Contract(call=function.plain, signature=contract.signature)
        self.found["checked"] = submitted_code.cut(contract.checked)
        return contract

    def _visitor(
        self, contract: Contract, server: ForkServer, kind: type[BaseException]
    ) -> path_search.ContractVisitor:
        if self.tool == "branches":
            return path_search.BranchVisitor(self.name, contract, server.ask, taken=self.taken)
        if self.tool == "raises":
            return path_search.ExceptionVisitor(self.name, contract, server.ask, kind=kind)
        return path_search.ContractVisitor(self.name, contract, server.ask)

    # Follow paths with the annotated types, or with types that sample calls let assume.
    def _search(
        self,
        visitor: path_search.ContractVisitor,
        server: ForkServer,
        function: submitted_code.FoundFunction,
        tree: ast.Module,
    ) -> None:
        contract = visitor.contract
        total, variants = path_search.Explored(), self._variants(contract.signature, server)
        share = (self.until - time.monotonic()) / max(1, len(variants))
        for signature, assumptions in variants:
            bounds = path_search.SearchBounds(
                paths=int(self.question["paths"]),
                idle_paths=int(self.question["idle_paths"]),
                until=min(self.until, time.monotonic() + share),
                alarm=self.alarm,
            )
            visitor.contract = replace(contract, signature=signature)
            self.alarm.set(self.until - time.monotonic())
            part = path_search.explore(visitor, function.function, bounds, self.channel.progress)
            self.alarm.off()  # the rest has limits of its own
            total = path_search.Explored(
                paths=total.paths + part.paths,
                verified=total.verified + part.verified,
                given_up=total.given_up + part.given_up,
                exhausted=part.exhausted,
                over=total.over or part.over,
                coverage=max(total.coverage, part.coverage),
            )
            if assumptions:
                self.found.setdefault("assumed", []).append(assumptions)
            self._try_plain(visitor, samples(signature, tree))
            if visitor.findings:
                break
        kinds = [each.annotation for each in contract.signature.parameters.values()]
        total.exhausted &= all(map(is_enumerable, kinds))
        self.found |= _counts(total)
        self.found |= {"findings": visitor.findings, "hits": visitor.hits}
        self.found |= {"unconfirmed": visitor.unconfirmed[:5]}

    def _variants(
        self, signature: Signature, server: ForkServer
    ) -> list[tuple[Signature, dict[str, str]]]:
        untyped = open_parameters(signature)
        if not untyped:
            return [(signature, {})]

        def works(calls: list[str]) -> bool:
            return bool(calls and server.ask({"probe": calls}).get("fits"))

        variants = list(islice(assumed(signature, works), _VARIANTS))
        if not variants:
            names = ", ".join(untyped)
            raise submitted_code.RefusalError(
                f"'{self.name}': cannot tell the type of {names}; annotate it"
            )
        return variants

    # Really call the function with plain inputs, if the search has found nothing.
    def _try_plain(self, visitor: path_search.ContractVisitor, arguments: list[str]) -> None:
        if isinstance(visitor, path_search.BranchVisitor):
            return
        endless, until = 0, max(self.until, time.monotonic() + _PLAIN_SECONDS)
        for text in arguments:
            if visitor.findings or endless == _MOST_ENDLESS or time.monotonic() >= until:
                break
            endless += not visitor.try_plain(text)
            self.found["tried"] = self.found.get("tried", 0) + 1


def _branch_facts(branch: Branch, *, reachable: bool | None = None, example: str = "") -> Json:
    short_example = submitted_code.cut(example, _MOST_EXAMPLE)
    return {**asdict(branch), "reachable": reachable, "example": short_example}


def _counts(explored: path_search.Explored) -> Json:
    return {
        "paths": explored.paths,
        "verified": explored.verified,
        "given_up": dict(explored.given_up),
        "exhausted": explored.exhausted,
        "over": explored.over,
        "coverage": round(explored.coverage, 4),
    }


def _error_facts(error: BaseException | None) -> Json:
    if error is None or isinstance(error, BlockedError):
        return {}
    if isinstance(error, OutOfTimeError):
        return {"over": True}
    if isinstance(error, submitted_code.RefusalError):
        return {"error_type": error.error_type, "message": str(error)}
    message = f"the search cannot follow this code: {submitted_code.error_line(error)}"
    if isinstance(error, MemoryError):
        message = "the search ran out of memory"
    return {"error_type": "RuntimeError", "message": message}


def main() -> None:
    """Answer the one question on stdin."""
    question = json.load(sys.stdin)
    channel, guard = Channel(), ProcessGuard()
    channel.put({"progress": {}})
    analysis = Analysis(question, channel, guard)
    guard.install()
    try:
        analysis.alarm.set(float(question["seconds"]))
        result = call_foreign(
            analysis.run, catch=BaseException
        )  # errors of the code or of CrossHair
        analysis.alarm.off()
        found = analysis.found if result.value is None else result.value
        found = {**found, **_error_facts(result.error)}
        blocked = analysis.guard.blocked
        if blocked is not None:
            message = f"Blocked operation: {blocked}"
            found = {**found, "error_type": "ValidationError", "message": message}
    except OutOfTimeError:  # just after the search had ended
        found = {**analysis.found, "over": True}
    with guard.suspended():
        channel.put({"found": found})
    os._exit(0)  # without the exit handlers of the code
