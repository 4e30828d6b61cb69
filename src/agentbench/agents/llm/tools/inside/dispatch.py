"""Does one task by its name; whatever is wrong with it is an answer."""

from __future__ import annotations

import json
from collections.abc import Callable

from agentbench.agents.llm.tools.inside.editing import edit
from agentbench.agents.llm.tools.inside.looking import list_files, search
from agentbench.agents.llm.tools.inside.paths import RefusedError, shown
from agentbench.agents.llm.tools.inside.reading import read_file

_TASKS: dict[str, Callable[..., str]] = {
    "list_files": list_files,
    "read_file": read_file,
    "search": search,
    "edit": edit,
}


def answer(task: str, root: str, given: dict[str, object]) -> str:
    """What a task says, as JSON in ASCII: `text`, or `error` when it was refused."""
    try:
        return json.dumps({"text": _TASKS[task](root, **given)})
    except RefusedError as error:
        return json.dumps({"error": str(error)})
    except FileNotFoundError:
        return json.dumps({"error": f"there is no {shown(str(given.get('path')))}"})
    except OSError as error:
        path = shown(str(given.get("path")))
        return json.dumps({"error": f"{path}: {error.strerror or error}"})
