"""`agentbench doctor`."""

import json
import sys
from typing import TYPE_CHECKING

import typer

from agentbench.cli import options
from agentbench.cli.exit_codes import ExitCode

if TYPE_CHECKING:
    from collections.abc import Sequence

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
        _print(findings)
    if not any(finding.ok for finding in findings if finding.what.startswith("sandbox")):
        raise typer.Exit(ExitCode.UNAVAILABLE)


def _print(findings: "Sequence[Finding]") -> None:
    from agentbench.report.text_table import Column, console_of, print_rows

    rows = [("ok" if one.ok else "--", one.what, one.detail) for one in findings]
    columns = (Column(), Column(), Column(below=1))
    print_rows(columns, rows, console_of(sys.stdout), has_header=False)
