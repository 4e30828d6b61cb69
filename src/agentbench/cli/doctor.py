"""`agentbench doctor` and `images`: check this machine, and list or build base images."""

import json
import os
import shutil
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer

from agentbench.cli import options
from agentbench.cli.process_setup import ExitCode
from agentbench.cli.run_execution import say_line
from agentbench.core.display_text import counted
from agentbench.core.host import default_cache_dir
from agentbench.errors import SandboxError, UnavailableError
from agentbench.sandbox.python_stacks import DEFAULT_PYTHON, STACKS, base_image_name, stack_for

# A base image, some snapshots and workspaces.
_ENOUGH_DISK = 5 * 2**30
_KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY")
_STYLES = {"ok": "green", "--": "yellow"}
images = options.command_group("List and build the base images of Docker sandboxes.")


def doctor(as_json: options.Json = False) -> None:
    """Check this machine's requirements, one per line, with remedies.

    Example: agentbench doctor
    """
    from agentbench.report.text_table import TableColumn, print_listing

    findings = diagnose(default_cache_dir())
    if as_json:
        typer.echo(json.dumps([asdict(finding) for finding in findings], indent=1))
    else:
        rows = [("ok" if one.ok else "--", one.what, one.detail) for one in findings]
        print_listing(rows, TableColumn(styles=_STYLES), TableColumn(), TableColumn(below=1))
    if not any(finding.ok for finding in findings if finding.what.startswith("sandbox")):
        raise typer.Exit(ExitCode.UNAVAILABLE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """The result of one check."""

    what: str
    ok: bool
    detail: str = ""  # what was found, or the remedy


def diagnose(cache_dir: Path) -> list[Check]:
    """Run all checks, in the order in which a run needs their subjects."""
    from agentbench.cli.cache_entries import find_all_orphans
    from agentbench.sandbox.docker.diagnosis import diagnose_engine
    from agentbench.sandbox.docker.engine import Engine
    from agentbench.sandbox.docker.images import list_images
    from agentbench.sandbox.registry import probe_back_ends
    from agentbench.tasks.host_git import git

    checks = [Check(what="python", ok=True, detail=f"{sys.version.split()[0]} at {sys.prefix}")]
    if shutil.which("git") is None:
        checks.append(Check(what="git", ok=False, detail="not on PATH; install git"))
    else:
        version = git("--version", cwd=Path.cwd())
        detail = version.stdout.decode().strip()
        checks.append(Check(what="git", ok=version.ok, detail=detail))
    for probe in probe_back_ends(cache_dir=cache_dir):
        lacks = f"\ndoes not promise: {', '.join(probe.missing)}" if probe.missing else ""
        detail = f"{probe.detail}{lacks}"
        checks.append(Check(what=f"sandbox {probe.name}", ok=probe.available, detail=detail))
    engine = diagnose_engine(os.environ)
    detail = "\n".join((engine.found, *engine.faults, *engine.remarks))
    checks.append(Check(what="container engine", ok=not engine.faults, detail=detail))
    try:
        found = list_images(Engine.connect())
    except (UnavailableError, SandboxError):
        checks.append(Check(what="base image", ok=False, detail="needs a container engine"))
    else:
        checks.append(check_base_image([image.name for image in found]))
    checks.append(_check_disk(cache_dir))
    dead = Counter(each.kind for each in find_all_orphans(cache_dir) if not each.owner_alive)
    kinds = ", ".join(counted(count, kind) for kind, count in sorted(dead.items()))
    detail = f"{kinds}; remove them: agentbench clean" if dead else "none"
    checks.append(Check(what="leftovers", ok=not dead, detail=detail))
    # A missing key is no failure: the oracle and the no-op agent need none.
    present = [name for name in _KEYS if os.environ.get(name)]
    detail = f"present: {', '.join(present)}" if present else "none; oracle and noop need none"
    return [*checks, Check(what="API keys", ok=True, detail=detail)]


def check_base_image(names: Sequence[str]) -> Check:
    """Whether the default base image exists, which most tasks without an image of their own use."""
    # With only base images of other Pythons, no problem was reported.
    is_present = base_image_name(DEFAULT_PYTHON) in names
    images_text = ", ".join(names) or "none"
    if not is_present and names:
        images_text += f"; the default one, {base_image_name(DEFAULT_PYTHON)}, is missing"
    remedy = "" if is_present else "; build it: agentbench images build"
    return Check(what="base image", ok=is_present, detail=f"{images_text}{remedy}")


def _check_disk(cache_dir: Path) -> Check:
    existing = next(path for path in (cache_dir, *cache_dir.parents) if path.exists())
    free = shutil.disk_usage(existing).free
    detail = f"{free / 2**30:.1f} GiB free at {cache_dir}"
    writable = os.access(existing, os.W_OK)
    if not writable:
        detail += "; not writable: set AGENTBENCH_CACHE to a folder that is"
    elif free < _ENOUGH_DISK:
        detail += "; free some space, or set AGENTBENCH_CACHE to another disk"
    return Check(what="disk", ok=writable and free >= _ENOUGH_DISK, detail=detail)


@images.command("build")
def build_images(
    python: Annotated[
        str, typer.Option("--python", help=f"The Python version:  {', '.join(STACKS)}.")
    ] = DEFAULT_PYTHON,
    tools: Annotated[
        list[str] | None,
        typer.Option(
            "--with",
            metavar="TOOL[=VERSION]",
            help="Also install go, java (with Maven and Ant), node or rust, in the version of the "
            "Debian release that has the Python, or in another release's. May be repeated.",
        ),
    ] = None,
) -> None:
    """Build the base image, from a registry if one answers, else from Debian's packages.

    Example: agentbench images build --with go --with node=18
    """
    from agentbench.sandbox.docker.engine import Engine
    from agentbench.sandbox.docker.images import build_base_image
    from agentbench.sandbox.toolchains import parse_tools

    # What is never built is refused without an engine, too.
    stack_for(python)
    toolchain = parse_tools(tools or (), python)
    image = build_base_image(Engine.connect(), python, toolchain, progress=say_line)
    typer.echo(f"{image.name} (Python {image.python}, {image.size_bytes / 2**20:.0f} MiB)")


@images.command("list")
def show_images(as_json: options.Json = False) -> None:
    """List the available base images.

    Example: agentbench images list
    """
    from agentbench.report.text_table import TableColumn, print_listing
    from agentbench.sandbox.docker.engine import Engine
    from agentbench.sandbox.docker.images import list_images

    found = list_images(Engine.connect())
    if as_json:
        rows = [
            {"name": each.name, "python": each.python, "id": each.id, "size": each.size_bytes}
            for each in found
        ]
        typer.echo(json.dumps(rows, indent=1))
        return
    table = [
        (each.name, f"Python {each.python}", f"{each.size_bytes / 2**20:.0f} MiB") for each in found
    ]
    size = TableColumn(is_right=True, below=1)
    print_listing(table, TableColumn(), TableColumn(below=1), size)
    if not found:
        typer.echo("no base image yet; build one: agentbench images build", err=True)
