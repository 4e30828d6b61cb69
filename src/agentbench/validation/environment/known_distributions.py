"""Which distribution provides a module, a fixture, a mark or a setting."""

from collections.abc import Mapping
from types import MappingProxyType

_SAME_NAME = """
    aiohttp anyio arrow async_timeout attrs certifi click colorama coverage cryptography ddt
    django docutils fastapi flaky flask freezegun httpx hypothesis importlib_metadata
    importlib_resources iniconfig jinja2 jsonschema lxml markupsafe marshmallow mock
    more_itertools msgpack multidict mypy nose numpy packaging pandas parameterized path pexpect
    pretend psutil pydantic pyfakefs pygments pyperclip pytest_asyncio pytest_mock pytz regex
    requests requests_mock responses rich schema setuptools simplejson six sortedcontainers
    sqlalchemy starlette sybil tabulate testfixtures time_machine toml tomli tomli_w tomlkit
    tornado tqdm trio twisted typeguard typing_extensions tzdata tzlocal ujson urllib3
    virtualenv wcwidth webtest werkzeug yarl
"""
"""Modules that are called as their distribution, with underscores for its hyphens."""

DISTRIBUTION_OF_MODULE: Mapping[str, str] = MappingProxyType(
    {name: name.replace("_", "-") for name in _SAME_NAME.split()}
    | {
        "OpenSSL": "pyopenssl",
        "PIL": "pillow",
        "attr": "attrs",
        "bs4": "beautifulsoup4",
        "dateutil": "python-dateutil",
        "dotenv": "python-dotenv",
        "pkg_resources": "setuptools<81",
        "ruamel": "ruamel.yaml",
        "yaml": "pyyaml",
        "zope": "zope.interface",
    }
)
"""Distributions by the name of the module that they provide."""

PLUGINS_BY_FIXTURE: Mapping[str, str] = MappingProxyType(
    {
        "aiohttp_client": "pytest-aiohttp",
        "benchmark": "pytest-benchmark",
        "data_regression": "pytest-regressions",
        "datadir": "pytest-datadir",
        "event_loop": "pytest-asyncio",
        "faker": "faker",
        "file_regression": "pytest-regressions",
        "freezer": "pytest-freezer",
        "fs": "pyfakefs",
        "httpbin": "pytest-httpbin",
        "httpserver": "pytest-httpserver",
        "httpx_mock": "pytest-httpx",
        "image_regression": "pytest-regressions",
        "mocker": "pytest-mock",
        "requests_mock": "requests-mock",
        "snapshot": "syrupy",
        "subtests": "pytest-subtests",
        "time_machine": "time-machine",
    }
)
PLUGINS_BY_MARK: Mapping[str, str] = MappingProxyType(
    {
        "anyio": "anyio",
        "asyncio": "pytest-asyncio",
        "benchmark": "pytest-benchmark",
        "dependency": "pytest-dependency",
        "django_db": "pytest-django",
        "flaky": "flaky",
        "forked": "pytest-forked",
        "freeze_time": "pytest-freezer",
        "order": "pytest-order",
        "repeat": "pytest-repeat",
        "timeout": "pytest-timeout",
        "trio": "pytest-trio",
        "twisted": "pytest-twisted",
    }
)
PLUGINS_BY_SETTING: Mapping[str, str] = MappingProxyType(
    {
        "anyio_mode": "anyio",
        "asyncio_default_fixture_loop_scope": "pytest-asyncio",
        "asyncio_mode": "pytest-asyncio",
        "django_find_project": "pytest-django",
        "env": "pytest-env",
        "timeout": "pytest-timeout",
        "timeout_method": "pytest-timeout",
        "trio_mode": "pytest-trio",
    }
)
"""Distributions by what a project's tests use of them without an import."""
