"""Whether a project has parts that a compiler has to make; sandboxes bear none."""

import ast
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from agentbench.tasks.project.loose import table_in, text_in, texts
from agentbench.tasks.project.pyproject import parse_toml
from agentbench.tasks.project.setup_py import parse_python
from agentbench.tasks.project.tree_text import text_of

_COMPILING = frozenset(
    {"cffi", "cython", "maturin", "meson-python", "mypy", "mypyc", "nanobind", "numpy", "pybind11",
     "scikit-build", "scikit-build-core", "setuptools-rust"}
)  # fmt: skip
_BACK_ENDS = ("maturin", "mesonpy", "scikit_build", "setuptools_rust")
_ARGUMENTS = frozenset({"ext_modules", "rust_extensions", "cffi_modules"})


def extension_in(tree: Path) -> str | None:
    """Why a project needs a compiler; None where it is Python alone."""
    system = table_in(parse_toml(text_of(tree, "pyproject.toml")), "build-system")
    needed = {_name_of(text) for text in texts(system.get("requires"))} & _COMPILING
    if needed:
        return f"it has a binary extension: its build needs {', '.join(sorted(map(str, needed)))}"
    if text_in(system, "build-backend").startswith(_BACK_ENDS):
        return f"it has a binary extension: it is built by {text_in(system, 'build-backend')}"
    for node in ast.walk(parse_python(text_of(tree, "setup.py"))):
        if isinstance(node, ast.keyword) and node.arg in _ARGUMENTS:
            return f"it has a binary extension: setup.py gives {node.arg}"
    return None


def _name_of(requirement: str) -> str | None:
    try:
        return canonicalize_name(Requirement(requirement).name)
    except InvalidRequirement:
        return None
