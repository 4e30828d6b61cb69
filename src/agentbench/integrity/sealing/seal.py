"""Takes every expected value out of a test file, and keeps the data for comparing on the host."""

import ast
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random

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
from agentbench.integrity.sealing.conditions import ConditionReader, relaxed
from agentbench.integrity.sealing.decisions import comparing_line, deciding_line
from agentbench.integrity.sealing.expected_texts import (
    ELSEWHERE,
    FOREIGN,
    SHARED,
    ExpectedText,
    given_input,
    telling_form,
    whole_values,
)
from agentbench.integrity.sealing.levels import Cell, FileNames, LevelReader, NameKey
from agentbench.integrity.sealing.observation import Observation, observe
from agentbench.integrity.sealing.opaque_names import OpaqueNames, opaque_names, rename_definitions
from agentbench.integrity.sealing.rewriting import (
    NodeReplacer,
    constants_in,
    empty_others,
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
from agentbench.python_source.python_syntax import name_of, root_of, variables_in
from agentbench.python_source.scopes import RAISING, own_nodes

_UNKNOWN_PARAMETER = "line {}: the values of {} are not in the file"
_NO_ASSERTION = "it has no assertion with an expected value"
_NOT_DEFINED = "the file does not define it"
_READS = frozenset(["getenv", "open", "read_bytes", "read_text"])
_DECIDES = "line {}: the test itself decides that it fails"
_COMPARED = "line {}: code of another file, or of a text, may compare a value"
_OWN_IDS = "its parameters are part of ids that have to stay"


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedFunction:
    """A test function of a sealed file."""

    name: str  # as in a node id
    tests: tuple[str, ...]  # the listed node ids
    sites: tuple[int, ...]  # the numbers of its own assertions and of its helpers'
    certain: tuple[int, ...]  # the assertions that every passing run reaches
    unsealed: str | None = None  # why the sealed run does not control it


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedFile:
    """A test file without its expected values, along with these values."""

    source: str
    sites: Mapping[int, Site]
    tokens: Mapping[int, Cell]  # the values that were taken out of tables and variables
    inputs: frozenset[int]  # the tokens whose texts are inputs elsewhere in the file
    observed: Mapping[int, Observation]  # in the observing form
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


@dataclass(frozen=True, slots=True, kw_only=True)
class SealSettings:
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
    modules: Collection[str] = ()  # of the files of tests
    observes: bool = False  # whether the tests record what their expressions give
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
    """
    listed, settings = list(listed), settings or SealSettings()
    # Comments, docstrings and messages may name expected values.
    plain = disguise.without_prose(source_text.parse_source(source, path))
    before = parsed_file.parse_file(plain, path)
    functions = [before.read(one) for one in before.functions.functions.values()]
    ids = opaque_ids(before, functions, listed, rng)
    file = parsed_file.parse_file(source_text.apply_edits(plain, ids.edits), path)
    sealer = _Sealer(
        file=file,
        functions=file.functions.functions,
        opaque=ids.functions,
        settings=settings,
        listed=listed,
        names=sealed_names.file_names(
            file, ids.functions, settings.used_names or (), settings.modules
        ),
    )
    sealer.read()
    sealer.replace_cells()
    selected = file.functions.select(listed)
    names = OpaqueNames(functions={}, classes={})
    # A test's name may tell what it expects, as in `test_the_sum_is_61`.
    if not settings.keeps_names:
        names = opaque_names(file, rng)
    if (used := settings.used_names) is not None:
        kept = {old: new for old, new in names.functions.items() if old not in used}
        names = OpaqueNames(functions=kept, classes={})
    transformed = sealer.transformed()
    observed = observe(transformed, sealer.names, settings.start) if settings.observes else {}
    first = written(transformed, path)
    tree = source_text.parse_source(first, path).tree  # the host keeps parts of the first one
    # A test that does not decide could show a value that another one expects.
    empty_others(tree, {name.rpartition("::")[2] for name in selected})
    sealer.compare_with_inputs(tree)
    rename_definitions(tree, names)
    text = written(tree, path)
    return SealedFile(
        source=text + "\n",
        sites=sealer.sites,
        tokens=sealer.tokens,
        inputs=sealer.inputs,
        observed=observed,
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
    functions: Mapping[str, FoundFunction]
    settings: SealSettings
    listed: Sequence[str]
    names: FileNames
    sites: dict[int, Site] = field(default_factory=dict)
    tokens: dict[int, Cell] = field(default_factory=dict)
    inputs: frozenset[int] = frozenset()
    _dropped: set[int] = field(default_factory=set)  # by id: parts that are not recorded
    _removable: set[NameKey] = field(default_factory=set)
    _texts: dict[int, ExpectedText] = field(default_factory=dict)  # of exceptions and warnings
    _recorded: dict[int, tuple[ast.expr, ...]] = field(default_factory=dict)
    _replaced: dict[int, ast.AST] = field(default_factory=dict)  # statements and errors, by id
    _cells: dict[int, ast.AST] = field(default_factory=dict)  # expected values, by id

    def read(self) -> None:
        helpers = frozenset(
            one.node.name
            for one in self.functions.values()
            if not is_test(one.node.name) and has_assertions(one.node)
        )
        for name, function in self.functions.items():
            conditions = ConditionReader(levels=LevelReader(names=self.names, owner=name))
            caught = caught_names(function.node)
            reader = StatementReader(conditions=conditions, helpers=helpers, caught=caught)
            # A passing test may never reach an assertion under an `if`: its lack proves nothing.
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
        calls: list[ast.expr] = []
        kept: set[int] = set()
        for check in found.checks:
            number = self._add(owner, node, check, is_certain=is_certain, why=found.unsealed)
            recorded = self._recorded[number]
            calls.append(recorder_call("value", number, *recorded))
            kept.update(id(part) for root in recorded for part in ast.walk(root))
        self._dropped.update(id(part) for part in ast.walk(node) if id(part) not in kept)
        new: ast.stmt = ast.Pass()  # of an assertion of a constant
        if calls:
            new = ast.Expr(calls[0] if len(calls) == 1 else ast.Tuple(calls, ast.Load()))
        self._replaced[id(node)] = ast.copy_location(new, node)

    def _read_error(self, owner: str, node: ast.Call, reader: StatementReader) -> None:
        if (found := reader.expected_error(node)) is not None:
            sealed = SealedCheck(check=found.check)
            number = self._add(owner, node, sealed, is_certain=False, why=None)
            kind = "raises" if name_of(node.func) in RAISING else "warns"
            call = recorder_call(kind, number, *found.arguments)
            call.keywords += found.keywords
            if found.tokens:
                tokens = ast.Tuple(found.tokens, ast.Load())
                call.keywords.append(ast.keyword(arg="sealed", value=tokens))
            self._replaced[id(node)] = call
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

    # Why a recorded operand may be an expected value that stays in the test.
    def _unknown_side(self, owner: str, sealed: SealedCheck, line: int) -> str | None:
        calls = [n for root in sealed.recorded for n in ast.walk(root) if isinstance(n, ast.Call)]
        if any(root_of(call) == "filecmp" for call in calls):  # it gets no value, but files
            return FOREIGN.format(line)
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
                and sealed_names.is_parameter(self.functions[key[0]].node, node.id)
            )
            if is_parameter or (not key[0] and node.id in self.names.foreign):
                return _UNKNOWN_PARAMETER.format(line, node.id)
        return None

    def replace_cells(self) -> None:
        """Remove the values of names, and find the assertions whose values have to stay."""
        uses = sealed_names.name_uses(self.file.source.tree, self.functions)
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
        if any(self._names_code_of_file(one.node, site.function) for one in site.removed):
            return SHARED.format(site.line)
        for one in site.removed:
            for name in variables_in(one.node):
                key = self.names.key(name, site.function)
                if not key[0] and name in self.names.foreign:
                    return FOREIGN.format(site.line)
                is_given = name in origins and key not in self.names.changed
                stays = key in self.names.cells and key not in removable and not is_given
                if stays and not self.names.is_inert(key):
                    return SHARED.format(site.line)
        return None

    # Whether an expected value comes from a function or a class of the file, or from a file. They
    # stay in the sealed file, and data files beside the test stay in the sandbox.
    def _names_code_of_file(self, node: ast.expr, owner: str) -> bool:
        functions = {one.node.name for one in self.functions.values() if not one.is_method}
        inner = ast.walk(self.functions[owner].node)
        nested = {one.name for one in inner if isinstance(one, ast.FunctionDef)}
        for part in ast.walk(node):
            if not isinstance(part, ast.Call | ast.Attribute):
                continue
            name = root_of(part)
            is_global = not self.names.key(name, owner)[0]
            if isinstance(part, ast.Attribute):
                if part.attr == "environ" or (is_global and name in self.names.classes):
                    return True
            elif (
                name_of(part.func) in _READS
                or name in nested
                or (is_global and (name in functions or f"{name}::__eq__" in self.functions))
            ):
                return True
        return False

    def compare_with_inputs(self, tree: ast.Module) -> None:
        """Find the assertions whose expected values are in other functions of the sealed tree."""
        known = constants_in(tree)
        self.inputs = frozenset(n for n, c in self.tokens.items() if telling_form(c.node) in known)
        for number, site in self.sites.items():
            if site.unsealed is None:
                own = self._flowing(site)
                expected, parts = {*whole_values(site, self.names)}, []
                if text := self._texts.get(number):
                    parts = [part for part in text.telling if part not in expected]
                    given = {*text.inserted}
                    expected = expected - given if parts else expected | given
                is_part = any(part in text for text in known for part in parts)
                if is_part or not known.isdisjoint(expected - own):
                    self.sites[number] = replace(site, unsealed=ELSEWHERE.format(site.line))

    # The constants from which the recorded values of an assertion may come. Another assertion most
    # likely only reads, and a later statement comes too late.
    def _flowing(self, site: Site) -> set[str]:
        scope, nodes = self.names.functions[site.function], self._recorded[site.number]
        names = {name for node in nodes for name in scope.origins(node) if name in scope.bound}
        statements = own_nodes(self.functions[site.function].node.body)
        before = [
            part
            for node in statements
            if isinstance(node, ast.stmt) and not isinstance(node, ast.Assert)
            if node.lineno < site.line and not names.isdisjoint(scopes.names_in(node))
            for part in ast.iter_child_nodes(node)
            if not isinstance(part, ast.stmt)
        ]
        parts = (part for root in (*nodes, *before) for part in ast.walk(root))
        return {form for part in parts if (form := telling_form(part)) is not None}

    def transformed(self) -> ast.Module:
        tree = NodeReplacer(self._replaced | self._cells).visit(self.file.source.tree)
        assert isinstance(tree, ast.Module)
        return tree

    def described(self, name: str, tests: tuple[str, ...]) -> SealedFunction:
        """A function's assertions, with those of the helpers that it calls."""
        function = self.functions.get(name)
        if function is None:
            return SealedFunction(
                name=name, tests=tests, sites=(), certain=(), unsealed=_NOT_DEFINED
            )
        owners = called_by(name, self.functions)
        sites = [site for site in self.sites.values() if site.function in owners]
        why = next(
            (site.unsealed for site in sites if site.unsealed),
            given_input(owners, self.names, self._removable),
        )
        own = {one.node.name for one in self.functions.values()}
        for owner in sorted(owners):  # they are rewritten already
            node = self.functions[owner].node
            line = deciding_line(node.body)
            why = why or (None if line is None else _DECIDES.format(line))
            line = comparing_line(node, self.names.foreign, own)
            why = why or (None if line is None else _COMPARED.format(line))
        if not sites:
            why = _NO_ASSERTION
        elif any(split_id(test)[1] for test in tests) and name not in self.opaque and why is None:
            parameters = _parameters(function.node)
            others = (one for one in self.listed if split_id(one)[0] != name)
            may_tell = _ids_may_tell(function.node, tests, others) or any(
                # A helper may get the parameters under other names.
                site.function != name or self._reached_by(parameters, site)
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

    # Whether the expected value of an assertion, or a whole recorded value, is a parameter.
    def _reached_by(self, parameters: set[str], site: Site) -> bool:
        scope = self.names.functions[site.function]
        is_like = isinstance(site.check, LikeReference)
        recorded = self._recorded[site.number]
        whole = [one for one in recorded if is_like or isinstance(one, ast.Name)]
        return any(parameters & scope.origins(one.node) for one in site.removed) or any(
            parameters.intersection(scopes.names_in(one)) for one in whole
        )


def _parameters(function: scopes.FunctionNode) -> set[str]:
    arguments = function.args
    every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    return {one.arg for one in every}


# Whether the ids of tests have parts that may have been chosen to name expected values. Parts that
# the ids of another function have, too, come from a common fixture. pytest creates other parts from
# a literal that the test gets as an input, or from a parameter's name.
def _ids_may_tell(
    function: scopes.FunctionNode, tests: Iterable[str], others: Iterable[str]
) -> bool:
    nodes = [node for one in function.decorator_list for node in ast.walk(one)]
    if any(isinstance(node, ast.keyword) and node.arg in ("id", "ids") for node in nodes):
        return True
    texts = [str(node.value) for node in nodes if isinstance(node, ast.Constant)]
    common = {p for one in others for p in _parts(one) if not any(map(str.isdigit, p))}
    parameters = _parameters(function)
    return not all(
        part in common
        or part.rstrip("0123456789") in parameters
        or any(part in text for text in texts)
        for one in tests
        for part in _parts(one)
    )


def _parts(test: str) -> list[str]:
    return (split_id(test)[1] or "").split("-")
