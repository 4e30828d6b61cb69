"""Evaluates the checks of a sealed test on its recordings."""

import ast
import builtins
import json
import re
import string
from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from math import ceil, log2
from random import Random
from typing import cast

from agentbench.integrity.sealing import agreement, output_lines
from agentbench.integrity.sealing.canonical import (
    CanonicalValue,
    Group,
    Instance,
    Leaf,
    Recording,
    to_json,
)
from agentbench.integrity.sealing.checks import (
    Check,
    Comparison,
    Each,
    LikeReference,
    LineMatch,
    LineOrder,
    Operand,
    PageText,
    Raised,
    Recorded,
    Removed,
    Site,
    TextMatch,
    Truthiness,
)
from agentbench.integrity.sealing.equality import Agreement, every
from agentbench.integrity.sealing.expected_trees import Known, Side, expected_tree
from agentbench.integrity.sealing.recordings import (
    elements_of,
    equal_in_any_order,
    text_of,
    token_of,
)
from agentbench.integrity.sealing.seal import SealedFile
from agentbench.python_source.constants import Names, evaluate
from agentbench.python_source.python_syntax import name_of

_STRONG, _WEAK = 8, 1
_NO_ARGUMENTS: object = ((), {})  # of a mock's call
_OTHERS = 32  # values, of which one in eight may pass
_TELLING = 4  # characters; most pages have shorter texts
_BOUNDS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_OUTCOMES = {"exit": "Exit", "fail": "Failed", "skip": "Skipped", "xfail": "XFailed"}
_NEGATIVE = (ast.NotEq, ast.NotIn, ast.IsNot)


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteEvaluator:
    """Evaluates one assertion of a sealed file."""

    file: SealedFile
    site: Site

    def agrees(self, recording: Recording) -> Agreement:
        """Whether the recorded values pass the assertion."""
        return self._check(self.site.check, recording)

    def hides_value(self, recording: Recording) -> bool:
        """Whether an object that does not disclose its value was recorded instead of a literal."""
        check = self.site.check
        if not isinstance(check, Comparison) or ast.Eq not in check.ops or check.negated:
            return False
        sides = [self._side(operand, recording) for operand in check.operands]
        is_own = any(isinstance(side, Instance) and side.kind == "object" for side in sides)
        return is_own and any(isinstance(side, Known) for side in sides)

    def tokens(self, recording: Recording) -> tuple[int | None, ...]:
        """The numbers of the recorded tokens, which identify the expected values."""
        indices = [index for one in self.site.removed for _, index in one.named]
        values = [_at(recording.values, index) for index in indices]
        return tuple(None if value is None else token_of(value) for value in values)

    def expects_input(self, recording: Recording) -> bool:
        """Whether the expected value is an input elsewhere in the file, such as in another row."""
        return not self.file.inputs.isdisjoint(self.tokens(recording))

    def expected_text(self, recording: Recording) -> str:
        """The source of the assertion's expected value, with the values of its parameters."""
        texts = []
        for one in self.site.removed:
            names = self._names(one, recording)
            known = [
                f"{name} = {ast.unparse(names[name])}" for name, _ in one.named if name in names
            ]
            texts.append(" with ".join([ast.unparse(one.node), *known]))
        return ", ".join(texts) or self.site.text

    def strength(self, recording: Recording, references: Sequence[Recording] = ()) -> int:
        """How much an agreeing recording proves: 8 for a value, 1 for a truth, else 0.

        Args:
            recording: The recording.
            references: Those of the reference solution at the same place. A text in which a part
                is searched proves less if it is longer: it may have many answers.
        """
        if self.site.unsealed:
            return 0
        names = [self._names(one, recording) for one in self.site.removed]
        by_name = {name: node for each in names for name, node in each.items()}
        found = _strength(self.site.check, by_name)
        if isinstance(self.site.check, Comparison):  # the value may be known only from a run
            values = (v.value if isinstance(v, Leaf) else v for v in recording.values)
            found = min(found, max(map(_strength_of_value, values), default=0))
        if references and _is_search(self.site.check):
            longest = max(map(_size, references))
            found -= max(0, ceil(log2(max(1, _size(recording)) / max(1, longest))))
        return max(0, found)

    def excludes_others(self, recording: Recording, references: Sequence[Recording]) -> Agreement:
        """Whether other values fail; NO if many pass, and none with the reference solution's.

        UNKNOWN if many pass with right code, too: a longer text has most short numbers by chance.
        """
        if not references or not _is_search(self.site.check) or any(map(_has_range, references)):
            return Agreement.YES
        rng = Random()  # code under test cannot know the values

        def changed(part: object) -> object:
            match part:
                case Removed(node=node):
                    value = _other_of_its_form(evaluate(node, self._names(part, recording)), rng)
                    return part if value is None else Removed(ast.Constant(value))
                case _ if is_dataclass(part) and not isinstance(part, type):
                    values = {one.name: changed(getattr(part, one.name)) for one in fields(part)}
                    return replace(part, **values)
                case tuple():
                    return tuple(map(changed, part))
                case _:
                    return part

        found = [cast(Check, changed(self.site.check)) for _ in range(_OTHERS)]
        others = [one for one in found if one != self.site.check]
        passing = [one for one in others if self._check(one, recording) is Agreement.YES]
        if len(passing) * 8 <= _OTHERS or any(
            self._check(one, reference) is Agreement.YES
            for one in others
            for reference in references
        ):
            return Agreement.YES
        values = [evaluate(one.node, self._names(one, recording)) for one in self.site.removed]
        words = [str(one) for one in values if isinstance(one, str | int | float)]
        texts = [text_of(value) or "" for one in references for value in one.values]
        is_doubtful = any(
            len(word) < _TELLING or re.search(rf"\d{word}|{word}\d", text)
            for word in map(re.escape, words)
            for text in texts
        )
        return Agreement.UNKNOWN if is_doubtful else Agreement.NO

    @property
    def demands_equality(self) -> bool:
        """Whether a value that is not equal to the right one fails the assertion."""
        match self.site.check:
            case Comparison(ops=ops, negated=negated, is_computed=is_computed):
                return not negated and not is_computed and set(ops) == {ast.Eq}
            case LikeReference(is_equality=is_equality):
                return is_equality
            case _:
                return False

    def lacks_text(self, recording: Recording) -> bool:
        """Whether an exception or a warning needs a text that is known only in the test's run."""
        check = self.site.check
        return (
            isinstance(check, Raised)
            and check.pattern is not None
            and self._text(check.pattern, recording) is None
        )

    def _check(self, check: Check, recording: Recording) -> Agreement:
        match check:
            case Comparison():
                return self._comparison(check, recording)
            case Truthiness(index=index, negated=negated):
                value = _at(recording.values, index)
                found = Agreement.NO if value is None else agreement.truth(value)
                return found.inverted() if negated else found
            case TextMatch():
                return self._match(check, recording)
            case LineMatch():
                return self._lines(check, recording)
            case PageText():
                return self._page(check, recording)
            case Raised():
                return self._raised(check, recording)
            case Each(check=inner):
                columns = [elements_of(value) for value in recording.values]
                known = [column for column in columns if column is not None]
                if not columns or len(known) < len(columns):
                    return Agreement.NO
                rows = (Recording(recording.site, row) for row in zip(*known, strict=False))
                return every(self._check(inner, row) for row in rows)
            case LikeReference():
                return Agreement.UNKNOWN

    def _comparison(self, check: Comparison, recording: Recording) -> Agreement:
        sides = [self._side(operand, recording) for operand in check.operands]
        known = [side for side in sides if side is not None]
        if len(known) < len(sides):
            return Agreement.NO  # the recording lacks one
        found = every(
            equal_in_any_order(left, right, is_part=op is ast.In)
            if check.unordered
            else agreement.compare(op, left, right)
            for op, left, right in zip(check.ops, known, known[1:], strict=False)
        )
        return found.inverted() if check.negated else found

    def _match(self, check: TextMatch, recording: Recording) -> Agreement:
        value, pattern = _at(recording.values, check.index), self._text(check.pattern, recording)
        text = None if value is None else text_of(value)
        if text is None:
            return Agreement.NO if value is None else Agreement.UNKNOWN
        if pattern is None:
            return Agreement.UNKNOWN
        found = agreement.matches(pattern, text)
        return found.inverted() if check.negated else found

    def _lines(self, check: LineMatch, recording: Recording) -> Agreement:
        value = _at(recording.values, check.index)
        lines = None if value is None else elements_of(value)
        if lines is None:
            return Agreement.NO if value is None else Agreement.UNKNOWN
        known = evaluate(check.patterns.node, self._names(check.patterns, recording))
        patterns, texts = output_lines.patterns_of(known), [text_of(line) for line in lines]
        whole = [text for text in texts if text is not None]
        if patterns is None or len(whole) < len(texts):
            return Agreement.UNKNOWN
        return output_lines.match(whole, patterns, check.order, is_regex=check.is_regex)

    def _page(self, check: PageText, recording: Recording) -> Agreement:
        value = _at(recording.values, 0)
        page = None if value is None else elements_of(value)
        status = self._side(check.status, recording)
        if page is None or len(page) != 2 or status is None:
            return Agreement.NO
        content, text = text_of(page[1]), self._text(check.text, recording)
        if content is None or text is None:
            return Agreement.UNKNOWN
        found = content.count(text)
        is_there = found > 0
        if check.count is not None:
            is_there = evaluate(check.count.node, self._names(check.count, recording)) == found
        has_status = agreement.compare(ast.Eq, page[0], status)
        return every((has_status, Agreement.of(is_there != check.negated)))

    def _raised(self, check: Raised, recording: Recording) -> Agreement:
        names: list[str] | None = []
        if check.types is not None:
            names = self._type_names(check.types, recording)
        pattern = None if check.pattern is None else self._text(check.pattern, recording)
        if names is None or (check.pattern is not None and pattern is None):
            return Agreement.UNKNOWN
        if check.is_message and pattern is not None:
            pattern = re.escape(pattern)
        if check.is_warning:
            return agreement.warned_as_expected(recording.warned, names, pattern)
        return agreement.raised_as_expected(recording.raised, names, pattern)

    # The names of the expected classes; None if the text does not show them.
    def _type_names(self, operand: Operand, recording: Recording) -> list[str] | None:
        if not isinstance(operand, Removed):
            return None
        node, names = operand.node, self._names(operand, recording)
        while isinstance(node, ast.Name) and node.id in names:
            node = names[node.id]
        found = []
        for one in node.elts if isinstance(node, ast.Tuple) else [node]:
            match one:
                case ast.Attribute(attr="Exception", value=owner) if name_of(owner) in _OUTCOMES:
                    found.append(_OUTCOMES[name_of(owner)])  # of pytest
                case ast.Name(id=name) if name not in self.file.names.module.bound and hasattr(
                    builtins, name
                ):
                    found.append(f"builtins.{name}")
                case _:
                    found.append(name_of(one))
        return found if all(found) else None

    def _side(self, operand: Operand, recording: Recording) -> Side | None:
        if isinstance(operand, Recorded):
            return _at(recording.values, operand.index)
        return expected_tree(operand.node, self._names(operand, recording))

    def _text(self, operand: Operand, recording: Recording) -> str | None:
        if isinstance(operand, Recorded):
            value = _at(recording.values, operand.index)
            return None if value is None else text_of(value)
        node, names = operand.node, self._names(operand, recording)
        match node:
            case ast.Call(func=ast.Attribute(attr="escape"), args=[inner]):
                text = evaluate(inner, names)
                return re.escape(text) if isinstance(text, str) else None
            case _:
                text = evaluate(node, names)
                if isinstance(text, str):
                    return text
                tree = expected_tree(node, names)
                return text_of(tree.value) if isinstance(tree, Known) else None

    # The expressions of the names in an operand, by the tokens in the recording.
    def _names(self, operand: Removed, recording: Recording) -> dict[str, ast.expr]:
        found = self.file.constants(self.site.function)
        for name, index in operand.named:
            value = _at(recording.values, index)
            token = None if value is None else token_of(value)
            cell = self.file.tokens.get(token) if token is not None else None
            if cell is not None:
                found[name] = cell.node
                if cell.owner != self.site.function:
                    found = {**self.file.constants(cell.owner), **found}
        return found


# How much it proves: code that does not know the value guesses it once in 2 ** strength.
def _strength(check: Check, names: Names) -> int:
    match check:
        case Comparison():
            removed = [one.node for one in check.operands if isinstance(one, Removed)]
            if not removed or check.negated or any(op in _NEGATIVE for op in check.ops):
                return 0
            if all(op in _BOUNDS for op in check.ops):
                return _WEAK
            return max(_strength_of_value(evaluate(node, names)) for node in removed)
        case Truthiness(is_likely=is_likely):
            return 0 if is_likely else _WEAK
        case TextMatch(negated=negated):
            return 0 if negated else _STRONG
        case PageText(text=text, count=count, negated=negated):
            if negated or (count is not None and not evaluate(count.node)):
                return 0
            known = evaluate(text.node)
            return _WEAK if isinstance(known, str) and len(known) < _TELLING else _STRONG
        case LineMatch(patterns=expected, order=order):
            patterns = output_lines.patterns_of(evaluate(expected.node))
            if order is LineOrder.NOWHERE or patterns == []:
                return 0
            is_telling = patterns is None or any(map(output_lines.is_telling, patterns))
            return _STRONG if is_telling else 2 * _WEAK
        case Raised(pattern=pattern):
            return _STRONG if pattern is not None else 2 * _WEAK
        case Each(check=inner):
            return _strength(inner, names)
        case LikeReference(indices=indices):
            return _STRONG if indices else 0


# Whether a part of the recorded values is enough to pass.
def _is_search(check: Check) -> bool:
    match check:
        case Comparison(ops=ops):
            return ast.In in ops
        case Each(check=inner):
            return _is_search(inner)
        case TextMatch() | LineMatch() | PageText():
            return True
        case Raised(pattern=pattern):
            return pattern is not None
        case _:
            return False


# Another text or number with as many digits, or as many letters if it has none. None if it has one
# or none of either.
def _other_of_its_form(value: object, rng: Random) -> str | float | None:
    for kind in (string.digits, string.ascii_lowercase):
        count = sum(character in kind for character in str(value))
        if count and isinstance(value, str | int | float):
            new = "".join(rng.choice(kind) if one in kind else one for one in str(value))
            return type(value)(new) if count > 1 and new != str(value) else None
    return None


def _size(recording: Recording) -> int:
    events = (recording.raised, *(recording.warned or ()))
    values = (*recording.values, *(each for each in events if each is not None))
    return sum(len(json.dumps(to_json(value))) for value in values)


# Whether right code gives a range, which another right one may choose in another way.
def _has_range(recording: Recording) -> bool:
    return any(isinstance(one, Group) and one.kind == "range" for one in recording.values)


def _strength_of_value(value: object) -> int:
    if value is None or isinstance(value, bool) or value in (_NO_ARGUMENTS, "", b""):
        return _WEAK
    if isinstance(value, dict):
        value = [*value.values()]
    if isinstance(value, list | tuple | set | frozenset):
        return min(_STRONG, sum(map(_strength_of_value, value)) or _WEAK)
    if isinstance(value, int) and abs(value) <= 1:
        return 2 * _WEAK
    return _STRONG


def _at(values: Sequence[CanonicalValue], index: int) -> CanonicalValue | None:
    return values[index] if index < len(values) else None
