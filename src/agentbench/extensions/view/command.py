"""`agentbench view`."""

from agentbench.cli.options import expand_groups
from agentbench.core import extras
from agentbench.extensions.view.options import ViewServerOptions


@expand_groups
def view(settings: ViewServerOptions) -> None:
    """Show runs as a web page: attempts, why each failed, patches, comparisons.

    It updates while runs go on, and only reads the folder. Beyond loopback, a viewer needs the
    token in AGENTBENCH_VIEW_TOKEN, or the random one in the address that is shown at the start; if
    that variable is set, loopback needs it, too.

    Example: agentbench view runs/ --open
    """
    extras.require("the web page", extras.VIEW)
    from agentbench.extensions.view.serving import serve_view

    serve_view(settings)
