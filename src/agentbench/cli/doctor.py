"""`agentbench doctor`."""

import json
from typing import TYPE_CHECKING

import typer

from agentbench.cli import options
from agentbench.cli.exit_codes import ExitCode

if TYPE_CHECKING:
    from agentbench.cli.diagnosis import Finding


def doctor(as_json: options.Json = False, debug: options.Debug = False) -> None:
    """Check what agentbench needs on this machine; a line each, with the remedy.

    Example: agentbench doctor
    """
    from agentbench.cli.diagnosis import diagnose
    from agentbench.runs.places import default_cache_dir

    del debug  # read by the program itself
    findings = diagnose(default_cache_dir())
    if as_json:
        rows = [{"what": f.what, "ok": f.ok, "detail": f.detail} for f in findings]
        typer.echo(json.dumps(rows, indent=1))
    else:
        for finding in findings:
            typer.echo(_line(finding))
    if not any(finding.ok for finding in findings if finding.what.startswith("sandbox")):
        raise typer.Exit(ExitCode.UNAVAILABLE)


def _line(finding: "Finding") -> str:
    word = "ok" if finding.ok else "--"
    detail = finding.detail.replace("\n", "\n" + " " * 26)
    return f"{word}  {finding.what:<20}  {detail}"
