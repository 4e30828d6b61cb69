"""Takes every expected value out of a test file, and keeps the data for comparing on the host."""

import ast
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from msgspec import Struct
from msgspec.structs import replace

from agentbench.integrity.expectation_changes import disguise, parsed_file
from agentbench.integrity.expectation_changes.opaque_ids import opaque_ids
from agentbench.integrity.sealing import names as sealed_names
from agentbench.integrity.sealing.checks import (
    LikeReference,
    Raised,
    Removed,
    SealedCheck,
    Site,
    removed_operands,
    token_places,
)
from agentbench.integrity.sealing.conditions import relaxed
from agentbench.integrity.sealing.expected_texts import (
    ELSEWHERE,
    FOREIGN,
    SHARED,
    ExpectedText,
    given_input,
    telling_text,
    whole_texts,
)
from agentbench.integrity.sealing.levels import Cell, FileNames, LevelReader, NameKey
from agentbench.integrity.sealing.opaque_names import OpaqueNames, opaque_names, rename_definitions
from agentbench.integrity.sealing.rewriting import (
    SealRewriter,
    empty_others,
    texts_by_function,
    written,
)
from agentbench.integrity.sealing.statements import (
    StatementReader,
    caught_names,
    has_assertions,
    recorder_call,
)
from agentbench.python_source import scopes, source_text
from agentbench.python_source.functions import FoundFunction, called_by, is_test, split_id

_UNKNOWN_PARAMETER = "line {}: the values of {} are not in the file"
_NO_ASSERTION = "it has no assertion with an expected value"
_NOT_DEFINED = "the file does not define it"
_OWN_IDS = "its parameters are part of ids that have to stay"


class SealedFunction(Struct, frozen=True, kw_only=True):
    """A test function of a sealed file."""

    name: str  # as in a node id
    tests: tuple[str, ...]  # the listed node ids
    sites: tuple[int, ...]  # the numbers of its own assertions and of its helpers'
    certain: tuple[int, ...]  # the assertions that every passing run reaches
    unsealed: str | None = None  # why the sealed run does not control it


class SealedFile(Struct, frozen=True, kw_only=True):
    """A test file without its expected values, along with these values."""

    source: str
    sites: Mapping[int, Site]
    tokens: Mapping[int, Cell]  # the values that were taken out of tables and variables
    inputs: frozenset[int]  # the tokens whose texts are inputs elsewhere in the file
    names: FileNames
    functions: Mapping[str, SealedFunction]
    renamed: Mapping[str, str]
    """The new node ids of renamed listed tests."""

    def constants(self, owner: str) -> dict[str, ast.expr]:
        """The expressions of the names with a single value, as a function sees them."""
        found: dict[str, ast.expr] = {}
        for (binding, name), cells in self.names.cells.items():
            if binding in ("", owner) and len(cells) == 1 and (binding or name not in found):
                found[name] = cells[0].node
        return found


class SealSettings(Struct, frozen=True, kw_only=True):
    """How to seal a file."""

    relaxed_sites: Collection[int] = ()
    """Numbers of assertions that the host could not evaluate. The code under test evaluates their
    conditions, and the result is recorded."""
    paired_sites: Collection[int] = ()
    """Numbers of assertions that compute both sides of a comparison. The reference solution is
    known to fix the recorded side."""
    keeps_names: bool = False  # whether tests keep their names, which may reveal expected values
    used_names: Collection[str] | None = None
    """The names in other files, if a class there inherits tests; these and class names stay."""
    start: int = 0  # the number before the first assertion and value taken out


def seal_file(
    source: str,
    path: str,
    listed: Iterable[str],
    rng: Random,
    settings: SealSettings | None = None,
) -> SealedFile:
    """Take the expected values out of a test file.

    Args:
        source: The text of the file.
        path: Its path, for messages.
        listed: The node ids that decide; their functions are described.
        rng: Gives random ids to parametrised tests.
        settings: The findings of earlier runs about the file.

    Raises:
        InputError: this interpreter cannot compile the text, or cannot write it again.
    """
    listed, settings = list(listed), settings or SealSettings()
    plain = disguise.without_prose(source_text.parse_source(source, path))
    before = parsed_file.parse_file(plain, path)
    functions = [before.read(one) for one in before.functions.functions.values()]
    ids = opaque_ids(before, functions, listed, rng)
    file = parsed_file.parse_file(source_text.apply_edits(plain, ids.edits), path)
    sealer = _Sealer(file=file, opaque=ids.functions, settings=settings, listed=listed)
    sealer.read()
    sealer.replace_cells()
    selected = file.functions.select(listed)
    names = OpaqueNames(functions={}, classes={})
    if not settings.keeps_names:
        names = opaque_names(file, rng)
    if (used := settings.used_names) is not None:
        kept = {old: new for old, new in names.functions.items() if old not in used}
        names = OpaqueNames(functions=kept, classes={})
    first = written(sealer.transformed(), path)
    tree = source_text.parse_source(first, path).tree  # the host keeps parts of the first one
    empty_others(tree, {name.rpartition("::")[2] for name in selected})
    sealer.compare_with_inputs(tree)
    rename_definitions(tree, names)
    text = written(tree, path)
    return SealedFile(
        source=text + "\n",
        sites=sealer.sites,
        tokens=sealer.tokens,
        inputs=sealer.inputs,
        names=sealer.names,
        functions={name: sealer.described(name, found.tests) for name, found in selected.items()},
        renamed={
            test: new
            for test in listed
            if (new := names.renamed_id(ids.renamed.get(test, test))) != test
        },
    )


@dataclass(slots=True, kw_only=True)
class _Sealer:
    """Reads all functions of a file, then replaces their expected values."""

    file: parsed_file.ParsedFile
    opaque: Collection[str]
    settings: SealSettings
    listed: Sequence[str]
    names: FileNames = field(init=False)
    sites: dict[int, Site] = field(default_factory=dict)
    tokens: dict[int, Cell] = field(default_factory=dict)
    inputs: frozenset[int] = frozenset()
    _dropped: set[int] = field(default_factory=set)  # by id: parts that are not recorded
    _removable: set[NameKey] = field(default_factory=set)
    _texts: dict[int, ExpectedText] = field(default_factory=dict)  # of exceptions and warnings
    _recorded: dict[int, tuple[ast.expr, ...]] = field(default_factory=dict)
    _statements: dict[int, list[int]] = field(default_factory=dict)  # by id of the statement
    _errors: dict[int, tuple[int, list[ast.expr], ast.Call]] = field(default_factory=dict)
    _cells: dict[int, ast.Call] = field(default_factory=dict)  # by id of an expression

    def __post_init__(self) -> None:
        """Read the names."""
        self.names = sealed_names.file_names(self.file, self.opaque, self.settings.used_names or ())

    @property
    def _functions(self) -> Mapping[str, FoundFunction]:
        return self.file.functions.functions

    def read(self) -> None:
        """Find the assertions of all functions."""
        helpers = frozenset(
            one.node.name
            for one in self._functions.values()
            if not is_test(one.node.name) and has_assertions(one.node)
        )
        for name, function in self._functions.items():
            levels = LevelReader(names=self.names, owner=name)
            caught = caught_names(function.node)
            reader = StatementReader(levels=levels, helpers=helpers, caught=caught)
            certain = {
                id(statement)
                for statement, doubt in scopes.statements(function.node.body)
                if not doubt
            }
            for node in (n for s in function.node.body for n in ast.walk(s)):
                if isinstance(node, ast.stmt):
                    self._read_statement(name, node, reader, is_certain=id(node) in certain)
                elif isinstance(node, ast.Call):
                    self._read_error(name, node, reader)
            for decorator in function.node.decorator_list:
                for node in ast.walk(decorator):
                    if isinstance(node, ast.Call) and name in self.opaque:
                        self._read_error(name, node, reader)

    def _read_statement(
        self, owner: str, node: ast.stmt, reader: StatementReader, *, is_certain: bool
    ) -> None:
        found = reader.read(node)
        if found is None:
            return
        numbers = self._statements.setdefault(id(node), [])
        for check in found.checks:
            number = self._add(owner, node, check, is_certain=is_certain, why=found.unsealed)
            numbers.append(number)
        recorded = (root for number in numbers for root in self._recorded[number])
        kept = {id(part) for root in recorded for part in ast.walk(root)}
        self._dropped.update(id(part) for part in ast.walk(node) if id(part) not in kept)

    def _read_error(self, owner: str, node: ast.Call, reader: StatementReader) -> None:
        if (found := reader.expected_error(node)) is not None:
            sealed = SealedCheck(check=found.check)
            number = self._add(owner, node, sealed, is_certain=False, why=None)
            self._errors[id(node)] = number, list(found.tokens), found.rest
        elif (counted := reader.expected_count(node)) is not None:
            number = self._add(owner, node, counted, is_certain=False, why=None)
            self._cells[id(node.args[0])] = recorder_call("count", number)

    def _add(
        self,
        owner: str,
        node: ast.stmt | ast.expr,
        sealed: SealedCheck,
        *,
        is_certain: bool,
        why: str | None,
    ) -> int:
        number = self.settings.start + len(self.sites) + 1
        may_relax, paired = sealed.condition is not None, sealed.paired
        if number in self.settings.paired_sites and paired is not None:
            sealed = paired.check
        if number in self.settings.relaxed_sites:
            sealed = relaxed(sealed)
        text = self.file.source.segment(node)
        if isinstance(node, ast.Assert):  # without its message
            text = f"assert {self.file.source.segment(node.test)}"
        self.sites[number] = Site(
            number=number,
            function=owner,
            line=node.lineno,
            text=text,
            check=sealed.check,
            is_certain=is_certain,
            may_relax=may_relax,
            pair=paired,
            unsealed=why or self._unknown_side(owner, sealed, node.lineno),
        )
        self._recorded[number] = sealed.recorded
        return number

    def _unknown_side(self, owner: str, sealed: SealedCheck, line: int) -> str | None:
        """Why a recorded operand may be an expected value that stays in the test."""
        if isinstance(sealed.check, LikeReference):
            return None
        tokens = token_places(removed_operands(sealed.check))
        for at, node in enumerate(sealed.recorded):
            if at in tokens or not isinstance(node, ast.Name) or len(sealed.recorded) == 1:
                continue
            key = self.names.key(node.id, owner)
            is_parameter = (
                key[0]
                and (key not in self.names.cells or key in self.names.changed)
                and sealed_names.is_parameter(self._functions[key[0]].node, node.id)
            )
            if is_parameter or (not key[0] and node.id in self.names.foreign):
                return _UNKNOWN_PARAMETER.format(line, node.id)
        return None

    def replace_cells(self) -> None:
        """Remove the values of names, and find the assertions whose values have to stay."""
        uses = sealed_names.name_uses(self.file.source.tree, self._functions)
        removed = [one.node for site in self.sites.values() for one in site.removed]
        gone = self._dropped.union(id(node) for root in removed for node in ast.walk(root))
        removable = self._removable = sealed_names.removable_names(self.names, uses, gone)
        for key in sorted(removable):  # sorted, since other runs must have equal token numbers
            for cell in self.names.cells[key]:
                if id(cell.node) not in self._cells:
                    number = self.settings.start + len(self.tokens) + 1
                    length = sealed_names.length_of(cell.node)
                    sized = (length,) if length is not None and self.names.measured[key] else ()
                    self._cells[id(cell.node)] = recorder_call("token", number, *sized)
                    self.tokens[number] = cell
        for number, site in self.sites.items():
            why = site.unsealed or self._shared(site, removable)
            self.sites[number] = replace(site, unsealed=why)

    def _shared(self, site: Site, removable: Collection[NameKey]) -> str | None:
        scope = self.names.functions[site.function]
        origins: set[str] = set()
        tokens = token_places(site.removed)
        for at, node in enumerate(self._recorded[site.number]):
            if at not in tokens and not (
                isinstance(node, ast.Name) and self.names.key(node.id, site.function) in removable
            ):
                origins |= scope.origins(node)
        if isinstance(site.check, Raised) and isinstance(site.check.pattern, Removed):
            text = ExpectedText(names=self.names, removable=removable)
            text.add(site.check.pattern.node, site.function)
            self._texts[site.number] = text
            if why := text.unsealed(site.line):
                return why
            origins.update(scopes.names_in(site.check.pattern.node))
        for one in site.removed:
            for name in (n.id for n in ast.walk(one.node) if isinstance(n, ast.Name)):
                key = self.names.key(name, site.function)
                if not key[0] and name in self.names.foreign:
                    return FOREIGN.format(site.line)
                is_given = name in origins and key not in self.names.changed
                stays = key in self.names.cells and key not in removable and not is_given
                if stays and not self.names.is_inert(key):
                    return SHARED.format(site.line)
        return None

    def compare_with_inputs(self, tree: ast.Module) -> None:
        """Find the assertions whose expected texts are in other functions of the sealed tree."""
        texts = texts_by_function(tree)
        known = set().union(*texts.values())
        self.inputs = frozenset(n for n, c in self.tokens.items() if telling_text(c.node) in known)
        for number, site in self.sites.items():
            if site.unsealed is None:
                own = texts.get(site.function, set())
                others = set().union(*(found for name, found in texts.items() if found is not own))
                expected, parts = {*whole_texts(site, self.names)}, []
                if text := self._texts.get(number):
                    parts = [part for part in text.telling if part not in expected]
                    given = {*text.inserted}
                    expected = expected - given if parts else expected | given
                is_part = any(part in text for text in own | others for part in parts)
                if is_part or any(text in others and text not in own for text in expected):
                    self.sites[number] = replace(site, unsealed=ELSEWHERE.format(site.line))

    def transformed(self) -> ast.Module:
        """The tree of the sealed file."""
        rewriter = SealRewriter(
            statements=self._statements,
            errors=self._errors,
            cells=self._cells,
            recorded=self._recorded,
        )
        tree = rewriter.visit(self.file.source.tree)
        assert isinstance(tree, ast.Module)
        return tree

    def described(self, name: str, tests: tuple[str, ...]) -> SealedFunction:
        """A function's assertions, with those of the helpers that it calls."""
        function = self._functions.get(name)
        if function is None:
            return SealedFunction(
                name=name, tests=tests, sites=(), certain=(), unsealed=_NOT_DEFINED
            )
        owners = called_by(name, self._functions)
        sites = [site for site in self.sites.values() if site.function in owners]
        why = next(
            (site.unsealed for site in sites if site.unsealed),
            given_input(owners, self.names, self._removable),
        )
        if not sites:
            why = _NO_ASSERTION
        elif any(split_id(test)[1] for test in tests) and name not in self.opaque and why is None:
            ids = _StayingIds(function=name, node=function.node, listed=self.listed)
            scope_of = self.names.functions
            may_tell = ids.may_tell(tests) or any(
                ids.reach(site, self._recorded[site.number], scope_of[site.function])
                for site in sites
            )
            why = _OWN_IDS if may_tell else None
        certain = (s.number for s in sites if s.is_certain and s.function == name)
        return SealedFunction(
            name=name,
            tests=tests,
            sites=tuple(site.number for site in sites),
            certain=tuple(certain),
            unsealed=why,
        )


class _StayingIds(Struct, frozen=True, kw_only=True):
    """The ids of one test function, and of the other test functions of its file."""

    function: str  # as in a node id
    node: scopes.FunctionNode
    listed: Sequence[str]  # the node ids of all deciding tests of the file

    @property
    def _parameters(self) -> set[str]:
        arguments = self.node.args
        every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
        return {one.arg for one in every}

    def may_tell(self, tests: Iterable[str]) -> bool:
        """Whether the ids of tests have parts that may have been chosen to name expected values.

        Parts that the ids of another function have, too, come from a common fixture. pytest creates
        other parts from a literal that the test gets as an input, or from a parameter's name.
        """
        nodes = [node for one in self.node.decorator_list for node in ast.walk(one)]
        if any(isinstance(node, ast.keyword) and node.arg in ("id", "ids") for node in nodes):
            return True
        texts = [str(node.value) for node in nodes if isinstance(node, ast.Constant)]
        others = (one for one in self.listed if split_id(one)[0] != self.function)
        common = {p for one in others for p in _parts(one) if not any(map(str.isdigit, p))}
        return not all(
            part in common
            or part.rstrip("0123456789") in self._parameters
            or any(part in text for text in texts)
            for one in tests
            for part in _parts(one)
        )

    def reach(self, site: Site, recorded: Sequence[ast.expr], scope: scopes.NameScope) -> bool:
        """Whether the expected value of an assertion, or a whole recorded value, is a parameter."""
        if site.function != self.function:
            return True  # a helper may get them under other names
        parameters = self._parameters
        if any(parameters & scope.origins(one.node) for one in site.removed):
            return True
        is_like = isinstance(site.check, LikeReference)
        whole = [one for one in recorded if is_like or isinstance(one, ast.Name)]
        return any(parameters & set(scopes.names_in(one)) for one in whole)


def _parts(test: str) -> list[str]:
    return (split_id(test)[1] or "").split("-")
