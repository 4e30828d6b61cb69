"""Weaker forms of the assertions in a Python test: they ask only for what an instruction states.

Each form is an edit of the source text. Where a form is not known, nothing is proposed.
"""

import ast
import builtins
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from agentbench.python_source import python_syntax
from agentbench.python_source.source_text import SourceEdit, SourceSpan, SourceText, apply_edits
from agentbench.validation.fairness_results import VariantKind

_LEAST_WORDS = 2  # of a stated part: one word, or `must be`, states no message
_LEAST_NAME = 4  # characters of such a word, and of a name that is enough alone, as `max_age`
_WORD = re.compile(r"\S+")
_EDGES = "\"'`.,:;!?()[]{}"
# What a regular expression has besides its text; an escaped sign is text.
_PATTERN_SIGNS = re.compile(r"\\[A-Za-z]|\(\?[^)]*\)|(?<!\\)(?:\.[*+?]+|[\^$*+?|()\[\]{}]+)")
_WARNS = frozenset({"raises", "warns", "deprecated_call"})
_EQUALS = frozenset({"assertEqual", "assertEquals", "assertMultiLineEqual"})
_SEQUENCE_EQUALS = _EQUALS | {"assertListEqual", "assertTupleEqual", "assertSequenceEqual"}
_WITHOUT_MESSAGE: Mapping[str, str] = {
    "assertRaisesRegex": "assertRaises",
    "assertRaisesRegexp": "assertRaises",
    "assertRaisesMessage": "assertRaises",
    "assertWarnsRegex": "assertWarns",
    "assertWarnsMessage": "assertWarns",
}
_EXPECTS_EXCEPTION = frozenset({"raises", "assertRaises", *_WITHOUT_MESSAGE})
_RAISED = re.compile(r"\braise\s+([A-Za-z_][\w.]*)")
_SIMPLE = (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.Constant, ast.List, ast.Tuple)
_MAKE_LISTS = frozenset({"list", "tuple", "sorted", "set", "frozenset", "len"})
_FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True, kw_only=True)
class StrictAssertion:
    """What is known of an assertion that rejects right fixes: a line of it, or its function."""

    kind: VariantKind
    line: int = 0  # of the unstated message; 0: the function is known
    function: str = ""  # as in a node id: `TestX::test_y`
    removed: str = ""  # the lines of the reference solution that another fix has otherwise
    added: str = ""
    failure: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Relaxation:
    """A proposal for one assertion, or why there is none."""

    line: int
    what: str
    edit: SourceEdit | None = None


def relaxations(
    source: SourceText, found: Sequence[StrictAssertion], instruction: str
) -> list[Relaxation]:
    """A proposal for each assertion that is found too strict.

    Args:
        source: The test file.
        found: Its assertions that reject right fixes.
        instruction: What the task states.
    """
    file = _TestFile(source=source, instruction=" ".join(instruction.split()))
    proposals: list[Relaxation] = []
    edits: list[SourceEdit] = []
    for strict in found:
        own = list(file.relax(strict))
        line = strict.line or file.line_of(strict.function)
        for each in own or [Relaxation(line=line, what=f"no weaker form is known: {strict.kind}")]:
            if each.edit in edits:  # found twice
                continue
            if each.edit is not None and not _fits(source, each.edit, edits):
                each = Relaxation(
                    line=each.line, what=f"{each.what}: not combined with the other proposal"
                )
            edits += [each.edit] if each.edit is not None else []
            proposals += [each] if each not in proposals else []
    return proposals


def stated_part(text: str, instruction: str) -> str:
    """The longest part of a message, in whole words, that an instruction has; empty: none.

    >>> stated_part("error: age must be positive, got 3", "The age must be positive.")
    'age must be positive'
    """
    words = list(_WORD.finditer(text))
    for size in range(len(words), 0, -1):
        for at in range(len(words) - size + 1):
            part = text[words[at].start() : words[at + size - 1].end()].strip(_EDGES)
            plain = " ".join(part.split())
            is_name = size == 1 and len(part) >= _LEAST_NAME and not part.isalpha()
            telling = [word for word in re.findall(r"\w+", part) if len(word) >= _LEAST_NAME]
            if (len(telling) >= _LEAST_WORDS or is_name) and re.search(
                rf"(?<!\w){re.escape(plain)}(?!\w)", instruction
            ):
                return part
    return ""


def _fits(source: SourceText, edit: SourceEdit, others: Sequence[SourceEdit]) -> bool:
    if any(edit.span.start < o.span.end and o.span.start < edit.span.end for o in others):
        return False
    try:
        python_syntax.parse(apply_edits(source.text, [edit]))
    except python_syntax.UNPARSABLE:
        return False
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class _TestFile:
    source: SourceText
    instruction: str
    parents: dict[ast.AST, ast.AST] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for node in ast.walk(self.source.tree):
            for child in ast.iter_child_nodes(node):
                self.parents[child] = node

    def relax(self, strict: StrictAssertion) -> Iterator[Relaxation]:
        relax: Callable[[StrictAssertion, list[ast.AST]], Iterator[Relaxation]] | None = {
            VariantKind.MESSAGE: self._messages,
            VariantKind.EXCEPTION: self._exceptions,
            VariantKind.ORDER: self._orders,
            VariantKind.TYPE: self._types,
            VariantKind.LAYOUT: self._layouts,
        }.get(strict.kind)
        if relax is None:
            return
        if strict.line:
            every = ast.walk(self.source.tree)
            nodes = [each for each in every if getattr(each, "lineno", 0) == strict.line]
        else:
            function = self._function(strict.function)
            nodes = list(ast.walk(function)) if function is not None else []
        yield from relax(strict, nodes)

    def line_of(self, name: str) -> int:
        function = self._function(name)
        return function.lineno if function is not None else 0

    def _function(self, name: str) -> _FunctionNode | None:
        body: Sequence[ast.stmt] = self.source.tree.body
        *owners, last = name.split("::")
        for owner in owners:
            body = next(
                (n.body for n in body if isinstance(n, ast.ClassDef) and n.name == owner), ()
            )
        return next((n for n in body if isinstance(n, _FunctionNode) and n.name == last), None)

    def _text(self, node: ast.expr) -> str:
        """The source of an operand, in brackets if it needs them."""
        text = self.source.segment(node)
        return text if isinstance(node, _SIMPLE) and "\n" not in text else f"({text})"

    def _edit(self, node: ast.expr, text: str, what: str) -> Relaxation:
        edit = SourceEdit(span=self.source.span(node), text=text)
        return Relaxation(line=node.lineno, what=what, edit=edit)

    def _is_asserted(self, node: ast.AST) -> bool:
        """Whether a test fails if an expression is false."""
        parent = self.parents.get(node)
        while isinstance(parent, ast.BoolOp) and isinstance(parent.op, ast.And):
            node, parent = parent, self.parents.get(parent)
        return isinstance(parent, ast.Assert) and parent.test is node

    def _equalities(self, nodes: list[ast.AST]) -> Iterator[tuple[ast.expr, ast.expr, ast.expr]]:
        """The asserted equalities, each as a whole with both of its sides."""
        for node in nodes:
            match node:
                case ast.Compare(ops=[ast.Eq()]) if self._is_asserted(node):
                    yield node, node.left, node.comparators[0]
                case ast.Call(func=ast.Attribute(attr=name), args=[left, right, *_]) if (
                    name in _SEQUENCE_EQUALS
                ):
                    yield node, left, right

    # Messages

    def _messages(self, strict: StrictAssertion, nodes: list[ast.AST]) -> Iterator[Relaxation]:
        for node in nodes:
            if not (isinstance(node, ast.Constant) and isinstance(node.value, str)):
                continue
            text = " ".join(node.value.replace("\\", "").split())
            is_stated = text in self.instruction
            is_meant = bool(strict.line) or _shares_words(text, strict.removed)
            if text and not is_stated and is_meant:
                yield from self._message(node, node.value)

    def _message(self, node: ast.Constant, text: str) -> Iterator[Relaxation]:
        parent = self.parents.get(node)
        match parent:
            case ast.keyword(arg="match") if isinstance(call := self.parents[parent], ast.Call):
                if python_syntax.name_of(call.func) in _WARNS:
                    yield self._pattern(node, text, call, parent)
            case ast.Compare(ops=[ast.Eq()]) if self._is_asserted(parent):
                (right,) = parent.comparators
                yield self._contained(parent, parent.left if right is node else right, text)
            case ast.Compare(ops=[ast.In()]) if self._is_asserted(parent) and parent.left is node:
                yield self._contained(parent, parent.comparators[0], text)
            case ast.Call():
                yield from self._message_of_call(node, text, parent)
            case _:  # such as a text in a list, or an expected value of another line
                pass

    def _contained(self, whole: ast.expr, value: ast.expr, text: str) -> Relaxation:
        stated = stated_part(text, self.instruction)
        if stated:
            what = f"only the stated part of the message is compared: {stated!r}"
            return self._edit(whole, f"{stated!r} in {self._text(value)}", what)
        what = "only that there is a message is asserted: nothing states its words"
        return self._edit(whole, self._text(value), what)

    def _message_of_call(
        self, node: ast.Constant, text: str, call: ast.Call
    ) -> Iterator[Relaxation]:
        match call.func:
            case ast.Attribute(attr=name, value=owner):
                pass
            case _:
                return
        arguments, receiver = call.args, self._text(owner)
        stated = stated_part(text, self.instruction)
        if name in _EQUALS | {"assertIn"} and node in arguments[:2] and len(arguments) > 1:
            value = arguments[1] if arguments[0] is node else arguments[0]
            if name == "assertIn" and arguments[0] is not node:
                return
            rest = "".join(f", {self.source.segment(each)}" for each in arguments[2:])
            if stated:
                new = f"{receiver}.assertIn({stated!r}, {self.source.segment(value)}{rest})"
                what = f"only the stated part of the message is compared: {stated!r}"
            else:
                new = f"{receiver}.assertTrue({self.source.segment(value)}{rest})"
                what = "only that there is a message is asserted: nothing states its words"
            yield self._edit(call, new, what)
        elif name in _WITHOUT_MESSAGE and arguments[1:2] == [node]:
            yield self._pattern(node, text, call, node, is_text=name.endswith("Message"))
        elif name in {"startswith", "endswith"} and self._is_asserted(call):
            yield self._contained(call, owner, text)
        elif (
            name in {"search", "match", "fullmatch"}
            and receiver == "re"
            and arguments[0] is node
            and len(arguments) > 1
            and self._is_asserted(call)
        ):
            pieces = _PATTERN_SIGNS.split(text)
            longest = max((self._stated_in_pattern(each) for each in pieces), key=len)
            yield self._contained(call, arguments[1], longest)

    def _stated_in_pattern(self, piece: str) -> str:
        return stated_part(re.sub(r"\\(.)", r"\1", piece), self.instruction)

    def _pattern(
        self,
        node: ast.Constant,
        text: str,
        call: ast.Call,
        argument: ast.keyword | ast.expr,
        *,
        is_text: bool = False,
    ) -> Relaxation:
        """A pattern for the stated part of a message, or no pattern."""
        pieces = [text] if is_text else _PATTERN_SIGNS.split(text)
        find = stated_part if is_text else lambda piece, _: self._stated_in_pattern(piece)
        stated = max((find(piece, self.instruction) for piece in pieces), key=len)
        if stated:
            what = f"only the stated part of the message is matched: {stated!r}"
            new = stated if is_text else re.sub(r"([\\.^$*+?{}\[\]|()])", r"\\\1", stated)
            is_raw = "\\" in new and '"' not in new
            return self._edit(node, f'r"{new}"' if is_raw else repr(new), what)
        what = "only the type is asserted: nothing states the words of the message"
        end = self.source.span(argument).end
        start = self.source.text.rfind(",", 0, self.source.span(argument).start)
        text = ""
        if isinstance(call.func, ast.Attribute) and call.func.attr in _WITHOUT_MESSAGE:
            name_end = self.source.span(call.func).end
            name_start = name_end - len(call.func.attr)
            text = _WITHOUT_MESSAGE[call.func.attr] + self.source.text[name_end:start]
            start = name_start
        edit = SourceEdit(span=SourceSpan(start, end), text=text)
        return Relaxation(line=node.lineno, what=what, edit=edit)

    # Exceptions

    def _exceptions(self, strict: StrictAssertion, nodes: list[ast.AST]) -> Iterator[Relaxation]:
        old, new = (_RAISED.search(text) for text in (strict.removed, strict.added))
        if old is None or new is None:
            return
        raised, other = old[1].rpartition(".")[2], new[1].rpartition(".")[2]
        for node in nodes:
            match node:
                case ast.Call(func=function, args=[first, *_]) if (
                    python_syntax.name_of(function) in _EXPECTS_EXCEPTION
                ):
                    yield from self._exception(first, raised, other)
                case ast.Call(func=ast.Name(id="isinstance"), args=[_, second]) if (
                    self._is_asserted(node)
                ):
                    yield from self._exception(second, raised, other)

    def _exception(self, node: ast.expr, raised: str, other: str) -> Iterator[Relaxation]:
        names = node.elts if isinstance(node, ast.Tuple) else [node]
        if raised not in map(python_syntax.name_of, names):
            return
        is_known = hasattr(builtins, other) or any(
            isinstance(each, ast.alias | ast.ClassDef)
            and other in {each.name, getattr(each, "asname", None)}
            for each in ast.walk(self.source.tree)
        )
        if not is_known:
            yield Relaxation(
                line=node.lineno,
                what=f"no weaker form is known: the test does not know {other}, which is as right",
            )
            return
        own, wider = (getattr(builtins, name, None) for name in (raised, other))
        if isinstance(own, type) and isinstance(wider, type) and issubclass(own, wider):
            yield self._edit(node, other, f"{other} is accepted, of which {raised} is one")
            return
        text = ", ".join([*map(self.source.segment, names), other])
        yield self._edit(node, f"({text})", f"{other} is accepted, too")

    # Sequences

    def _sequences(
        self, strict: StrictAssertion, nodes: list[ast.AST]
    ) -> Iterator[tuple[ast.expr, ast.expr, ast.List | ast.Tuple, bool]]:
        """Equalities with a literal sequence: the whole, the value, the literal, and its side.

        If the failure shows the literal of one of them, only that one.
        """
        found = [
            (whole, left if is_right else right, right if is_right else left, is_right)
            for whole, left, right in self._equalities(nodes)
            for is_right in (isinstance(right, ast.List | ast.Tuple),)
            if is_right or isinstance(left, ast.List | ast.Tuple)
        ]
        shown = [each for each in found if _shows(strict.failure, each[2])]
        for whole, value, literal, is_right in shown or found:
            assert isinstance(literal, ast.List | ast.Tuple)
            yield whole, value, literal, is_right

    def _orders(self, strict: StrictAssertion, nodes: list[ast.AST]) -> Iterator[Relaxation]:
        what = "the elements are compared in any order"
        for whole, value, literal, is_right in self._sequences(strict, nodes):
            if len(literal.elts) < 2 or _calls(value, "sorted"):
                continue
            texts = [self.source.segment(value), self.source.segment(literal)]
            texts = texts if is_right else texts[::-1]
            if isinstance(whole, ast.Call):
                yield self._call(whole, "assertCountEqual", texts, what)
                continue
            kinds = {
                type(each.value) if isinstance(each, ast.Constant) else None
                for each in literal.elts
            }
            # Values of several types have no order of their own.
            key = "" if len(kinds) == 1 and kinds <= {int, float, str, bytes} else ", key=repr"
            first, second = (f"sorted({text}{key})" for text in texts)
            yield self._edit(whole, f"{first} == {second}", what)

    def _types(self, strict: StrictAssertion, nodes: list[ast.AST]) -> Iterator[Relaxation]:
        for whole, value, literal, is_right in self._sequences(strict, nodes):
            kind = "list" if isinstance(literal, ast.List) else "tuple"
            if any(_calls(value, name) for name in _MAKE_LISTS):
                continue
            texts = [f"{kind}({self.source.segment(value)})", self.source.segment(literal)]
            texts = texts if is_right else texts[::-1]
            what = f"any sequence of these elements is accepted, as a {kind}"
            if isinstance(whole, ast.Call):
                yield self._call(whole, "assertEqual", texts, what)
            else:
                yield self._edit(whole, " == ".join(texts), what)
        what = "a list or a tuple is accepted"
        for node in nodes:
            if not (isinstance(node, ast.expr) and self._is_asserted(node)):
                continue
            match node:
                case ast.Call(
                    func=ast.Name(id="isinstance"), args=[value, ast.Name(id="list" | "tuple")]
                ):
                    pass
                case ast.Compare(
                    left=ast.Call(func=ast.Name(id="type"), args=[value]),
                    ops=[ast.Is() | ast.Eq()],
                    comparators=[ast.Name(id="list" | "tuple")],
                ):
                    pass
                case _:
                    continue
            text = f"isinstance({self.source.segment(value)}, (list, tuple))"
            yield self._edit(node, text, what)

    # White space

    def _layouts(self, strict: StrictAssertion, nodes: list[ast.AST]) -> Iterator[Relaxation]:
        what = "the words are compared, with any white space between them"
        found: list[tuple[ast.expr, ast.expr, ast.expr, bool]] = []
        for whole, left, right in self._equalities(nodes):
            if any(map(_is_spaced_text, (left, right))):
                found.append((whole, left, right, False))
        for node in nodes:
            match node:
                case ast.Compare(left=left, ops=[ast.In()], comparators=[right]) if (
                    self._is_asserted(node) and _is_spaced_text(left)
                ):
                    found.append((node, left, right, True))
                case ast.Call(func=ast.Attribute(attr="assertIn"), args=[left, right, *_]) if (
                    _is_spaced_text(left)
                ):
                    found.append((node, left, right, True))
        shown = [each for each in found if any(_shows(strict.failure, one) for one in each[1:3])]
        for whole, left, right, is_part in shown or found:
            texts = [f"{self._text(side)}.split()" for side in (left, right)]
            if is_part:
                texts = [f'" ".join({text})' for text in texts]
            if isinstance(whole, ast.Call):
                name = "assertIn" if is_part else "assertEqual"
                yield self._call(whole, name, texts, what)
            else:
                yield self._edit(whole, (" in " if is_part else " == ").join(texts), what)

    def _call(self, call: ast.Call, name: str, texts: Sequence[str], what: str) -> Relaxation:
        """A call of another method of `unittest` with two new arguments."""
        assert isinstance(call.func, ast.Attribute)
        rest = [self.source.segment(each) for each in call.args[2:]]
        rest += [f"{each.arg}={self.source.segment(each.value)}" for each in call.keywords]
        owner = self._text(call.func.value)
        return self._edit(call, f"{owner}.{name}({', '.join([*texts, *rest])})", what)


def _shares_words(text: str, lines: str) -> bool:
    """Whether two words of a message are side by side in a source text, or all of it is."""
    words = text.split()
    plain = " ".join(lines.split())
    if len(words) < _LEAST_WORDS:
        return text in plain
    return any(f"{one} {other}" in plain for one, other in pairwise(words))


def _shows(failure: str, node: ast.expr) -> bool:
    try:
        return bool(failure) and repr(python_syntax.literal(ast.unparse(node))) in failure
    except ValueError:
        return False


def _calls(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Call) and python_syntax.name_of(node.func) == name


def _is_spaced_text(node: ast.expr) -> bool:
    if isinstance(node, ast.JoinedStr):
        return True
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value
