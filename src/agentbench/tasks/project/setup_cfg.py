"""`setup.cfg`: what setuptools is told of installing and of tests."""

from collections.abc import Iterator
from configparser import ConfigParser, Error

from agentbench.tasks.project.declaration import (
    Bundle,
    Declaration,
    Purpose,
    purpose_of,
    pythons_of,
    usable,
)
from agentbench.tasks.project.loose import lines


def parse_ini(text: str | None) -> ConfigParser:
    """An ini file's sections; none where it is no ini file."""
    parser = ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(text or "")
    except Error:
        return ConfigParser(interpolation=None)
    return parser


def read_setup_cfg(parser: ConfigParser) -> Declaration:
    """What a `setup.cfg` says."""
    requires = parser.get("options", "python_requires", fallback="").strip()
    return Declaration(
        installable=parser.has_option("metadata", "name"),
        requires_python=(requires,) if requires else (),
        pythons=pythons_of(_said(parser, "metadata", "classifiers")),
        requirements=usable(_said(parser, "options", "install_requires")),
        bundles=tuple(_bundles(parser)),
    )


def _bundles(parser: ConfigParser) -> Iterator[Bundle]:
    section = "options.extras_require"
    for name in parser.options(section) if parser.has_section(section) else ():
        if (purpose := purpose_of(name)) is not None:
            yield Bundle(
                where=f"extra `{name}` of setup.cfg",
                purpose=purpose,
                extras=(name,),
                held=usable(_said(parser, section, name)),
            )
    if said := usable(_said(parser, "options", "tests_require")):
        where = "tests_require of setup.cfg"
        yield Bundle(where=where, purpose=Purpose.TESTS, requirements=said)


def _said(parser: ConfigParser, section: str, name: str) -> tuple[str, ...]:
    return lines(parser.get(section, name, fallback=""))
