"""The Pythons of base images, and the requirements that an image with each of them installs."""

from collections.abc import Mapping
from types import MappingProxyType

from agentbench.errors import UsageError

# They are pure wheels, and pinned, since the tag of a base image is a hash of its recipe. Each
# Python gets the newest pytest that supports it. pip and setuptools are the last ones that install
# a project without pyproject.toml with `pip install -e .`: pip 25.3 dropped `setup.py develop`
# (pypa/pip#11457), and setuptools 80 runs pip from it.
_BEFORE_311 = ("exceptiongroup==1.3.2", "tomli==2.5.0")  # Python 3.11 includes both
_INSTALLERS = ("pip==25.2", "setuptools==75.8.2", "wheel==0.45.1")
_FOR_310_AND_NEWER = (
    *_INSTALLERS, "pytest==9.2.0", "iniconfig==2.3.1", "packaging==26.3", "pluggy==1.7.0",
    "pygments==2.21.0",
)  # fmt: skip
_FOR_39 = (
    *_INSTALLERS, "pytest==8.4.2", "iniconfig==2.1.0", "packaging==26.3", "pluggy==1.6.0",
    "pygments==2.21.0", *_BEFORE_311, "typing-extensions==4.16.0",
)  # fmt: skip
_FOR_38 = (
    "pip==25.0.1", "setuptools==75.3.2", "wheel==0.45.1",
    "pytest==8.3.5", "iniconfig==2.1.0", "packaging==26.2", "pluggy==1.5.0",
    *_BEFORE_311, "typing-extensions==4.13.2",
)  # fmt: skip
_FOR_37 = (
    "pip==24.0", "setuptools==68.0.0", "wheel==0.42.0",
    "pytest==7.4.4", "iniconfig==2.0.0", "packaging==24.0", "pluggy==1.2.0",
    "exceptiongroup==1.3.2", "tomli==2.0.1", "importlib-metadata==6.7.0",
    "typing-extensions==4.7.1", "zipp==3.15.0",
)  # fmt: skip
_FOR_36 = (
    "pip==21.3.1", "setuptools==59.6.0", "wheel==0.37.1",
    "pytest==7.0.1", "attrs==22.2.0", "iniconfig==1.1.1", "packaging==21.3",
    "pluggy==1.0.0", "py==1.11.0", "pyparsing==3.0.7", "tomli==1.2.3", "importlib-metadata==4.8.3",
    "typing-extensions==4.1.1", "zipp==3.6.0",
)  # fmt: skip
STACKS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "3.6": _FOR_36,
        "3.7": _FOR_37,
        "3.8": _FOR_38,
        "3.9": _FOR_39,
        "3.10": (*_FOR_310_AND_NEWER, *_BEFORE_311, "typing-extensions==4.16.0"),
        **dict.fromkeys(("3.11", "3.12", "3.13", "3.14"), _FOR_310_AND_NEWER),
    }
)
"""Requirements by Python version, oldest version first."""
CHOSEN_PYTHONS = tuple(version for version in STACKS if version not in {"3.6", "3.7"})
"""The versions that are chosen for a project. Older ones, which few machines can build, are only
used for a task that names their image."""
DEFAULT_PYTHON = "3.11"
"""The Python of base images unless another one is requested."""

BASE_IMAGES = "agentbench/python"
"""The repository of base images; their tag is the Python version."""


def stack_for(python: str) -> tuple[str, ...]:
    """The requirements that a base image with this Python installs.

    Raises:
        UsageError: there is no base image with this version.
    """
    try:
        return STACKS[python]
    except KeyError:
        supported = ", ".join(STACKS)
        raise UsageError(f"no base image has Python {python!r}: use one of {supported}") from None


def installers_of(python: str) -> tuple[str, ...]:
    """The pins of pip, setuptools and wheel in a base image with this Python."""
    names = {"pip", "setuptools", "wheel"}
    return tuple(pin for pin in stack_for(python) if pin.partition("==")[0] in names)


def base_image_name(python: str) -> str:
    """The name of the base image with a Python."""
    return f"{BASE_IMAGES}:{python}"


def python_of_base_image(name: str) -> str | None:
    """The Python of a base image by its name; None for any other image."""
    version = name.removeprefix(f"{BASE_IMAGES}:")
    return version if version in STACKS else None
