"""`agentbench serve`, in a module that starts quickly."""

from agentbench.cli.options import expand_groups
from agentbench.core import extras
from agentbench.extensions.service.options import JudgeServerOptions


@expand_groups
def serve(settings: JudgeServerOptions) -> None:
    """Judge changes to the tasks under TASKS over HTTP: this patch, this task: reward and reason.

    Clients submit patches or trees as jobs, or open sessions for agents of their own. Accepted jobs
    are in the --queue, so they survive a restart. Ctrl-C lets running work end, then stops with
    exit code 0; a second one stops at once. Beyond loopback, clients need the token in
    AGENTBENCH_SERVE_TOKEN, or the random one that is shown at the start; if that variable is set,
    loopback needs it, too.

    Example: agentbench serve tasks/ --port 8767
    """
    extras.require("the service", extras.SERVE)
    from agentbench.extensions.service.serving import serve_judge

    serve_judge(settings)
