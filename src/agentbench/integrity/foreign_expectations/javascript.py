"""Finds the values that tests in JavaScript and TypeScript expect.

The tests are those of jest, vitest, mocha, node:test and tape, with the assertions of jest, chai,
should and node:assert.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

import tree_sitter_javascript
import tree_sitter_typescript
from tree_sitter import Language, Node

from agentbench.integrity.expectation_changes.other_values import FAR, NEAR, Distance
from agentbench.integrity.foreign_expectations import literals
from agentbench.integrity.foreign_expectations.literals import Literal, displayed
from agentbench.integrity.foreign_expectations.model import (
    UNCERTAIN,
    BlockEnd,
    Comparison,
    ExpectedLiteral,
    ForeignFile,
    ForeignTest,
)
from agentbench.integrity.foreign_expectations.syntax import (
    ByteEdit,
    ForeignSource,
    ancestors,
    emptied,
    field,
    field_parts,
    field_text,
    is_within,
    parse,
    parts,
    preceding,
    text_of,
    walk,
)

_JAVASCRIPT = Language(tree_sitter_javascript.language())
_TYPESCRIPT = Language(tree_sitter_typescript.language_typescript())
_TSX = Language(tree_sitter_typescript.language_tsx())

_TESTS = frozenset(["test", "it", "specify", "fit", "xit", "xtest", "xspecify"])
_SUITES = frozenset(["describe", "suite", "context", "fdescribe", "xdescribe", "xcontext"])
_MODIFIERS = frozenset(["only", "skip", "todo", "concurrent", "sequential", "serial", "parallel"])
_INVERTED = frozenset(["failing", "fails", "not", "fail"])
_TABLES = frozenset(["each", "for"])
_FUNCTIONS = ("arrow_function", "function_expression", "function_declaration", "method_definition")
_NEAR_MATCHERS = frozenset([
    "toBe", "toEqual", "toStrictEqual", "toMatchObject", "toContainEqual", "toHaveLength",
    "toHaveBeenCalledTimes", "toHaveBeenCalledWith", "toHaveBeenLastCalledWith", "toBeInstanceOf",
    "toHaveReturnedWith", "toHaveLastReturnedWith", "toBeCalledTimes", "toBeCalledWith",
    "lastCalledWith", "toHaveBeenCalledExactlyOnceWith", "toHaveReturnedTimes",
])  # fmt: skip
_FAR_MATCHERS = frozenset(["toContain", "toMatch", "toThrow", "toThrowError"])
_NEAR_CHAINS = frozenset([
    "equal", "equals", "eq", "eql", "eqls", "members", "lengthOf", "length", "exactly",
    "instanceof", "instanceOf", "callCount", "calledWith", "calledOnceWith",
    "calledOnceWithExactly",
    "calledWithExactly", "becomes",
])  # fmt: skip
_FAR_CHAINS = frozenset([
    "include", "includes", "contain", "contains", "match", "throw", "throws", "Throw", "string",
    "rejectedWith", "startWith", "endWith",
])  # fmt: skip
_NEAR_ASSERTIONS = frozenset([
    "equal", "equals", "strictEqual", "deepEqual", "deepStrictEqual", "partialDeepStrictEqual",
    "is", "same", "strictSame", "deepLooseEqual", "looseEqual", "eql", "lengthOf", "sameMembers",
    "sameDeepMembers", "throws", "rejects", "like", "throwsAsync", "strictEquals", "assertEquals",
])  # fmt: skip
_FAR_ASSERTIONS = frozenset(["match", "include", "includes", "regex", "deepInclude", "matches"])
_BARE_ASSERTIONS = frozenset([
    "equal", "strictEqual", "deepEqual", "deepStrictEqual", "assertEquals", "assertStrictEquals",
])  # fmt: skip
_TRUE = frozenset(["ok", "true", "assert", "isTrue", "truthy"])
_COMPARISONS = frozenset(["==", "===", "!=", "!=="])
_HARMLESS = frozenset([
    *_NEAR_MATCHERS, *_FAR_MATCHERS, *_NEAR_CHAINS, *_FAR_CHAINS, *_NEAR_ASSERTIONS,
    *_FAR_ASSERTIONS, *_TRUE, *_TESTS, *_SUITES, "log",
])  # fmt: skip
_ASSERTERS = re.compile(r"(chai\.)?assert(\.strict)?|t|test|tap|st|should|context|ctx|tt")
# Constructors and functions whose results differ if their arguments do.
_PURE = frozenset([
    "Date", "Map", "Set", "Error", "TypeError", "RangeError", "SyntaxError", "BigInt", "Array",
    "Uint8Array", "Int8Array", "Uint16Array", "Int16Array", "Uint32Array", "Int32Array", "Number",
    "Float32Array", "Float64Array", "String", "Object.freeze", "Buffer.from", "Object.assign",
    "Object", "Promise.resolve", "expect.objectContaining", "expect.arrayContaining", "URL",
    "expect.closeTo", "BigInt64Array", "Array.of", "Symbol.for", "RegExp", "sinon.match",
])  # fmt: skip
_INLINE_SNAPSHOTS = frozenset(["toMatchInlineSnapshot", "toThrowErrorMatchingInlineSnapshot"])
_SEARCHING = frozenset(["expect.stringContaining", "expect.stringMatching"])
# Comments that tools read.
_KEPT_COMMENT = re.compile(r"[@#]|eslint|istanbul|\b[cv]8 |prettier|^///|webpack")
_FORMAT = re.compile(r"%[sdifjopc#$%]|\$[\w.]+")


class _Binding(NamedTuple):
    """Where a variable of a table's function is in a row: a parameter, and keys in it."""

    parameter: int
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rows:
    """A table of cases: for each row the values of the parameters of its function."""

    owner: Node
    rows: tuple[tuple[Node | Mapping[str, Node], ...], ...]
    bindings: Mapping[str, _Binding]

    def cell(self, expression: Node, row: int) -> Node | None:
        """What an expression of the parameters is in a row; None: it is none of these."""
        keys = list[str]()
        while expression.type in {"member_expression", "subscript_expression"}:
            last = field(expression, "property") or field(expression, "index")
            keys.insert(0, text_of(last).strip("'\""))
            inner = field(expression, "object")
            if inner is None:
                return None
            expression = inner
        binding = self.bindings.get(text_of(expression))
        cells = self.rows[row]
        if binding is None or binding.parameter >= len(cells):
            return None
        return _at(cells[binding.parameter], (*binding.keys, *keys))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Call:
    """A call that defines a test or a suite."""

    node: Node
    is_test: bool
    title: tuple[str | Node, ...]  # texts, and expressions whose texts are not known
    function: Node | None
    has_formats: bool  # whether `%s` and `$name` in the title stand for values
    is_inverted: bool


class JavaScriptTests:
    """See `model.ForeignLanguage`."""

    def read(self, text: str, path: str, names: Sequence[str]) -> ForeignFile:
        # Types in a `.js` file, as Flow has them, are mostly those of TypeScript.
        grammars = [_JAVASCRIPT, _TSX]
        if path.endswith(("ts", "tsx")):
            grammars = [_TSX] if path.endswith("x") else [_TYPESCRIPT, _TSX]
        return _Reader(parse(text, path, *grammars)).file(names)

    def assertion(self, block: BlockEnd, rng: Random, *, fails: bool) -> str:
        value, other = literals.two_values(rng, differ=fails)
        # `String` keeps TypeScript from comparing the types of two constants.
        one, two = displayed(str(value)), displayed(str(other))
        return f"{block.separator}if (String({one}) !== {two}) throw new Error({one}); "


class _Reader:
    """Reads one file."""

    def __init__(self, source: ForeignSource) -> None:
        self._source = source
        # By the first bytes of nodes.
        self._calls: dict[int, _Call] = {}
        self._known_tables: dict[int, list[_Rows]] = {}
        self._known_values: dict[int, list[ExpectedLiteral]] = {}
        for node in walk(source.root):
            if node.type == "call_expression":
                call = self._test_call(node)
                # `test.each(table)("…")` begins where `test.each(table)` does.
                if call is not None:
                    self._calls.setdefault(node.start_byte, call)

    def file(self, names: Sequence[str]) -> ForeignFile:
        functions: dict[str, list[str]] = {}
        tests: dict[str, ForeignTest] = {}
        found = {name: self._find(name) for name in sorted(set(names))}
        listed = {call.node.start_byte for call in found.values() if call is not None}
        blocks = self._blocks()
        above: dict[str, tuple[str, ...]] = {}
        for name, call in found.items():
            if call is None:
                functions.setdefault(name, []).append(name)
                tests[name] = ForeignTest()
                continue
            # A test that fails makes each listed test or suite around it fail.
            around = [one for one in self._path(call) if one.node.start_byte in listed]
            functions.setdefault(self._name_of(around[0]), []).append(name)
            outer = [one.node.start_byte for one in around[:-1]]
            above[name] = tuple(
                other
                for other, one in found.items()
                if one is not None and one.node.start_byte in outer
            )
            body = field(call.function, "body")
            tests[name] = ForeignTest(
                values=tuple(self._values_of(call, name)),
                block=body.start_byte if body and body.start_byte in blocks else None,
            )
        return ForeignFile(
            source=self._source,
            functions={name: tuple(listed) for name, listed in functions.items()},
            tests=tests,
            above=above,
            blocks=blocks,
            comments=tuple(self._comments()),
        )

    def _test_call(self, node: Node) -> _Call | None:
        callee = field(node, "function")
        has_formats = False
        if callee is not None and callee.type == "call_expression":
            inner = field(callee, "function")
            names = _chain(inner) if inner is not None else []
            if not names or names[-1] not in _TABLES | {"skipIf", "runIf"}:
                return None
            has_formats = names[-1] in _TABLES
            names = names[:-1]
        else:
            names = _chain(callee) if callee is not None else []
        root, *modifiers = names or [""]
        if modifiers[:1] in (["test"], ["it"], ["describe"], ["suite"]):
            if not (root in _TESTS or self._is_context(root, node)):
                return None
            root, *modifiers = modifiers
        is_test = root in _TESTS
        if not (is_test or root in _SUITES) or not set(modifiers) <= _MODIFIERS | _INVERTED:
            return None
        arguments = field_parts(node, "arguments")
        functions = [one for one in arguments if one.type in _FUNCTIONS]
        if not arguments or arguments[0].type in _FUNCTIONS:
            return None
        return _Call(
            node=node,
            is_test=is_test,
            title=tuple(_title(arguments[0])),
            function=functions[-1] if functions else None,
            has_formats=has_formats,
            is_inverted=not _INVERTED.isdisjoint(modifiers),
        )

    # Whether a name is the context of a test around a node, as in node:test and tape.
    def _is_context(self, name: str, node: Node) -> bool:
        for around, _ in ancestors(node):
            call = self._calls.get(around.start_byte)
            if call is not None and call.node == around and call.function is not None:
                return name in [text_of(one) for one in _parameters(call.function)]
        return False

    # The calls around a test, the outermost first, and itself.
    def _path(self, call: _Call) -> list[_Call]:
        path = [call]
        for around, _ in ancestors(call.node):
            one = self._calls.get(around.start_byte)
            if one is None or one.node != around or one.function is None:
                continue
            if is_within(call.node, one.function):
                path.insert(0, one)
        return path

    def _name_of(self, call: _Call) -> str:
        titles = [
            "".join(one if isinstance(one, str) else f"${{{text_of(one)}}}" for one in each.title)
            for each in self._path(call)
        ]
        name = " > ".join(titles)
        # Two tests may have one title.
        same = [
            one
            for one in self._calls.values()
            if one.title == call.title and one.node.start_byte < call.node.start_byte
        ]
        number = sum(
            [*map(_titles, self._path(one))] == [*map(_titles, self._path(call))] for one in same
        )
        return f"{name} #{number + 1}" if number else name

    def _find(self, name: str) -> _Call | None:
        found = [call for call in self._calls.values() if self._matches(call, name)]
        plain = re.sub(r" #\d+$", "", name)
        number = int(name[len(plain) + 2 :]) if not found and plain != name else 1
        if not found and plain != name:
            found = [call for call in self._calls.values() if self._matches(call, plain)]
        found = [call for call in found if call.is_test] or found
        exact = [call for call in found if self._is_static(call)]
        if exact:
            return exact[number - 1] if number <= len(exact) else None
        # Of several templates that fit, the one with most text of its own is meant, if only one.
        lengths = [sum(len(p) for p in call.title if isinstance(p, str)) for call in found]
        if found and lengths.count(max(lengths)) == 1:
            return found[lengths.index(max(lengths))]
        return None

    def _is_static(self, call: _Call) -> bool:
        return all(
            isinstance(piece, str) and not (one.has_formats and _FORMAT.search(piece))
            for one in self._path(call)
            for piece in one.title
        )

    def _matches(self, call: _Call, name: str) -> bool:
        patterns = [_pattern(one, None, 0) for one in self._path(call)]
        return re.fullmatch(" > ".join(patterns), name, re.DOTALL) is not None

    # The only row whose title a test has; None: it cannot be told.
    def _row_of(self, call: _Call, name: str, table: _Rows) -> int | None:
        plain = re.sub(r" #\d+$", "", name)
        found = [
            row
            for row in range(len(table.rows))
            if re.fullmatch(
                " > ".join(_pattern(one, table, row) for one in self._path(call)), plain, re.DOTALL
            )
        ]
        return found[0] if len(found) == 1 else None

    def _values_of(self, call: _Call, name: str) -> Iterator[ExpectedLiteral]:
        if call.node.has_error or any(one.is_inverted for one in self._path(call)):
            return
        tables = self._tables(call.node)
        rows = {id(table): self._row_of(call, name, table) for table in tables}
        function = call.function
        body = field(function, "body")
        if body is None:
            return
        for site in self._sites(body):
            inverted = self._calls.values()
            if any(one.is_inverted and is_within(site.node, one.node) for one in inverted):
                continue
            yield from self._resolved(site, call, body, rows)

    def _resolved(
        self, site: Comparison, call: _Call, body: Node, rows: Mapping[int, int | None]
    ) -> Iterator[ExpectedLiteral]:
        doubt = max(site.doubt, self._doubt(site.node, body))
        for candidate in site.candidates:
            expression = _unwrapped(candidate)
            for literal in _literals_of(expression):
                yield site.expected(literal, doubt)
            for table in self._tables(site.node):
                inside = is_within(table.owner, body)
                known = rows.get(id(table))
                chosen = range(len(table.rows)) if inside else [known]
                if _is_input(text_of(expression), table.owner, site.node):
                    continue
                for row in chosen:
                    cell = table.cell(expression, row) if row is not None else None
                    for literal in _literals_of(cell):
                        yield site.expected(literal, doubt, row)
            if expression.type == "identifier":
                yield from self._declared(expression, site, call, doubt)

    # The literals with which a variable is declared that only this test uses.
    def _declared(
        self, name: Node, site: Comparison, call: _Call, doubt: int
    ) -> Iterator[ExpectedLiteral]:
        declarator = _declaration(text_of(name), site.node)
        value = field(declarator, "value")
        if declarator is None or value is None:
            return
        uses = [
            node
            for node in walk(self._source.root)
            if node.type in {"identifier", "shorthand_property_identifier"}
            and text_of(node) == text_of(name)
            and not is_within(node, declarator)
        ]
        is_own = is_within(declarator, call.node)
        if not is_own and not all(is_within(use, call.node) for use in uses):
            return
        around = declarator.parent.parent if declarator.parent is not None else None
        around = around if around is not None else self._source.root
        for use in uses:
            above = use.parent
            if is_within(use, around) and above is not None and "assignment" in above.type:
                doubt = max(doubt, UNCERTAIN)
        if _is_input(text_of(name), around, site.node):
            return
        for literal in _literals_of(value):
            yield site.expected(literal, doubt)

    def _sites(self, body: Node, *, has_helpers: bool = True) -> Iterator[Comparison]:
        for node in walk(body):
            if node.type == "call_expression":
                found = [*self._assertion_sites(node)]
                yield from found
                if not found and has_helpers:
                    yield from self._helped(node)
            elif node.type == "if_statement":
                consequence = field(node, "consequence")
                condition = field(node, "condition")
                if consequence is not None and condition is not None and _throws(consequence):
                    yield from _differences(condition, 0)

    def _assertion_sites(self, call: Node) -> Iterator[Comparison]:
        callee = field(call, "function")
        arguments = field_parts(call, "arguments")
        if callee is None or callee.type not in {"identifier", "member_expression"}:
            return
        chain = _chain(callee)
        if not arguments or not chain or not _INVERTED.isdisjoint(chain[1:]):
            return
        root, name = ".".join(chain[:-1]), chain[-1]
        if chain[0] == "expect" and len(chain) > 1 and chain[1:2] != ["extend"]:
            yield from _matcher(call, chain, arguments)
        elif "should" in chain[:-1]:
            yield from _chained(call, name, arguments)
        elif (_ASSERTERS.fullmatch(root) and name in _TRUE) or chain in (["assert"], ["ok"]):
            yield from _equalities(arguments[0])
        elif _ASSERTERS.fullmatch(root) and name in _NEAR_ASSERTIONS | _FAR_ASSERTIONS:
            if name in {"throws", "rejects", "throwsAsync"}:
                # A text there is a message of the assertion.
                own = [
                    one for one in arguments[1:2] if one.type not in {"string", "template_string"}
                ]
                yield Comparison(node=call, candidates=tuple(own), distance=FAR)
            elif name in _FAR_ASSERTIONS:
                yield Comparison(node=call, candidates=tuple(arguments[1:2]), distance=FAR)
            else:
                yield Comparison(node=call, candidates=tuple(arguments[:2]))
        elif len(chain) == 1 and name in _BARE_ASSERTIONS:
            yield Comparison(node=call, candidates=tuple(arguments[:2]))

    # A helper of the file: arguments for the parameters that it compares.
    def _helped(self, call: Node) -> Iterator[Comparison]:
        callee = field(call, "function")
        if callee is None or callee.type != "identifier":
            return
        helper = _function_named(text_of(callee), self._source.root)
        body = field(helper, "body")
        if helper is None or body is None or is_within(call, helper):
            return
        names = map(text_of, _parameters(helper))
        passed = dict(zip(names, field_parts(call, "arguments"), strict=False))
        for site in self._sites(body, has_helpers=False):  # helpers may call each other
            for name in (text_of(_unwrapped(candidate)) for candidate in site.candidates):
                if name in passed and not _is_input(name, body, site.node):
                    yield site.of_argument(call, passed[name], self._doubt(site.node, body))

    # The tables whose functions are around a node.
    def _tables(self, node: Node) -> list[_Rows]:
        found = []
        for around, part in ancestors(node):
            if around.type not in {"call_expression", "for_in_statement"}:
                continue
            if around.type == "call_expression" and part.type != "arguments":
                continue
            at = around.end_byte
            if at not in self._known_tables:
                table = self._table(around)
                self._known_tables[at] = [table] if table is not None else []
            found += self._known_tables[at]
        own = self._known_tables.get(node.end_byte)
        if own is None and node.start_byte in self._calls:
            table = self._table(node)
            own = self._known_tables[node.end_byte] = [table] if table is not None else []
        return [*(own or []), *found]

    def _table(self, node: Node) -> _Rows | None:
        if node.type == "for_in_statement":
            left, over = field(node, "left"), field(node, "right")
            if left is None or over is None or "of" not in [one.type for one in node.children]:
                return None
            rows = self._elements(over)
            return _rows(node, [(row,) for row in rows], [left]) if rows else None
        callee = field(node, "function")
        functions = [a for a in field_parts(node, "arguments") if a.type in _FUNCTIONS]
        if callee is None or not functions:
            return None
        parameters = _parameters(functions[-1])
        if callee.type == "member_expression":
            over = field(callee, "object")
            if over is None or _chain(callee)[-1:] not in (["forEach"], ["map"]):
                return None
            rows = self._elements(over)
            return _rows(node, [(row,) for row in rows], parameters) if rows else None
        names = _chain(field(callee, "function")) if callee.type == "call_expression" else []
        if names[-1:] not in (["each"], ["for"]):
            return None
        given = field(callee, "arguments")
        if given is not None and given.type == "template_string":
            return _rows(node, [(row,) for row in _template_rows(given)], parameters)
        tables = parts(given)
        rows = self._elements(tables[0]) if tables else []
        spread = [
            tuple(parts(row)) if row.type == "array" and names[-1] == "each" else (row,)
            for row in rows
        ]
        return _rows(node, spread, parameters) if rows else None

    # The elements of an array, or of a variable that is one; empty if they cannot be told.
    def _elements(self, node: Node) -> list[Node]:
        node = _unwrapped(node)
        if node.type == "identifier":
            declarator = _declaration(text_of(node), node)
            value = field(declarator, "value")
            node = _unwrapped(value) if value is not None else node
        elements = [_unwrapped(one) for one in parts(node)] if node.type == "array" else []
        return [] if any(one.type == "spread_element" for one in elements) else elements

    def _blocks(self) -> dict[int, BlockEnd]:
        found = {}
        for call in self._calls.values():
            body = field(call.function, "body")
            if not call.is_test or body is None or body.type != "statement_block":
                continue
            if call.node.has_error or call.is_inverted:
                continue
            last = parts(body)[-1:]
            if last and last[0].type == "return_statement":
                found[body.start_byte] = BlockEnd(at=last[0].start_byte, separator="")
            else:
                found[body.start_byte] = BlockEnd(at=body.end_byte - 1, separator="; ")
        return found

    def _comments(self) -> Iterator[ByteEdit]:
        for node in walk(self._source.root):
            text = text_of(node) if node.type == "comment" else ""
            if text.startswith(("//", "/*")) and not _KEPT_COMMENT.search(text):
                yield emptied(node)

    # How likely it is that right code does not get to an assertion, or gets there late.
    def _doubt(self, node: Node, body: Node) -> int:
        doubt = 0
        for around, part in ancestors(node, body):
            match around.type:
                case "if_statement":
                    is_condition = part == field(around, "condition")
                    doubt = max(doubt, 0 if is_condition else UNCERTAIN)
                case (
                    "switch_case"
                    | "switch_default"
                    | "catch_clause"
                    | "ternary_expression"
                    | "try_statement"
                    | "finally_clause"
                ):
                    doubt = max(doubt, UNCERTAIN)
                case "for_in_statement":
                    is_table = any(one.owner == around for one in self._tables(node))
                    doubt = max(doubt, 0 if is_table else 1)
                case "for_statement" | "while_statement" | "do_statement":
                    doubt = max(doubt, 1)
                case "arrow_function" | "function_expression":
                    doubt = max(doubt, self._doubt_of_function(around))
                case "function_declaration" | "method_definition":
                    doubt = max(doubt, UNCERTAIN)  # it may never be called
                case "statement_block":
                    before = preceding(part, around)
                    doubt = max(doubt, UNCERTAIN if any(map(_may_leave, before)) else 0)
                case _:
                    pass
        return doubt

    def _doubt_of_function(self, function: Node) -> int:
        call = function.parent.parent if function.parent is not None else None
        if call is None or call.type != "call_expression":
            return UNCERTAIN
        known = self._calls.get(call.start_byte)
        if known is not None and known.node == call:
            return 0
        callee = field(call, "function")
        return 1 if callee is not None and _chain(callee)[-1:] in (["then"], ["forEach"]) else 2


def _titles(call: _Call) -> tuple[str, ...]:
    return tuple(one if isinstance(one, str) else text_of(one) for one in call.title)


def _chain(node: Node | None) -> list[str]:
    """The names of `expect(x).not.toBe`: expect, not and toBe; empty if it begins otherwise."""
    names = list[str]()
    while node is not None:
        match node.type:
            case "member_expression":
                names.insert(0, field_text(node, "property"))
                node = field(node, "object")
            case "call_expression":
                node = field(node, "function")
            case "await_expression" | "parenthesized_expression" | "non_null_expression":
                node = parts(node)[0]
            case "identifier" | "this":
                return [text_of(node), *names]
            case _:
                # Such as `[1].should.eql([1])`.
                return ["", *names] if names else []
    return []


def _title(node: Node) -> Iterator[str | Node]:
    match node.type:
        case "string":
            yield str(literals.quoted(node).value)
        case "template_string":
            at = node.start_byte + 1
            content = node.text or b""
            for part in [*parts(node), None]:
                if part is not None and part.type != "template_substitution":
                    continue
                end = part.start_byte if part is not None else node.end_byte - 1
                yield content[at - node.start_byte : end - node.start_byte].decode(
                    "utf-8", "replace"
                )
                if part is not None:
                    yield parts(part)[0] if parts(part) else part
                    at = part.end_byte
        case "binary_expression" if field_text(node, "operator") == "+":
            for part in parts(node):
                yield from _title(part)
        case "number":
            yield text_of(node)
        case _:
            yield node


def _pattern(call: _Call, table: _Rows | None, row: int) -> str:
    """A regular expression for the titles of a test, in one row or in all."""
    found = []
    cells = table.rows[row] if table is not None and table.owner == call.node else ()
    if len(cells) == 1 and isinstance(cells[0], Node) and cells[0].type == "array":
        cells = tuple(parts(cells[0]))  # of `test.for`, whose function gets the whole row
    ordered = iter(cells)
    for piece in call.title:
        if isinstance(piece, str):
            at = 0
            for place in _FORMAT.finditer(piece) if call.has_formats else ():
                found.append(re.escape(piece[at : place.start()]))
                found.append(_formatted(place[0], table, row, ordered))
                at = place.end()
            found.append(re.escape(piece[at:]))
        else:
            cell = table.cell(piece, row) if table is not None else None
            found.append(_text_pattern(cell))
    return "".join(found)


def _formatted(
    form: str, table: _Rows | None, row: int, ordered: Iterator[Node | Mapping[str, Node]]
) -> str:
    if form == "%%":
        return "%"
    if table is None:
        return ".*"
    if form in {"%#", "%$"}:
        return str(row + (form == "%$"))
    if form.startswith("%"):
        cell = next(ordered, None)
        return (
            _text_pattern(cell) if isinstance(cell, Node) and form in {"%s", "%d", "%i"} else ".*"
        )
    return _text_pattern(
        _at(table.rows[row][0], tuple(form[1:].split("."))) if table.rows[row] else None
    )


def _text_pattern(node: Node | None) -> str:
    """A regular expression for what a value is in a title."""
    if node is None:
        return ".*"
    match node.type:
        case "string":
            text = re.escape(str(literals.quoted(node).value))
            return f"['\"]?{text}['\"]?"
        case "number" | "true" | "false" | "null" | "undefined":
            return re.escape(text_of(node))
        case "unary_expression" if re.fullmatch(r"-[\d.]+", text_of(node)):
            return re.escape(text_of(node))
        case _:
            return ".*"


def _at(cell: Node | Mapping[str, Node], keys: Sequence[str]) -> Node | None:
    """A part of an object or an array."""
    for key in keys:
        if not isinstance(cell, Node):
            found = cell.get(key)
        elif cell.type == "array":
            elements = parts(cell)
            found = elements[int(key)] if key.isdigit() and int(key) < len(elements) else None
        else:
            pairs = [one for one in parts(cell) if one.type == "pair"]
            named = {field_text(p, "key").strip("'\""): p for p in pairs}
            found = field(named[key], "value") if key in named else None
        if found is None:
            return None
        cell = found
    return cell if isinstance(cell, Node) else None


def _rows(
    owner: Node,
    rows: Sequence[tuple[Node | Mapping[str, Node], ...]],
    parameters: Sequence[Node],
) -> _Rows:
    bindings = {
        name: _Binding(at, keys)
        for at, parameter in enumerate(parameters)
        for name, keys in _bound(parameter, ())
    }
    return _Rows(owner=owner, rows=tuple(rows), bindings=bindings)


def _bound(node: Node, keys: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The variables of a pattern, each with the keys to what it stands for."""
    match node.type:
        case "identifier":
            yield text_of(node), keys
        case "shorthand_property_identifier_pattern":
            yield text_of(node), (*keys, text_of(node))
        case "object_pattern":
            for part in parts(node):
                yield from _bound(part, keys)
        case "pair_pattern":
            key, value = field(node, "key"), field(node, "value")
            if value is not None:
                yield from _bound(value, (*keys, text_of(key).strip("'\"")))
        case "array_pattern":
            for at, part in enumerate(parts(node)):
                yield from _bound(part, (*keys, str(at)))
        case "assignment_pattern" | "object_assignment_pattern":
            if (left := field(node, "left")) is not None:
                yield from _bound(left, keys)
        case "required_parameter" | "optional_parameter":
            if (pattern := field(node, "pattern")) is not None:
                yield from _bound(pattern, keys)
        case _:
            pass


def _parameters(function: Node) -> list[Node]:
    single = field(function, "parameter")
    if single is not None:
        return [single]
    found = field_parts(function, "parameters")
    return [field(one, "pattern") or one for one in found]


def _template_rows(node: Node) -> list[dict[str, Node]]:
    """The rows of a table that is a template, whose first line has the names of its columns."""
    header = text_of(node)[1:].split("\n")
    names = [each.strip() for each in next(filter(str.strip, header), "").split("|")]
    cells = [parts(one)[0] for one in parts(node) if one.type == "template_substitution"]
    if not names or len(cells) % len(names):
        return []
    return [
        dict(zip(names, cells[at : at + len(names)], strict=True))
        for at in range(0, len(cells), len(names))
    ]


def _matcher(call: Node, chain: Sequence[str], arguments: Sequence[Node]) -> Iterator[Comparison]:
    name = chain[-1]
    if name in _NEAR_MATCHERS:
        yield Comparison(node=call, candidates=tuple(arguments))
    elif name in _FAR_MATCHERS:
        yield Comparison(node=call, candidates=tuple(arguments[:1]), distance=FAR)
    elif name in _INLINE_SNAPSHOTS:
        # Before it there may be matchers of properties. No judged run writes a snapshot.
        yield Comparison(node=call, candidates=tuple(arguments[-1:]))
    elif name == "toHaveProperty" or name == "nthCalledWith" or name == "toHaveBeenNthCalledWith":
        yield Comparison(node=call, candidates=tuple(arguments[1:]))
    elif name == "toBeCloseTo":
        digits = text_of(arguments[1]) if len(arguments) > 1 else "2"
        exponent = int(digits) if re.fullmatch(r"-?\d{1,2}", digits) else 0
        distance = Distance(absolute=10.0**-exponent)
        yield Comparison(node=call, candidates=tuple(arguments[:1]), distance=distance)
    elif len(chain) > 2:
        yield from _chained(call, name, arguments)


# Assertions of chai and should.
def _chained(call: Node, name: str, arguments: Sequence[Node]) -> Iterator[Comparison]:
    if name in _NEAR_CHAINS:
        yield Comparison(node=call, candidates=tuple(arguments[:1]))
    elif name in _FAR_CHAINS:
        # After an error's class there is its message.
        yield Comparison(node=call, candidates=tuple(arguments[:2]), distance=FAR)
    elif name in {"property", "closeTo", "approximately"} and len(arguments) > 1:
        is_property = name == "property"
        number = _number_of(arguments[1])
        distance = NEAR if is_property else FAR if number is None else Distance(absolute=number)
        yield Comparison(node=call, candidates=(arguments[int(is_property)],), distance=distance)


def _number_of(node: Node) -> float | None:
    found = literals.number(node) if node.type == "number" else None
    return float(found.value) if found is not None else None


def _equalities(node: Node) -> Iterator[Comparison]:
    """The comparisons that must hold, as in `assert(x === 6)`."""
    operator = field_text(node, "operator")
    if node.type == "parenthesized_expression" or operator == "&&":
        for part in parts(node):
            yield from _equalities(part)
    elif operator in {"==", "==="}:
        yield Comparison(node=node, candidates=tuple(parts(node)))


def _differences(node: Node, doubt: int) -> Iterator[Comparison]:
    """The comparisons of which none may hold, as in `if (x !== 6) throw …`."""
    operator = field_text(node, "operator")
    if node.type == "parenthesized_expression" or operator == "||":
        for part in parts(node):
            yield from _differences(part, doubt)
    elif operator in {"!=", "!=="}:
        yield Comparison(node=node, candidates=tuple(parts(node)), doubt=doubt)


def _throws(block: Node) -> bool:
    if any(node.type == "throw_statement" for node in walk(block, into=_FUNCTIONS)):
        return True
    return re.search(r"\b(done\(new |(assert|t|expect)\.fail\()", text_of(block)) is not None


def _may_leave(statement: Node) -> bool:
    """Whether right code may leave a test by this statement."""
    if statement.type == "return_statement":
        return True
    if statement.type == "if_statement":
        consequence = field(statement, "consequence")
        if consequence is not None and _throws(consequence):
            return False
    nodes = walk(statement, into=_FUNCTIONS)
    return any(
        node.type == "return_statement"
        or (node.type == "call_expression" and _chain(node)[-1:] == ["skip"])
        for node in nodes
        if node.type not in _FUNCTIONS
    )


def _unwrapped(node: Node) -> Node:
    """An expression without brackets, `await` and types."""
    inner = {"parenthesized_expression", "as_expression", "satisfies_expression",
             "non_null_expression"}  # fmt: skip
    while node.type in inner and parts(node):
        node = parts(node)[0]
    return node


def _literals_of(node: Node | None) -> list[Literal]:
    return literals.telling(_all_literals(node)) if node is not None else []


def _all_literals(node: Node) -> Iterator[Literal]:
    node = _unwrapped(node)
    match node.type:
        case "number":
            if (number := literals.number(node)) is not None:
                yield number
        case "string":
            yield literals.quoted(node)
        case "template_string":
            yield from _template_literals(node)
        case "true" | "false":
            yield literals.truth(node)
        case "regex":
            if (found_pattern := field(node, "pattern")) is not None:
                yield literals.pattern(found_pattern)
        case "identifier":
            if (error := literals.error_name(node)) is not None:
                yield error
        case "unary_expression":
            if field_text(node, "operator") in {"-", "+"}:
                yield from _all_literals(parts(node)[-1])
        case "binary_expression":
            operands = [[*_all_literals(part)] for part in parts(node)]
            if field_text(node, "operator") in {"+", "-", "*"} and all(operands):
                yield from (literal for inner in operands for literal in inner)
        case "array" | "object":
            for part in parts(node):
                yield from _all_literals(part)
        case "pair":
            yield from _all_literals(parts(node)[-1])
        case "new_expression" | "call_expression":
            called = field(node, "constructor") or field(node, "function")
            if text_of(called) in _PURE | _SEARCHING:
                for part in field_parts(node, "arguments"):
                    yield from _all_literals(part)
        case _:
            pass


def _template_literals(node: Node) -> Iterator[Literal]:
    """The text of a template between its values."""
    if not any(part.type == "template_substitution" for part in parts(node)):
        yield literals.quoted(node)
        return
    texts = [literals.bare(part) for part in parts(node) if part.type == "string_fragment"]
    yield from (text for text in texts if re.search(r"\w", text.text))


def _declaration(name: str, at: Node) -> Node | None:
    """The declarator of the nearest variable of this name before a place."""
    for around, part in ancestors(at):
        if around.type not in {"statement_block", "program"}:
            continue
        for statement in reversed(preceding(part, around)):
            if statement.type in {"lexical_declaration", "variable_declaration"}:
                for declarator in parts(statement):
                    if field_text(declarator, "name") == name:
                        return declarator
    return None


def _function_named(name: str, root: Node) -> Node | None:
    for node in walk(root):
        if node.type == "function_declaration":
            if field_text(node, "name") == name:
                return node
        elif node.type == "variable_declarator":
            value = field(node, "value")
            is_named = field_text(node, "name") == name
            if is_named and value is not None and value.type in _FUNCTIONS:
                return value
    return None


def _is_input(name: str, around: Node, site: Node) -> bool:
    """Whether an expression is used otherwise than to compare it."""
    if not re.fullmatch(r"[\w$.\[\]]+", name):
        return False
    for node in walk(around):
        if node.type not in {"identifier", "member_expression"} or text_of(node) != name:
            continue
        if not _is_compared(node, around, site):
            return True
    return False


def _is_compared(node: Node, end: Node, site: Node) -> bool:
    for around, part in ancestors(node, end):
        match around.type:
            case "binary_expression":
                if field_text(around, "operator") in _COMPARISONS:
                    return True
            case "call_expression" | "new_expression":
                if around == site:
                    return True
                chain = _chain(field(around, "function"))
                return part.type == "arguments" and not _HARMLESS.isdisjoint(chain[:1] + chain[-1:])
            case "variable_declarator":
                return part == field(around, "name")
            case "formal_parameters" | "array_pattern" | "object_pattern":
                return True
            case "for_in_statement":
                return part == field(around, "left")
            case "statement_block" | "arrow_function":
                return around.type == "arrow_function" and part != field(around, "body")
            case _:
                pass
    return False
