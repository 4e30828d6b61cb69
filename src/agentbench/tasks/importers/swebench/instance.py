"""One instance of SWE-bench or of a relative of it, checked field by field.

The relatives differ little: SWE-rebench adds `install_config` and `docker_image`, SWE-bench 5 adds
`image`, `log_parser` and `eval_type`, SWE-Gym leaves fields out. SWE-smith is another matter: its
`patch` makes the bug, and it has neither a test patch nor a commit.
"""

import json
import re
from collections.abc import Mapping
from typing import Annotated

from pydantic import (
    AfterValidator,
    AliasChoices,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
)

from agentbench.schema import Schema
from agentbench.tasks.importers.refusal import Refusal
from agentbench.tasks.importers.swebench.instance_id import task_id_of
from agentbench.tasks.importers.swebench.rows import Row
from agentbench.tasks.task_fault import describe_fault
from agentbench.tasks.task_file import is_task_id

_REPO = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*/(?!\.{1,2}$)[A-Za-z0-9._][A-Za-z0-9._-]*")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_SMITH = "swesmith/"
_LONGEST_ID = 100


def _plain(text: str) -> str:
    if "\0" in text:
        raise ValueError("bears a NUL, which no file of a task may")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("bears half of a surrogate pair, which is no text") from None
    return text


def _instance_id(text: str) -> str:
    if not is_task_id(task_id_of(text)):
        raise ValueError("makes no id of a task; expected it to begin with a letter or digit")
    return text


def _some(names: tuple[str, ...]) -> tuple[str, ...]:
    if not names:
        raise ValueError("expected the name of a test at least, found none")
    return names


def _repo(name: str) -> str:
    if not _REPO.fullmatch(name):
        raise ValueError("is no owner/name")
    return name


def _commit(commit: str) -> str:
    if not _COMMIT.fullmatch(commit):
        raise ValueError("is no full hash of 40 hex digits")
    return commit


def _from_json(value: object) -> object:
    """A value that some of the data sets hold as its JSON text."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"is no JSON: {error}") from None


def _list_or_text(value: object) -> object:
    found = _from_json(value)
    if not isinstance(found, list | tuple):
        raise ValueError(  # noqa: TRY004 - pydantic takes these for faults of the value
            f"expected a list of names, or one as JSON text, found {type(found).__name__}"
        )
    return tuple(found)


def _empty_for_none(value: object) -> object:
    return "" if value is None else value


Text = Annotated[str, AfterValidator(_plain)]
OptionalText = Annotated[Text, BeforeValidator(_empty_for_none)]
Filled = Annotated[str, Field(min_length=1), AfterValidator(_plain)]
Names = Annotated[tuple[Filled, ...], BeforeValidator(_list_or_text)]


class InstallConfig(Schema):
    """How SWE-rebench sets an instance up; other keys of it are for its own harness."""

    model_config = ConfigDict(extra="ignore")

    python: OptionalText = ""
    pre_install: tuple[Text, ...] | None = None
    install: OptionalText = ""
    pip_packages: tuple[Text, ...] | None = None
    test_cmd: OptionalText = ""


class Instance(Schema):
    """The fields that a task is made of; whatever else a row has is passed over."""

    model_config = ConfigDict(extra="ignore")

    instance_id: Annotated[
        str,
        Field(min_length=1, max_length=_LONGEST_ID),
        AfterValidator(_plain),
        AfterValidator(_instance_id),
    ]
    repo: Annotated[str, AfterValidator(_repo)]
    base_commit: Annotated[str, AfterValidator(_commit)] | None = None
    patch: Filled
    test_patch: Text | None = None
    problem_statement: OptionalText = ""
    version: OptionalText = ""
    fail_to_pass: Annotated[
        Names,
        AfterValidator(_some),
        Field(validation_alias=AliasChoices("FAIL_TO_PASS", "fail_to_pass")),
    ]
    pass_to_pass: Annotated[
        Names,
        Field(validation_alias=AliasChoices("PASS_TO_PASS", "pass_to_pass")),
    ]
    image: OptionalText = ""
    image_name: OptionalText = ""
    docker_image: OptionalText = ""
    install_config: Annotated[InstallConfig | None, BeforeValidator(_from_json)] = None
    log_parser: OptionalText = ""
    language: Annotated[
        OptionalText, Field(validation_alias=AliasChoices("language", "repo_language"))
    ] = ""

    @property
    def own_image(self) -> str:
        """The image that the data set names; SWE-bench, SWE-smith and SWE-rebench differ in how."""
        return self.image or self.image_name or self.docker_image

    @property
    def makes_the_bug(self) -> bool:
        """Whether `patch` is the bug and not its fix, as in SWE-smith."""
        return self.repo.startswith(_SMITH) and not self.test_patch


def parse_instance(row: Row) -> Instance | tuple[Refusal, ...]:
    """An instance, or all that is wrong with it."""
    try:
        instance = Instance.model_validate(row.value)
    except ValidationError as error:
        faults = (describe_fault(each, Instance) for each in error.errors())
        return tuple(_refusal(row, fault) for fault in faults)
    lacking = [] if instance.makes_the_bug else _lacking(instance)
    return tuple(_refusal(row, f"{name}: is missing") for name in lacking) or instance


def name_of(value: Mapping[str, object]) -> str:
    """What a row calls itself, if that is a name at all."""
    name = value.get("instance_id")
    return name[:_LONGEST_ID] if isinstance(name, str) else ""


def _lacking(instance: Instance) -> list[str]:
    fields = (
        ("base_commit", instance.base_commit),
        ("test_patch", instance.test_patch),
        ("problem_statement", instance.problem_statement.strip()),
    )
    return [name for name, value in fields if not value]


def _refusal(row: Row, fault: str) -> Refusal:
    field, _, what = fault.partition(": ")
    return Refusal(where=row.where, instance=name_of(row.value), field=field, what=what)
