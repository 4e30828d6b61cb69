"""The set-up in SWE-rebench's rows: `install_config` and the frozen `requirements`."""

import re
import shlex
from typing import Annotated

import pydantic

from agentbench.core.schema import Schema
from agentbench.extensions.swebench import dialects

# No local versions, which no index has.
_PIN = re.compile(r"[A-Za-z0-9][\w.-]*==[\w.!]+")
_PATCH_RELEASE = re.compile(r"(3\.\d+)\.\d+")
_CONDA_FILE = "environment.yml"
_DEFAULT_REQUIREMENTS = "requirements.txt"


def _joined(value: object) -> object:
    """A command, or a list of commands as one."""
    commands = dialects.commands_of(value)
    if not isinstance(commands, list | tuple):
        return value
    texts = [each for each in commands if isinstance(each, str)]
    return " && ".join(texts) if len(texts) == len(commands) else value


def _words(value: object) -> object:
    """Requirements or files: a list, its JSON text, a text of words, or null."""
    is_list = not isinstance(value, str) or value.lstrip().startswith("[")
    return dialects.commands_of(value) if is_list else tuple(str(value).split())


def _major_minor(value: object) -> object:
    """A version of Python without its patch release; numbers are refused, since 3.10 is 3.1."""
    return _PATCH_RELEASE.sub(r"\1", value) if isinstance(value, str) else value


def _variables(value: object) -> object:
    found = dialects.from_json(value) or {}
    return {k: dialects.text_of(v) for k, v in found.items()} if isinstance(found, dict) else found


Text = Annotated[str, pydantic.AfterValidator(dialects.checked_text)]
OptionalText = Annotated[
    Text, pydantic.BeforeValidator(lambda value: "" if value is None else value)
]
Words = Annotated[tuple[Text, ...], pydantic.BeforeValidator(_words)]
Commands = Annotated[tuple[Text, ...], pydantic.BeforeValidator(dialects.commands_of)]


class InstallConfig(Schema):
    """The set-up of an instance, without keys for SWE-rebench's own harness."""

    model_config = pydantic.ConfigDict(extra="ignore")

    python: Annotated[OptionalText, pydantic.BeforeValidator(_major_minor)] = ""
    pre_install: Commands = ()
    install: Annotated[Text, pydantic.BeforeValidator(_joined)] = ""
    packages: Annotated[Text, pydantic.BeforeValidator(dialects.text_of)] = ""
    """A file of requirements, `environment.yml`, or packages."""
    pip_packages: Words = ()
    reqs_path: Words = ()
    env_vars: Annotated[dict[str, Text], pydantic.BeforeValidator(_variables)] = pydantic.Field(
        default_factory=dict
    )
    test_cmd: Commands = ()

    def needs_conda(self, frozen: str) -> bool:
        """Whether only conda can read the packages, and no frozen requirements replace them."""
        return self.packages == _CONDA_FILE and not pins(frozen)

    def requirements(self) -> tuple[str, ...]:
        """The requirements that pip installs in addition to the files."""
        is_file = self.packages in {_CONDA_FILE, _DEFAULT_REQUIREMENTS}
        return ("pytest", *(() if is_file else self.packages.split()), *self.pip_packages)

    def commands(self, frozen: str) -> tuple[str, ...]:
        """The commands before that: the frozen versions, the files, the instance's own commands."""
        commands = []
        if found := pins(frozen):
            commands.append(f"python -m pip install --no-deps {' '.join(found)}")
        files = self.reqs_path or (_DEFAULT_REQUIREMENTS,)
        if self.packages == _DEFAULT_REQUIREMENTS:
            commands += [
                f"if [ -f {name} ]; then python -m pip install -r {name}; fi"
                for name in map(shlex.quote, files)
            ]
        return (*commands, *dialects.apt_packages(self.pre_install)[1])


def pins(frozen: str) -> list[str]:
    """The requirements of `pip freeze` that a package index has."""
    return [word for word in frozen.split() if _PIN.fullmatch(word)]
