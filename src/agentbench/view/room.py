"""What every page is made from: the folder, and what was read of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from starlette.requests import Request
from starlette.responses import HTMLResponse

from agentbench.view.pages import page
from agentbench.view.places import RunsFolder
from agentbench.view.shelf import RunNow, Shelf

WARNINGS = 20
"""That a page tells; of more it tells how many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """The folder of runs, and the shelf of what was read."""

    folder: RunsFolder
    shelf: Shelf

    def run(self, request: Request) -> RunNow:
        """The run that an address names.

        Raises:
            NotThereError: there is none.
            InputError: its records are of a newer agentbench.
        """
        return self.shelf.run(self.folder.run(request.path_params["run"]))

    def attempt_folder(self, request: Request) -> Path:
        """The folder of the attempt that an address names.

        Raises:
            NotThereError: there is none.
        """
        names = request.path_params
        return self.folder.attempt(self.folder.run(names["run"]), names["task"], names["name"])


def html(template: str, values: Mapping[str, object], status: int = 200) -> HTMLResponse:
    """A page as an answer."""
    return HTMLResponse(page(template, **values), status)
