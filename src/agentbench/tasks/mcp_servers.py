"""The MCP servers that a task has for agents, and how clients reach them."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from agentbench.core.schema import Schema

Text = Annotated[str, Field(min_length=1, pattern=r"^[^\x00]*$")]
HeaderName = Annotated[str, Field(pattern=r"^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")]
HeaderValue = Annotated[str, Field(pattern=r"^[^\x00\r\n]*$")]
HostVariable = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]


class McpServer(Schema):
    """`[[environment.mcp_servers]]`: a server of tools, which a client in the sandbox connects to.

    The client starts a server with a command. Other servers are services, or run in the image.
    """

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$")]
    transport: Literal["stdio", "sse", "streamable-http"] = "sse"
    url: Annotated[str, Field(pattern=r"^https?://\S+$")] | None = None
    command: Text | None = None
    args: tuple[Annotated[str, Field(pattern=r"^[^\x00]*$")], ...] = ()
    headers: dict[HeaderName, HeaderValue] = Field(default_factory=dict)
    headers_from_host: dict[HeaderName, HostVariable] = Field(default_factory=dict)
    """Headers with the value of a variable of the host, which a run must allow."""

    @model_validator(mode="after")
    def _fits_its_transport(self) -> "McpServer":
        is_program = self.transport == "stdio"
        needed, other = ("command", "url") if is_program else ("url", "command")
        if getattr(self, needed) is None:
            raise ValueError(f'needs `{needed}` with `transport = "{self.transport}"`')
        if getattr(self, other) is not None:
            raise ValueError(f'takes no `{other}` with `transport = "{self.transport}"`')
        if is_program and (self.headers or self.headers_from_host):
            raise ValueError('takes no `headers` with `transport = "stdio"`')
        return self
