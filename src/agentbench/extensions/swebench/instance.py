"""One instance of SWE-bench or of a related data set, checked field by field.

SWE-smith differs most: its `patch` creates the bug, and it has neither a test patch nor a commit.

SWE-bench's log parsers cut a node id at its first blank and shorten some parameters that are paths,
and sympy's runner prints functions without a file. Such names are resolved by running the tests and
changing each id in the same way.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Annotated

import pydantic

from agentbench.core.display_text import list_with_more
from agentbench.core.schema import Schema
from agentbench.extensions.swebench import dialects
from agentbench.extensions.swebench.install_config import (
    Commands,
    InstallConfig,
    OptionalText,
    Text,
)
from agentbench.importers.task_folders import validation_rejections
from agentbench.scoring.evidence import NodeId
from agentbench.tasks.dataset_rows import DatasetRow, Rejection, task_id_of
from agentbench.tasks.task_file import ListedId, is_task_id

_LISTED_ID: pydantic.TypeAdapter[NodeId] = pydantic.TypeAdapter(ListedId)
_PYTHON = frozenset({"", "python", "py"})
_FUNCTION = re.compile(r"[A-Za-z_]\w*")
_UNITTEST = re.compile(r"\S+ \([\w.]+\)")
_PATH_PARAMETER = re.compile(r"(.*?)\[(/[^/*].*/)([^/]*)\]")
_REPO = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*/(?!\.{1,2}$)[A-Za-z0-9._][A-Za-z0-9._-]*")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_SWESMITH_PREFIX = "swesmith/"
_MAX_ID_LENGTH = 100
_LIVE_IMAGE = "starryzhang/sweb.eval.x86_64."
_REBENCH_V2_IMAGES = "swerebenchv2/"


class NameKind(StrEnum):
    """The kinds of test names."""

    NODE_ID = "node id"
    CUT = "cut"  # an id that is cut at its first blank, or has a shortened parameter
    FUNCTION = "function"  # without file and class
    UNITTEST = "unittest"  # in unittest's form: "test_a (module.Case)"
    OTHER = "other"  # a log line that a parser took for a test


def name_kind(name: str) -> NameKind:
    """The kind of a name in FAIL_TO_PASS or PASS_TO_PASS."""
    if "::" in name:
        whole = name.count("[") <= name.count("]") and "[/" not in name
        try:
            _LISTED_ID.validate_python(name)
        except pydantic.ValidationError:
            whole = False
        return NameKind.NODE_ID if whole else NameKind.CUT
    if _FUNCTION.fullmatch(name):
        return NameKind.FUNCTION
    return NameKind.UNITTEST if _UNITTEST.fullmatch(name) else NameKind.OTHER


def are_node_ids(names: Iterable[str]) -> bool:
    """Whether a task can list all names unchanged."""
    return all(name_kind(name) is NameKind.NODE_ID for name in names)


def matching_node_ids(name: str, node_ids: Sequence[NodeId]) -> tuple[NodeId, ...]:
    """The node ids that a name may mean; only itself if it is one of them."""
    if name in node_ids:
        return (NodeId(name),)
    if name_kind(name) is NameKind.FUNCTION:
        return tuple(n for n in node_ids if n.partition("[")[0].rpartition("::")[2] == name)
    found: list[NodeId] = []
    for node_id in node_ids:
        # SWE-bench's log parsers change the names of tests.
        forms = {node_id, _PATH_PARAMETER.sub(r"\1[/\3]", node_id)}
        if name in forms | {form.split(maxsplit=1)[0] for form in forms}:
            found.append(node_id)
    return tuple(found)


def _instance_id(text: str) -> str:
    if not is_task_id(task_id_of(text)):
        raise ValueError("is not valid as a task id; expected it to begin with a letter or digit")
    return text


def _check_not_empty(names: tuple[str, ...]) -> tuple[str, ...]:
    if not names:
        raise ValueError("expected the name of at least one test, found none")
    return names


def _matching(pattern: re.Pattern[str], complaint: str) -> pydantic.AfterValidator:
    def check(text: str) -> str:
        if not pattern.fullmatch(text):
            raise ValueError(complaint)
        return text

    return pydantic.AfterValidator(check)


Filled = Annotated[
    str, pydantic.Field(min_length=1), pydantic.AfterValidator(dialects.checked_text)
]
Names = Annotated[tuple[Filled, ...], pydantic.BeforeValidator(dialects.names_of)]


class SwebenchInstance(Schema):
    """The fields that a task needs; other fields of a row are ignored."""

    model_config = pydantic.ConfigDict(extra="ignore")

    instance_id: Annotated[
        str,
        pydantic.Field(min_length=1, max_length=_MAX_ID_LENGTH),
        pydantic.AfterValidator(dialects.checked_text),
        pydantic.AfterValidator(_instance_id),
    ]
    repo: Annotated[str, _matching(_REPO, "is not an owner/name")]
    base_commit: (
        Annotated[str, _matching(_COMMIT, "is not a full hash of 40 hex digits")] | None
    ) = None
    patch: Annotated[Filled, pydantic.BeforeValidator(dialects.patch_text)]
    test_patch: Annotated[Text | None, pydantic.BeforeValidator(dialects.patch_text)] = None
    problem_statement: OptionalText = ""
    version: Annotated[Text, pydantic.BeforeValidator(dialects.text_of)] = ""
    fail_to_pass: Annotated[
        Names,
        pydantic.AfterValidator(_check_not_empty),
        pydantic.Field(validation_alias=pydantic.AliasChoices("FAIL_TO_PASS", "fail_to_pass")),
    ]
    pass_to_pass: Annotated[
        Names,
        pydantic.Field(validation_alias=pydantic.AliasChoices("PASS_TO_PASS", "pass_to_pass")),
    ]
    image: OptionalText = ""
    image_name: OptionalText = ""
    docker_image: OptionalText = ""
    install_config: Annotated[
        InstallConfig | None,
        pydantic.BeforeValidator(lambda value: dialects.from_json(None if value == "" else value)),
    ] = None
    requirements: OptionalText = ""  # SWE-rebench: the frozen requirements of its image
    test_cmds: Commands = ()  # SWE-bench-Live
    log_parser: OptionalText = ""
    language: Annotated[
        OptionalText,
        pydantic.Field(validation_alias=pydantic.AliasChoices("language", "repo_language")),
    ] = ""

    @property
    def own_image(self) -> str:
        """The image that the data set names, or that SWE-bench-Live has for each instance."""
        named = self.image or self.image_name or self.docker_image
        if named or not self.test_cmds:
            return named
        return _LIVE_IMAGE + self.instance_id.lower().replace("__", "_1776_")

    @property
    def image_folder(self) -> str:
        """The folder of the repository in that image."""
        is_v2 = _REBENCH_V2_IMAGES in self.own_image
        return f"/{self.repo.rpartition('/')[2]}" if is_v2 else "/testbed"

    @property
    def makes_the_bug(self) -> bool:
        """Whether `patch` creates the bug, as in SWE-smith, instead of fixing it."""
        return self.repo.startswith(_SWESMITH_PREFIX) and not self.test_patch


def language_of(instance: SwebenchInstance) -> str:
    """Another language than Python, by the row or by the files of its patches; empty: none."""
    if instance.language.lower() not in _PYTHON:
        return repr(instance.language)
    suffixes = dialects.foreign_suffixes(
        {
            "patch": instance.patch,
            "test_patch": instance.test_patch,
            "FAIL_TO_PASS": instance.fail_to_pass,
        }
    )
    return f"its patches touch only {list_with_more(suffixes, 5)} files" if suffixes else ""


def parse_instance(row: DatasetRow) -> SwebenchInstance | tuple[Rejection, ...]:
    """The instance in a row, or all of the row's faults."""
    name = instance_name(row.value)
    if foreign := dialects.foreign_row(row.value):
        field, what = foreign
        return (Rejection(where=row.where, instance=name, field=field, what=what),)
    try:
        instance = SwebenchInstance.model_validate(row.value)
    except pydantic.ValidationError as error:
        faults = validation_rejections(error, SwebenchInstance, where=row.where, instance=name)
        # One for each field: all names in a list can be wrong.
        return tuple({each.field.partition(".")[0]: each for each in reversed(faults)}.values())[
            ::-1
        ]
    required = {
        "base_commit": instance.base_commit,
        "test_patch": instance.test_patch,
        "problem_statement": instance.problem_statement.strip(),
    }
    missing = tuple(
        Rejection(where=row.where, instance=name, field=key, what="is missing")
        for key, value in required.items()
        if not value
    )
    return instance if instance.makes_the_bug or not missing else missing


def instance_name(value: Mapping[str, object]) -> str:
    """The instance id of a row, if it is valid."""
    name = value.get("instance_id")
    return name[:_MAX_ID_LENGTH] if isinstance(name, str) else ""
