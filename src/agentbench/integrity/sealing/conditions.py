"""Turns the condition of an assertion into checks, and decides which values are taken out."""

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from agentbench.integrity.sealing.checks import (
    Comparison,
    Each,
    LikeReference,
    Operand,
    PairedCheck,
    Recorded,
    Removed,
    SealedCheck,
    TextMatch,
    Truthiness,
    removed_operands,
)
from agentbench.integrity.sealing.levels import Level, LevelReader
from agentbench.integrity.sealing.pairs import PairReader
from agentbench.python_source.constants import NotConstant, evaluate
from agentbench.python_source.python_syntax import name_of, variables_in

_CLOSE = {"isclose": (1e-9, 0.0), "allclose": (1e-5, 1e-8)}
_LIKELY = frozenset(["isinstance", "issubclass", "hasattr", "callable", "exists", "is_file"])
_SEARCHES = {"search": "{}", "match": r"\A(?:{})", "fullmatch": r"\A(?:{})\Z"}
_AFFIXES = {"startswith": r"\A{}", "endswith": r"{}\Z"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionReader:
    """Reads the conditions of one function."""

    levels: LevelReader

    def checks(self, test: ast.expr, *, negated: bool = False) -> Iterator[SealedCheck]:
        """The checks of a condition that must be true, or false if it is negated."""
        match test:
            case ast.UnaryOp(op=ast.Not(), operand=inner):
                yield from self.checks(inner, negated=not negated)
            case ast.BoolOp(op=op, values=values) if isinstance(op, ast.And) != negated:
                for value in values:
                    yield from self.checks(value, negated=negated)
            case ast.Compare():
                yield self.compared(
                    [test.left, *test.comparators], [type(op) for op in test.ops], negated=negated
                )
            case ast.Call():
                yield self._called(test, negated=negated)
            case ast.Constant():
                pass
            case _:
                yield self.truth(test, negated=negated)

    def truth(self, node: ast.expr, *, negated: bool = False, likely: bool = False) -> SealedCheck:
        check = Truthiness(index=0, negated=negated, is_likely=likely)
        return SealedCheck(check=check, recorded=(node,))

    def compared(
        self,
        sides: Sequence[ast.expr],
        ops: Sequence[type[ast.cmpop]],
        *,
        negated: bool = False,
        unordered: bool = False,
    ) -> SealedCheck:
        """The check of a comparison; takes out the sides that run the least code."""
        given = [self.levels.names.is_expected(side, self.levels.owner) for side in sides]
        is_computed = given.count(True) == 1 and list(ops) == [ast.Eq]
        levels = [self.levels.level(side) for side in sides]
        if is_computed:
            levels = [Level.LITERAL if expected else Level.COMPUTED for expected in given]
        if max(levels) is Level.LITERAL:  # a variable that the code under test has changed
            levels = [
                Level.COMPUTED if isinstance(evaluate(side), NotConstant) else Level.LITERAL
                for side in sides
            ]
        highest = max(levels)
        if highest is Level.CONSTRUCTED and len(set(levels)) == 1:
            return self.truth(_compare(sides, ops), negated=negated)  # of the class's own methods
        removed = [level < highest and level < Level.COMPUTED for level in levels]
        plain = Comparison(operands=(), ops=tuple(ops), negated=negated, unordered=unordered)
        sealed = self._without(sides, removed, replace(plain, is_computed=is_computed))
        if negated or list(ops) != [ast.Eq] or any(removed):
            return sealed
        reader = PairReader(names=self.levels.names, owner=self.levels.owner)
        expected = reader.expected(sides)
        if expected is None:
            return sealed
        gone = [at == expected for at in range(len(sides))]
        other = self._without(sides, gone, plain)
        is_known = reader.is_known(sides[expected])
        paired = PairedCheck(expected=expected, is_known=is_known, check=other)
        return replace(sealed, paired=paired)

    # The check of a comparison without some of its sides.
    def _without(
        self, sides: Sequence[ast.expr], removed: Sequence[bool], plain: Comparison
    ) -> SealedCheck:
        recorded = [side for side, gone in zip(sides, removed, strict=True) if not gone]
        operands: list[Operand] = []
        named: list[ast.expr] = []
        for side, gone in zip(sides, removed, strict=True):
            if gone:
                operands.append(self.removed(side, len(recorded), named))
            else:
                operands.append(Recorded(recorded.index(side)))
        check = replace(plain, operands=tuple(operands))
        may_relax = not any(op in (ast.Eq, ast.Is) for op in plain.ops) and not plain.unordered
        condition = _compare(sides, plain.ops) if may_relax else None
        return SealedCheck(check=check, recorded=(*recorded, *named), condition=condition)

    def removed(self, node: ast.expr, at: int, named: list[ast.expr]) -> Removed:
        """An operand to take out; the names in it that have several values are recorded.

        Args:
            node: The operand.
            at: The number of values that are recorded before the names.
            named: The names that are recorded so far, which is added to.
        """
        found = []
        for name in variables_in(node):
            key = self.levels.names.key(name, self.levels.owner)
            if len(self.levels.names.cells.get(key, ())) > 1:
                found.append((name, at + len(named)))
                named.append(ast.Name(id=name, ctx=ast.Load()))
        return Removed(node, tuple(found))

    def can_be_removed(self, node: ast.expr) -> bool:
        """Whether an expression runs no code that may be under test."""
        return self.levels.level(node) < Level.COMPUTED

    def matched(self, pattern: ast.expr, text: ast.expr, *, negated: bool) -> SealedCheck:
        if not self.can_be_removed(pattern):
            return SealedCheck(check=LikeReference(indices=(0, 1)), recorded=(pattern, text))
        named: list[ast.expr] = []
        removed = self.removed(pattern, 1, named)
        check = TextMatch(index=0, pattern=removed, negated=negated)
        return SealedCheck(check=check, recorded=(text, *named))

    def _called(self, call: ast.Call, *, negated: bool) -> SealedCheck:
        name = name_of(call.func)
        found: SealedCheck | None = None
        match call.args:
            case [ast.GeneratorExp() | ast.ListComp() as every] if name == "all" and not negated:
                found = self._every(every)
            case [one, other, *_] if name in _CLOSE and not negated:
                found = self._close(call, one, other)
            case [pattern, text] if name in _SEARCHES and not call.keywords:
                known = evaluate(pattern)
                is_of_re = isinstance(call.func, ast.Attribute) and name_of(call.func.value) == "re"
                if is_of_re and isinstance(known, str):
                    whole = ast.Constant(_SEARCHES[name].format(known))
                    found = self.matched(whole, text, negated=negated)
            case [part] if name in _AFFIXES and isinstance(call.func, ast.Attribute):
                if isinstance(known := evaluate(part), str):
                    whole = ast.Constant(_AFFIXES[name].format(re.escape(known)))
                    found = self.matched(whole, call.func.value, negated=negated)
            case _:
                pass
        return found or self.truth(call, negated=negated, likely=name in _LIKELY)

    def _every(self, every: ast.GeneratorExp | ast.ListComp) -> SealedCheck | None:
        inner = list(self.checks(every.elt))
        bound = {name for g in every.generators for name in variables_in(g.target)}
        if len(inner) != 1 or any(
            bound.intersection(variables_in(one.node)) for one in removed_operands(inner[0].check)
        ):
            return None
        lists = tuple(ast.ListComp(elt=e, generators=every.generators) for e in inner[0].recorded)
        return SealedCheck(check=Each(check=inner[0].check), recorded=lists)

    def _close(self, call: ast.Call, one: ast.expr, other: ast.expr) -> SealedCheck | None:
        given = {keyword.arg: evaluate(keyword.value) for keyword in call.keywords}
        relative, absolute = _CLOSE[name_of(call.func)]
        relative_to = given.get("rel_tol", given.get("rtol", relative))
        absolute_to = given.get("abs_tol", given.get("atol", absolute))
        if not isinstance(relative_to, int | float) or not isinstance(absolute_to, int | float):
            return None
        return self.close(one, other, relative_to, absolute_to)

    def close(
        self, one: ast.expr, other: ast.expr, relative: float, absolute: float
    ) -> SealedCheck | None:
        """The check of two numbers, or containers of them, that must be close; None if unclear."""
        levels = [self.levels.level(one), self.levels.level(other)]
        if min(levels) is not Level.LITERAL or levels[0] == levels[1]:
            return None
        sides = [one, other]
        at = levels.index(Level.LITERAL)
        sides[at] = ast.Call(
            func=ast.Name(id="approx", ctx=ast.Load()),
            args=[sides[at]],
            keywords=[
                ast.keyword(arg="rel", value=ast.Constant(relative)),
                ast.keyword(arg="abs", value=ast.Constant(absolute)),
            ],
        )
        return self.compared(sides, [ast.Eq])


def _compare(sides: Sequence[ast.expr], ops: Sequence[type[ast.cmpop]]) -> ast.Compare:
    return ast.Compare(left=sides[0], ops=[op() for op in ops], comparators=list(sides[1:]))


def relaxed(sealed: SealedCheck) -> SealedCheck:
    """The check that leaves the condition to the code under test, whose methods decide."""
    negated = sealed.check.negated if isinstance(sealed.check, Comparison) else False
    if sealed.condition is None:
        return sealed
    return SealedCheck(check=Truthiness(index=0, negated=negated), recorded=(sealed.condition,))
