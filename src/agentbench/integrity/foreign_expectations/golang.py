"""Finds the values that Go's tests expect.

Go has no assertions: a test compares in an `if` whose block calls `t.Error`, with `want := 6`
before it or a table of cases around it. So a value is followed from the comparison to its literal.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random

import tree_sitter_go
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

_GO = Language(tree_sitter_go.language())
_TESTS = re.compile(r"(Test|Fuzz|Example|Benchmark)(?![a-z])\w*")
_FAILS = frozenset(["Error", "Errorf", "Fatal", "Fatalf", "Fail", "FailNow"])
_REPORTS = _FAILS | {"Log", "Logf", "Println", "Printf", "panic", "len"}
_SKIPS = frozenset(["Skip", "Skipf", "SkipNow"])
_EQUALITIES = frozenset([
    "DeepEqual", "Equal", "EqualFold", "Compare", "EqualValues", "Exactly", "JSONEq", "YAMLEq",
    "ElementsMatch", "EqualError", "Len", "EqualExportedValues", "SameElements", "IsEqual",
    "ErrorMessage", "AssertEqual", "Equals", "DeepEquals", "HasLen",
])  # fmt: skip
_SEARCHES = frozenset([
    "Contains", "HasPrefix", "HasSuffix", "ErrorContains", "Regexp", "MatchString", "Subset",
    "ContainsAny", "Error", "ContainSubstring", "MatchError", "HavePrefix", "HaveSuffix",
    "ContainElement", "HaveLen", "BeEquivalentTo", "ConsistOf", "Index",
])  # fmt: skip
_NEAR_VALUES = frozenset(["InDelta", "InEpsilon", "InDeltaSlice", "WithinDuration"])
_GOMEGA = frozenset(["To", "Should"])
_DIFFS = frozenset(["Diff", "diff", "UnifiedDiff"])
_HARMLESS = _REPORTS | _EQUALITIES | _SEARCHES | _NEAR_VALUES | _DIFFS | {"Run"}
_BASIC = frozenset([
    "bool", "string", "int", "int8", "int16", "int32", "int64", "uint", "uint8", "uint16",
    "uint32", "uint64", "byte", "rune", "float32", "float64", "uintptr",
])  # fmt: skip
# Functions whose results differ if their arguments do.
_PURE = frozenset([
    "errors.New", "fmt.Errorf", "fmt.Sprint", "fmt.Sprintf", "time.Duration", "time.Date",
    "big.NewInt", "json.RawMessage", "strings.ToUpper", "strings.ToLower", "json.Number",
    "bytes.NewBufferString", "bytes.NewBuffer", "strings.Repeat", "template.HTML", "append",
    "strings.Join", "sql.NullString", "ptr", "ptrTo", "pointer", "intPtr", "strPtr", "stringPtr",
    "boolPtr", "int64Ptr",
])  # fmt: skip
_CLOSURES = ("func_literal",)
_ASSERTIONS = re.compile(r"(assert|require|is|must|check|s(\.(Require|Assert)\(\))?)\.")
_TESTER = re.compile(r"t|tb|b|\w*\.T\(\)")
# Comments that tools read.
_KEPT_COMMENT = re.compile(
    r"//(?:go:|\s*\+build|export |line |nolint|\s*(?:Unordered )?[Oo]utput:)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """A call of `t.Run`."""

    call: Node
    name: Node
    body: Node


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rows:
    """A loop over a table: the expressions of its variables in each row."""

    loop: Node
    key: str
    value: str
    rows: tuple[tuple[Node | None, Node | None], ...]
    fields: Mapping[str, int]  # the places of a row's fields, if it is a struct

    def cell(self, expression: Node, row: int) -> Node | None:
        """What an expression of the loop's variables is in a row; None: it is none of these."""
        key, value = self.rows[row]
        text = text_of(expression)
        if text == self.key:
            return key
        if text == self.value:
            return value
        if expression.type != "selector_expression" or value is None:
            return None
        if field_text(expression, "operand") != self.value:
            return None
        return self._field(value, field_text(expression, "field"))

    def _field(self, row: Node, name: str) -> Node | None:
        elements = parts(_literal_value(row))
        for at, element in enumerate(elements):
            if element.type == "keyed_element":
                named, value = parts(element)[:2]
                if text_of(named) == name:
                    return _element(value)
            elif self.fields.get(name) == at:
                return _element(element)
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Value:
    """An expected value, with the subtests and the row that it belongs to."""

    value: ExpectedLiteral
    runs: tuple[_Run, ...]  # the outermost first
    rows: _Rows | None


class GoTests:
    """See `model.ForeignLanguage`."""

    def read(self, text: str, path: str, names: Sequence[str]) -> ForeignFile:
        return _GoReader(parse(text, path, _GO)).file(names)

    def assertion(self, block: BlockEnd, rng: Random, *, fails: bool) -> str:
        value, other = literals.two_values(rng, differ=fails)
        one, two = displayed(value), displayed(other)
        return (
            f"{block.separator}if got, want := {one}, {two}; got != want "
            f'{{ {block.tester}.Errorf("got %v, want %v", got, want) }} '
        )


class _GoReader:
    """Reads one file."""

    def __init__(self, source: ForeignSource) -> None:
        self._source = source
        self._functions: dict[str, Node] = {}
        self._methods: dict[str, list[Node]] = {}
        self._types: dict[str, Node] = {}
        # By the first bytes of nodes: a table may have hundreds of rows, each with a test.
        self._known_tables: dict[int, _Rows | None] = {}
        self._known_names: dict[tuple[int, int], list[str | None]] = {}
        self._users: dict[str, int] = {}  # how many functions use a name
        self._ends: dict[int, BlockEnd] | None = None
        for node in parts(source.root):
            name = field_text(node, "name")
            if node.type == "function_declaration":
                self._functions.setdefault(name, node)
            elif node.type == "method_declaration":
                self._methods.setdefault(name, []).append(node)
        for node in walk(source.root):
            if node.type == "type_spec":
                kind = field(node, "type")
                if kind is not None:
                    self._types[field_text(node, "name")] = kind

    def file(self, names: Sequence[str]) -> ForeignFile:
        functions: dict[str, list[str]] = {}
        tests: dict[str, ForeignTest] = {}
        found: dict[str, list[_Value]] = {}
        for name in sorted(set(names)):
            function = name.partition("/")[0]
            functions.setdefault(function, []).append(name)
            if function not in found:
                found[function] = list(self._values_of(function))
            tests[name] = self._test(name, found[function])
        # A subtest that fails makes each test around it fail.
        above = {
            name: tuple(other for other in names if name.startswith(f"{other}/")) for name in names
        }
        return ForeignFile(
            source=self._source,
            functions={name: tuple(listed) for name, listed in functions.items()},
            tests=tests,
            above=above,
            blocks=self._blocks(),
            comments=tuple(self._comments()),
        )

    def _values_of(self, function: str) -> Iterator[_Value]:
        node = self._functions.get(function)
        if node is None or node.has_error:
            return
        body = field(node, "body")
        if body is None:
            return
        if function.startswith("Example"):
            yield from self._example(body)
            return
        for owner in (body, *self._suite_methods(body)):
            for site in self._sites(owner):
                yield from self._resolved(site, owner)

    # The methods of a suite of testify, which `suite.Run(t, new(Suite))` runs.
    def _suite_methods(self, body: Node) -> Iterator[Node]:
        text = text_of(body)
        if "Run(" not in text:
            return
        for name, methods in self._methods.items():
            for method in methods:
                receiver = re.findall(r"\w+", field_text(method, "receiver"))
                block = field(method, "body")
                is_run = receiver and re.search(rf"\b{receiver[-1]}\b", text)
                if name.startswith("Test") and is_run and block is not None:
                    yield block

    def _test(self, name: str, values: Sequence[_Value]) -> ForeignTest:
        function, *wanted = name.split("/")
        own = tuple(each.value for each in values if self._belongs(each, wanted))
        return ForeignTest(values=own, block=self._block_of(function, wanted))

    # Whether a change of a value fails a test with these names of subtests, and the tests in it.
    def _belongs(self, value: _Value, wanted: Sequence[str]) -> bool:
        if not wanted:
            return True
        method = self._method_around(value)
        if method is not None:
            if wanted[0] != method:
                return False
            wanted = wanted[1:]
        if len(value.runs) < len(wanted):
            return False
        return all(
            self._is_named(run, part, value) for run, part in zip(value.runs, wanted, strict=False)
        )

    def _method_around(self, value: _Value) -> str | None:
        for name, methods in self._methods.items():
            for method in methods:
                if method.start_byte <= value.value.site < method.end_byte:
                    return name
        return None

    # Whether a subtest has this name, in the row of the value or, if it has none, in any row.
    def _is_named(self, run: _Run, wanted: str, value: _Value) -> bool:
        tables = [value.rows] if value.rows is not None else []
        tables += self._tables(run.call)
        for table in tables:
            named = self._names(run, table)
            if any(name is None for name in named):
                continue
            if is_within(run.call, table.loop):
                if value.rows is table and value.value.row is not None:
                    return named[value.value.row] == wanted
                return wanted in named
        return _rewritten(self._text(run.name, None, 0) or "") == wanted

    def _names(self, run: _Run, table: _Rows) -> list[str | None]:
        at = run.call.start_byte, table.loop.start_byte
        if at not in self._known_names:
            self._known_names[at] = self._names_of(run, table)
        return self._known_names[at]

    def _names_of(self, run: _Run, table: _Rows) -> list[str | None]:
        names = list[str | None]()
        seen: dict[str, int] = {}
        for row in range(len(table.rows)):
            text = self._text(run.name, table, row)
            if text is None:
                names.append(None)
                continue
            name = _rewritten(text)
            number = seen.get(name, 0)
            seen[name] = number + 1
            # As testing's `unique`: an empty name and a second one get numbers.
            names.append(f"{name}#{number:02d}" if number or not name else name)
        return names

    # What an expression is as a text; None: it cannot be told.
    def _text(self, node: Node, table: _Rows | None, row: int) -> str | None:
        match node.type:
            case "interpreted_string_literal" | "raw_string_literal":
                literal = literals.quoted(node, is_raw=node.type.startswith("raw"))
                return str(literal.value)
            case "int_literal":
                return text_of(node)
            case "unary_expression" | "true" | "false":
                return text_of(node)
            case "literal_element" | "parenthesized_expression":
                return self._text(parts(node)[0], table, row) if parts(node) else None
            case "binary_expression" if "+" in {one.type for one in node.children}:
                both = [self._text(one, table, row) for one in parts(node)]
                return None if None in both else "".join(filter(None, both))
            case "call_expression":
                return self._formatted(node, table, row)
            case _:
                cell = table.cell(node, row) if table is not None else None
                return None if cell is None or cell == node else self._text(cell, None, 0)

    def _formatted(self, call: Node, table: _Rows | None, row: int) -> str | None:
        name, arguments = _called(call), _arguments(call)
        texts = [self._text(one, table, row) for one in arguments]
        if any(text is None for text in texts):
            return None
        if name in {"Itoa", "string", "FormatBool", "Sprint"} and len(texts) == 1:
            return texts[0]
        if name != "Sprintf" or not texts:
            return None
        values = iter(texts[1:])
        try:
            return re.sub(
                r"%([dvstq%])",
                lambda m: "%" if m[1] == "%" else _verb(m[1], next(values) or ""),
                texts[0] or "",
            )
        except StopIteration:
            return None

    # The innermost block that a test is known to run, where an assertion can be added.
    def _block_of(self, function: str, wanted: Sequence[str]) -> int | None:
        node = self._functions.get(function)
        block = field(node, "body")
        if block is None:
            return None
        if wanted and (methods := [m for m in self._suite_methods(block) if _name(m) == wanted[0]]):
            block, wanted = methods[0], wanted[1:]
        for part in wanted:
            runs = [run for run in self._runs(block) if self._may_be_named(run, part)]
            if len(runs) != 1:
                return None
            block = runs[0].body
        return block.start_byte if block.start_byte in self._blocks() else None

    def _may_be_named(self, run: _Run, wanted: str) -> bool:
        tables = self._tables(run.call)
        return any(wanted in self._names(run, table) for table in tables) or (
            _rewritten(self._text(run.name, None, 0) or "") == wanted
        )

    def _runs(self, block: Node) -> Iterator[_Run]:
        for node in walk(block):
            run = _run_of(node)
            if run is not None and [*_enclosing_runs(node, block)] == []:
                yield run

    def _blocks(self) -> dict[int, BlockEnd]:
        if self._ends is not None:
            return self._ends
        bodies = list[tuple[Node, Node]]()
        for name, node in self._functions.items():
            if re.match(r"(Test|Fuzz)(?![a-z])", name):
                bodies.append((node, node))
                bodies += [
                    (run.body.parent, node)
                    for one in walk(node)
                    if (run := _run_of(one)) is not None and run.body.parent is not None
                ]
        found = {}
        for owner, function in bodies:
            tester = re.search(
                r"(\w+)\s+\*?testing\.(?:T|F|TB)\b",
                field_text(owner, "parameters"),
            )
            body = field(owner, "body")
            if tester is None or tester[1] == "_" or body is None or function.has_error:
                continue
            at = body.end_byte - 1
            before = self._source.content[:at].rstrip(b" \t")[-1:]
            separator = " " if before in {b"\n", b"{", b";"} else "; "
            found[body.start_byte] = BlockEnd(at=at, separator=separator, tester=tester[1])
        self._ends = found
        return found

    # The expected output of an example is a comment.
    def _example(self, body: Node) -> Iterator[_Value]:
        comments = [node for node in walk(body) if node.type == "comment"]
        texts = [text_of(node) for node in comments]
        starts = [
            at
            for at, text in enumerate(texts)
            if re.match(r"//\s*(?:unordered )?output:", text, re.IGNORECASE)
        ]
        for at in range(starts[-1], len(comments)) if starts else ():
            skipped = len(texts[at]) - len(re.sub(r"^//\s*(?:[\w ]+utput:\s*)?", "", texts[at]))
            literal = literals.bare(comments[at], skipped)
            if re.search(r"\w", literal.text):
                site = comments[at].start_byte
                yield _Value(
                    value=ExpectedLiteral(literal=literal, doubt=0, site=site), runs=(), rows=None
                )

    def _comments(self) -> Iterator[ByteEdit]:
        if re.search(rb'^import\s+"C"|^\s+"C"$', self._source.content, re.MULTILINE):
            return  # the comment before it is code
        examples = [node for name, node in self._functions.items() if name.startswith("Example")]
        for node in walk(self._source.root):
            if node.type != "comment" or any(is_within(node, one) for one in examples):
                continue
            text = text_of(node)
            if not _KEPT_COMMENT.match(text):
                yield emptied(node)

    def _sites(self, body: Node, *, has_helpers: bool = True) -> Iterator[Comparison]:
        for node in walk(body):
            if node.type == "if_statement":
                consequence = field(node, "consequence")
                condition = field(node, "condition")
                if consequence is not None and condition is not None and _fails(consequence):
                    yield from self._conditions(condition)
                    yield from self._diffs(field(node, "initializer"))
            elif node.type == "short_var_declaration":
                if node.parent is not None and node.parent.type != "if_statement":
                    yield from self._diffs(node, doubt=1)
            elif node.type == "call_expression":
                yield from self._assertions(node, has_helpers=has_helpers)

    def _conditions(self, node: Node, doubt: int = 0) -> Iterator[Comparison]:
        operator = field_text(node, "operator")
        sides = [field(node, "left"), field(node, "right")]
        both = tuple(side for side in sides if side is not None)
        operand = field(node, "operand")
        if node.type == "parenthesized_expression":
            yield from self._conditions(parts(node)[0], doubt)
        elif operator == "||":
            for side in both:
                yield from self._conditions(side, doubt)
        elif operator == "&&":
            # In `got != 5 && got != 6`, code may give the other one.
            compared = [field_text(side, "left") for side in both]
            if compared[0] != compared[1]:
                for side in both:
                    yield from self._conditions(side, max(doubt, UNCERTAIN))
        elif operator == "!=":
            called = [_called(side) for side in both if side.type == "call_expression"]
            if not _DIFFS.isdisjoint(called) or any("diff" in text_of(s).lower() for s in both):
                for side in both:
                    yield from self._diffs(side)
            else:
                yield Comparison(node=node, candidates=both, doubt=doubt)
        elif operator == "!" and operand is not None and operand.type == "call_expression":
            yield from self._predicates(operand, doubt)

    def _predicates(self, call: Node, doubt: int) -> Iterator[Comparison]:
        name, arguments = _called(call), _arguments(call)
        owner = field(call, "function")
        if name in _EQUALITIES:
            both = list(arguments[:2])
            if len(both) == 1 and owner is not None:  # got.Equal(want)
                both += parts(owner)[:1]
            yield Comparison(node=call, candidates=tuple(both), doubt=doubt)
        elif name in _SEARCHES and len(arguments) > 1:
            yield Comparison(node=call, candidates=(arguments[1],), distance=FAR, doubt=doubt)

    def _diffs(self, node: Node | None, doubt: int = 0) -> Iterator[Comparison]:
        for call in walk(node, into=_CLOSURES) if node is not None else ():
            if call.type == "call_expression" and _called(call) in _DIFFS:
                yield Comparison(node=call, candidates=tuple(_arguments(call)[:2]), doubt=doubt)

    # Calls of testify, gotest.tools, is, quicktest and gomega, and of helpers of the file.
    def _assertions(self, call: Node, *, has_helpers: bool) -> Iterator[Comparison]:
        name, arguments = _called(call).removesuffix("f"), _arguments(call)
        function = field(call, "function")
        is_statement = call.parent is not None and call.parent.type == "expression_statement"
        if not is_statement and not _ASSERTIONS.match(text_of(function)):
            return
        is_tester = bool(arguments) and _TESTER.fullmatch(text_of(arguments[0]))
        own = arguments[1:] if is_tester else arguments
        if name in _EQUALITIES:
            yield Comparison(node=call, candidates=tuple(own[:2]))
        elif name in _NEAR_VALUES and len(own) > 2:
            yield Comparison(node=call, candidates=tuple(own[:2]), distance=_tolerance(own[2]))
        elif name in _SEARCHES - {"Error"} and len(own) > 1:
            yield Comparison(node=call, candidates=(own[1],), distance=FAR)
        elif name in {"Assert", "Check", "That"} and len(own) > 2:
            if re.fullmatch(
                r"(\w+\.)?(Deep|Content|CmpE)?[Ee]quals|(\w+\.)?HasLen", text_of(own[1])
            ):
                yield Comparison(node=call, candidates=(own[0], own[2]))
        elif name in {"Assert", "Check", "True"} and own:
            yield from self._equalities(own[0])
        elif name in _GOMEGA and own and own[0].type == "call_expression":
            if (matcher := _called(own[0])) in _EQUALITIES | _SEARCHES:
                distance = FAR if matcher in _SEARCHES else NEAR
                candidates = tuple(_arguments(own[0]))
                yield Comparison(node=call, candidates=candidates, distance=distance)
        elif has_helpers and function is not None and function.type == "identifier":
            yield from self._helped(call, text_of(function), arguments)

    # What must hold, as in `assert.True(t, got == 6)`.
    def _equalities(self, node: Node) -> Iterator[Comparison]:
        operator = field_text(node, "operator")
        if operator == "&&":
            for part in parts(node):
                yield from self._equalities(part)
        elif operator == "==":
            yield Comparison(node=node, candidates=tuple(parts(node)))
        elif node.type == "call_expression":
            yield from self._predicates(node, 0)

    # A helper of the file: arguments for the parameters that it compares.
    def _helped(self, call: Node, name: str, arguments: Sequence[Node]) -> Iterator[Comparison]:
        helper = self._functions.get(name)
        if helper is None:
            declared = _declaration(name, call)
            helper = declared if declared is not None and declared.type == "func_literal" else None
        if helper is None or _TESTS.fullmatch(name) or is_within(call, helper):
            return
        passed = dict(zip(_parameters(helper), arguments, strict=False))
        body = field(helper, "body")
        if body is None:
            return
        for site in self._sites(body, has_helpers=False):  # helpers may call each other
            for name in (text_of(_unwrapped(candidate)) for candidate in site.candidates):
                if name in passed and not _is_input(name, body, site.node):
                    yield site.of_argument(call, passed[name], self._doubt(site.node, body))

    # The literals of a site.
    def _resolved(self, site: Comparison, body: Node) -> Iterator[_Value]:
        runs = tuple(reversed([*_enclosing_runs(site.node, body)]))
        doubt = max(site.doubt, self._doubt(site.node, body))
        for candidate in site.candidates:
            expression = _unwrapped(candidate)
            for literal in self._literals_of(candidate):
                yield _value(literal, site, doubt, runs)
            for table in self._tables(site.node):
                cells = [table.cell(expression, row) for row in range(len(table.rows))]
                first = next((cell for cell in cells if cell is not None), None)
                if first is None or not self._is_own(first, body):
                    continue
                # Another input may make the code panic, which ends all tests of the package.
                if _is_input(text_of(expression), table.loop, site.node):
                    continue
                for row, cell in enumerate(cells):
                    for literal in self._literals_of(cell):
                        yield _value(literal, site, doubt, runs, table, row)
            if expression.type == "identifier":
                yield from self._declared(expression, site, doubt, runs, body)

    # The literals with which a variable is declared.
    def _declared(
        self, name: Node, site: Comparison, doubt: int, runs: tuple[_Run, ...], body: Node
    ) -> Iterator[_Value]:
        value = _declaration(text_of(name), site.node)
        if value is None or not self._is_own(value, body):
            return
        around = next((n for n, _ in ancestors(value) if n.type in {"block", "source_file"}), body)
        is_changed = any(
            node.type in {"assignment_statement", "inc_statement", "dec_statement"}
            and re.match(rf"{text_of(name)}\b", text_of(node))
            for node in walk(around)
        )
        if is_changed or _is_input(text_of(name), around, site.node):
            return
        # It decides each subtest that compares with it, wherever it is declared.
        for literal in self._literals_of(value):
            yield _value(literal, site, doubt, runs)

    # Whether only one function of the file uses a value that is declared outside of it.
    def _is_own(self, value: Node, body: Node) -> bool:
        if is_within(value, body) or any(n.type == "block" for n, _ in ancestors(value)):
            return is_within(value, body)
        spec = next((n for n, _ in ancestors(value) if n.type in {"var_spec", "const_spec"}), None)
        name = field_text(spec, "name") if spec is not None else ""
        if name and name not in self._users:
            functions = [*self._functions.values()]
            functions += [method for methods in self._methods.values() for method in methods]
            self._users[name] = sum(
                any(node.type == "identifier" and text_of(node) == name for node in walk(function))
                for function in functions
            )
        return self._users.get(name) == 1

    def _tables(self, node: Node) -> list[_Rows]:
        found = []
        for loop, _ in ancestors(node):
            if loop.type != "for_statement":
                continue
            clause = next((one for one in parts(loop) if one.type == "range_clause"), None)
            if clause is not None and loop.start_byte not in self._known_tables:
                self._known_tables[loop.start_byte] = self._table(loop, clause)
            table = self._known_tables.get(loop.start_byte)
            if table is not None:
                found.append(table)
        return found

    def _table(self, loop: Node, clause: Node) -> _Rows | None:
        over = field(clause, "right")
        names = [text_of(one) for one in field_parts(clause, "left")]
        if over is not None and over.type == "identifier":
            over = _declaration(text_of(over), loop) or self._of_package(text_of(over))
        if over is None or over.type != "composite_literal" or not names:
            return None
        kind = field(over, "type")
        is_map = kind is not None and kind.type == "map_type"
        rows = list[tuple[Node | None, Node | None]]()
        for element in field_parts(over, "body"):
            if element.type == "keyed_element":
                key, value = parts(element)[:2]
                rows.append((_element(key) if is_map else None, _element(value)))
            else:
                rows.append((None, _element(element)))
        inner = field(kind, "value" if is_map else "element")
        while inner is not None and inner.type in {"pointer_type", "type_identifier"}:
            if inner.type == "pointer_type":
                inner = parts(inner)[0]
            else:
                inner = self._types.get(text_of(inner))
        return _Rows(
            loop=loop,
            key=names[0] if names[0] != "_" else "",
            value=names[1] if len(names) > 1 else "",
            rows=tuple(rows),
            fields=_fields(inner) if inner is not None and inner.type == "struct_type" else {},
        )

    def _of_package(self, name: str) -> Node | None:
        for node in parts(self._source.root):
            for spec in walk(node, into=_CLOSURES) if node.type.endswith("declaration") else ():
                if spec.type in {"var_spec", "const_spec"} and field_text(spec, "name") == name:
                    return _spec_value(spec)
        return None

    def _literals_of(self, node: Node | None) -> list[Literal]:
        return literals.telling(self._all_literals(node)) if node is not None else []

    def _all_literals(self, node: Node) -> Iterator[Literal]:
        match node.type:
            case "int_literal" | "float_literal":
                if (number := literals.number(node)) is not None:
                    yield number
            case "interpreted_string_literal" | "raw_string_literal":
                yield literals.quoted(node, is_raw=node.type.startswith("raw"))
            case "rune_literal":
                if re.fullmatch(r"'[A-Za-z0-9]'", text_of(node)):
                    yield literals.quoted(node)
            case "true" | "false":
                yield literals.truth(node)
            case "unary_expression":
                if field_text(node, "operator") in {"-", "+", "&", "*"}:
                    yield from self._all_literals(parts(node)[-1])
            case "binary_expression":
                operator = field_text(node, "operator")
                found = [[*self._all_literals(part)] for part in parts(node)]
                # `5 * time.Second` is a constant, `got + 1` is none.
                if (operator in {"+", "-"} and all(found)) or operator == "*":
                    yield from (literal for inner in found for literal in inner)
            case "composite_literal" | "keyed_element" | "type_conversion_expression":
                yield from self._all_literals(parts(node)[-1])
            case "call_expression":
                if self._is_conversion(node) or field_text(node, "function") in _PURE:
                    for argument in _arguments(node):
                        yield from self._all_literals(argument)
            case "parenthesized_expression" | "literal_value" | "literal_element":
                for part in parts(node):
                    yield from self._all_literals(part)
            case _:
                pass

    def _is_conversion(self, call: Node) -> bool:
        name = field_text(call, "function").strip("()*")
        return name in _BASIC or name in self._types

    # How likely it is that right code does not get to a statement, or gets there late.
    def _doubt(self, node: Node, body: Node) -> int:
        doubt = 0
        for around, part in ancestors(node, body):
            match around.type:
                case "if_statement":
                    names = {field(around, n) for n in ("consequence", "alternative")}
                    doubt = max(doubt, UNCERTAIN if part in names else 0)
                case "expression_case" | "type_case" | "default_case" | "communication_case":
                    doubt = max(doubt, UNCERTAIN)
                case "go_statement" | "defer_statement":
                    doubt = max(doubt, UNCERTAIN)
                case "for_statement":
                    is_table = any(t.loop == around and t.rows for t in self._tables(part))
                    doubt = max(doubt, 0 if is_table else 1)
                case "func_literal":
                    call = around.parent.parent if around.parent is not None else None
                    is_run = call is not None and _run_of(call) is not None
                    doubt = max(doubt, 0 if is_run else 2)
                case "block" | "statement_list":
                    before = preceding(part, around)
                    doubt = max(doubt, UNCERTAIN if any(map(_may_leave, before)) else 0)
                case _:
                    pass
        return doubt


def _value(
    literal: Literal,
    site: Comparison,
    doubt: int,
    runs: tuple[_Run, ...],
    table: _Rows | None = None,
    row: int | None = None,
) -> _Value:
    return _Value(value=site.expected(literal, doubt, row), runs=runs, rows=table)


def _name(block: Node) -> str:
    return field_text(block.parent, "name") if block.parent is not None else ""


def _verb(verb: str, text: str) -> str:
    return displayed(text) if verb == "q" else text


def _rewritten(name: str) -> str:
    """The name of a subtest, as Go's package testing rewrites it."""
    spaced = re.sub(r"\s", "_", name)
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in spaced)


def _called(call: Node) -> str:
    """The last name of what a call calls."""
    function = field(call, "function")
    return field_text(function, "field") or text_of(function)


def _arguments(call: Node) -> list[Node]:
    return field_parts(call, "arguments")


def _run_of(node: Node) -> _Run | None:
    if node.type != "call_expression" or _called(node) != "Run":
        return None
    match _arguments(node):
        case [name, literal] if literal.type == "func_literal":
            body = field(literal, "body")
            return _Run(call=node, name=name, body=body) if body is not None else None
        case _:
            return None


def _enclosing_runs(node: Node, body: Node) -> Iterator[_Run]:
    for around, part in ancestors(node, body):
        run = _run_of(around)
        if run is not None and is_within(run.body, part):
            yield run


def _fails(block: Node) -> bool:
    """Whether a block makes the test fail."""
    calls = [node for node in walk(block) if node.type == "call_expression"]
    return any(
        _called(call) in _FAILS | {"panic"} and not text_of(call).startswith("fmt.")
        for call in calls
    )


def _may_leave(statement: Node) -> bool:
    """Whether right code may leave a test, or a round of a loop, by this statement."""
    if statement.type == "if_statement":
        consequence = field(statement, "consequence")
        if consequence is not None and _fails(consequence):
            return False
    leaving = {"return_statement", "continue_statement", "break_statement"}
    if statement.type in {"for_statement", "expression_switch_statement", "select_statement"}:
        leaving = {"return_statement"}
    for node in walk(statement, into=_CLOSURES):
        if node.type in leaving:
            return True
        if node.type == "call_expression" and _called(node) in _SKIPS:
            return True
    return False


def _unwrapped(node: Node) -> Node:
    """An expression without its conversions, `*` and brackets."""
    while True:
        if node.type in {"parenthesized_expression", "unary_expression", "index_expression"}:
            node = parts(node)[0]
        elif node.type == "type_conversion_expression":
            node = parts(node)[-1]
        elif (
            node.type == "call_expression"
            and field_text(node, "function") in {*_BASIC, "errors.New"}
            and len(_arguments(node)) == 1
        ):
            node = _arguments(node)[0]
        else:
            return node


def _element(node: Node) -> Node:
    """The expression of an element of a composite literal."""
    return parts(node)[0] if node.type == "literal_element" and parts(node) else node


def _literal_value(row: Node) -> Node | None:
    if row.type == "unary_expression":
        row = parts(row)[-1]
    return field(row, "body") if row.type == "composite_literal" else row


def _fields(struct: Node) -> dict[str, int]:
    names = [
        text_of(name)
        for one in walk(struct)
        if one.type == "field_declaration"
        for name in one.children_by_field_name("name")
    ]
    return {name: at for at, name in enumerate(names)}


def _parameters(function: Node) -> list[str]:
    return [
        text_of(name)
        for one in field_parts(function, "parameters")
        for name in one.children_by_field_name("name")
    ]


def _declaration(name: str, at: Node) -> Node | None:
    """The value with which the nearest variable of this name is declared before a place."""
    for around, part in ancestors(at):
        if around.type in {"block", "statement_list"}:
            statements = preceding(part, around)
        elif around.type in {"if_statement", "for_statement", "expression_switch_statement"}:
            statements = [one for one in [field(around, "initializer")] if one]
        else:
            continue
        for statement in reversed(statements):
            for node in walk(statement, into=("block", *_CLOSURES)):
                found = _declared_in(node, name)
                if found is not None:
                    return found
    return None


def _declared_in(node: Node, name: str) -> Node | None:
    if node.type == "short_var_declaration":
        left = field_parts(node, "left")
        right = field_parts(node, "right")
        for one, value in zip(left, right, strict=False):
            if text_of(one) == name and len(left) == len(right):
                return value
    elif node.type in {"var_spec", "const_spec"}:
        is_named = field_text(node, "name") == name
        return _spec_value(node) if is_named else None
    return None


def _spec_value(spec: Node) -> Node | None:
    values = field_parts(spec, "value")
    return values[0] if len(values) == 1 else None


def _is_input(name: str, around: Node, site: Node) -> bool:
    """Whether an expression is used otherwise than to compare and to report."""
    for node in walk(around):
        if node.type not in {"identifier", "selector_expression"} or text_of(node) != name:
            continue
        if not _is_compared(node, around, site):
            return True
    return False


def _is_compared(node: Node, end: Node, site: Node) -> bool:
    for around, part in ancestors(node, end):
        match around.type:
            case "binary_expression":
                if field_text(around, "operator") in {"==", "!="}:
                    return True
            case "call_expression" if part.type == "argument_list":
                called = _called(around)
                if around == site or called in _HARMLESS or called.removesuffix("f") in _HARMLESS:
                    return True
                if called not in _BASIC | {"Sprint", "Sprintf"}:
                    return False
            case "short_var_declaration" | "range_clause":
                return part == field(around, "left")
            case "keyed_element" if part == parts(around)[0]:
                return True  # the name of a field
            case "var_spec" | "const_spec":
                return part == field(around, "name")
            case "parameter_list":
                return True
            case "block" | "literal_value":
                return False
            case _:
                pass
    return False


def _tolerance(node: Node) -> Distance:
    number = literals.number(node) if node.type in {"int_literal", "float_literal"} else None
    if number is None or not isinstance(number.value, int | float):
        return FAR
    return Distance(absolute=float(number.value), relative=float(number.value))
