"""Sandboxes whose commands reach only the hosts of a list.

They have no network. The proxy is in this process; `sandbox.relay` connects commands to it, and the
usual variables have its address. A program that ignores these variables reaches nothing.
"""

import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import replace
from datetime import timedelta
from pathlib import Path, PurePosixPath
from socket import AF_UNIX
from socket import socket as open_socket
from urllib.parse import urlsplit

from agentbench.core.network import AllowedHosts, Network
from agentbench.errors import SandboxError
from agentbench.sandbox.egress.proxy import EgressProxy
from agentbench.sandbox.host_environment import ca_bundle, ca_variables, forwarded_settings
from agentbench.sandbox.interface import (
    Command,
    HasHostWorkspace,
    HasServices,
    LastingSandbox,
    OpenSandbox,
    ReadOnlyMount,
    Sandbox,
    ServiceReport,
    SnapshotId,
)
from agentbench.sandbox.relay import LoopThread, Relay, relay_mounts
from agentbench.scoring.evidence import CommandResult
from agentbench.taxonomy import Fault

_SOCKET_MOUNT = "agentbench-egress"
_CA_MOUNT = "agentbench-egress-ca.crt"
_PLACEHOLDER = "{agentbench-egress}"
_PROXY_VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_STARTED_WITHIN = timedelta(minutes=1)


@contextmanager
def open_proxied(
    opened: OpenSandbox, first: Network, *, lasting: bool, env: Mapping[str, str] | None = None
) -> Iterator["ProxiedSandbox"]:
    """Open a sandbox with its own proxy; `lasting`: its processes outlive their command."""
    env = os.environ if env is None else env
    with (
        closing(LoopThread()) as loop,
        tempfile.TemporaryDirectory(prefix="agentbench-egress-") as folder,
        open_socket(AF_UNIX) as listener,
    ):
        # Every user of a sandbox may connect; the folder contains nothing else.
        Path(folder).chmod(0o755)
        path = Path(folder, "proxy.sock")
        listener.bind(str(path))
        path.chmod(0o666)
        proxy = EgressProxy(env)
        with loop.holding(proxy.serving(listener)):
            mounts = relay_mounts(_SOCKET_MOUNT, path)
            if (bundle := ca_bundle(env)) is not None:
                mounts = (*mounts, ReadOnlyMount(name=_CA_MOUNT, source=bundle))
            with opened(mounts) as inner:
                relay = Relay(inner, _SOCKET_MOUNT, path)
                sandbox = ProxiedSandbox(inner, relay, proxy, loop, lasting=lasting)
                sandbox.set_network(first)
                yield sandbox


class ProxiedSandbox:
    """A sandbox whose commands get the address of a proxy if they may reach listed hosts."""

    def __init__(
        self,
        inner: Sandbox,
        relay: Relay,
        proxy: EgressProxy,
        loop: LoopThread,
        *,
        lasting: bool,
    ) -> None:
        self._inner = inner
        self._relay = relay
        self._proxy = proxy
        self._loop = loop
        self._is_lasting = lasting
        self._variables: Mapping[str, str] | None = None  # None: its network has no proxy

    @property
    def workspace(self) -> PurePosixPath:
        return self._inner.workspace

    @property
    def results(self) -> PurePosixPath:
        return self._inner.results

    def mounted(self, name: str) -> PurePosixPath:
        return self._inner.mounted(name)

    def run(self, command: Command) -> CommandResult:
        if self._variables is None:
            return self._inner.run(command)
        relayed = replace(command, env={**self._variables, **command.env})
        if self._is_lasting:
            relayed = self._relay.with_tunnel(relayed)
        else:
            relayed = self._relay.around(relayed, _PLACEHOLDER)
        return self._inner.run(relayed).replace(argv=command.argv)

    @property
    def host_workspace(self) -> Path | None:
        return self._inner.host_workspace if isinstance(self._inner, HasHostWorkspace) else None

    def kill(self) -> None:
        self._inner.kill()

    def read_tree(self, path: PurePosixPath) -> AbstractContextManager[Iterator[bytes]]:
        return self._inner.read_tree(path)

    def write_tree(self, path: PurePosixPath, tar: bytes) -> None:
        self._inner.write_tree(path, tar)

    def snapshot(self, key: str) -> SnapshotId:
        return self._inner.snapshot(key)

    def frozen(self) -> AbstractContextManager[None]:
        return self._inner.frozen() if isinstance(self._inner, LastingSandbox) else nullcontext()

    def set_network(self, network: Network) -> None:
        hosts = () if isinstance(network, bool) else network
        self._proxy.hosts = AllowedHosts(hosts)
        self._loop.run(self._proxy.cut())
        if isinstance(self._inner, LastingSandbox):
            self._inner.set_network(network)
        self._variables = self._variables_for(hosts) if hosts else None

    def service_reports(self) -> tuple[ServiceReport, ...]:
        return self._inner.service_reports() if isinstance(self._inner, HasServices) else ()

    def take_network_log(self) -> bytes:
        self._loop.run(self._proxy.cut())
        return self._proxy.log.take()

    def _variables_for(self, hosts: tuple[str, ...]) -> Mapping[str, str]:
        if self._is_lasting:
            # Processes outlive their command, so the relay must, too.
            started = self._relay.with_tunnel(self._relay.detached(_STARTED_WITHIN))
            port = self._checked(started, expected=r"[0-9]{1,5}\s*").strip()
            address = f"http://127.0.0.1:{port}"
        else:
            self._checked(self._relay.probe(_STARTED_WITHIN))
            address = _PLACEHOLDER
        proxies = {each: address for name in _PROXY_VARIABLES for each in (name, name.lower())}
        bypass = ",".join((*_LOOPBACK, *(each.name for each in self.service_reports())))
        bundle: Mapping[str, str] = {}
        if ca_bundle(self._proxy.env) is not None:
            bundle = ca_variables(str(self._inner.mounted(_CA_MOUNT)))
        # Package indexes of this machine apply only if their hosts are listed; its own proxies
        # never.
        allowed = AllowedHosts(hosts)
        settings = {
            name: value
            for name, value in forwarded_settings(self._proxy.env).items()
            if not name.lower().endswith("_proxy")
            and all(allowed.has_name(urlsplit(each).hostname or "") for each in value.split())
        }
        # Without this one, Node's HTTP client ignores the others.
        node = {"NODE_USE_ENV_PROXY": "1"}
        return {**settings, **bundle, **proxies, **node, "NO_PROXY": bypass, "no_proxy": bypass}

    def _checked(self, command: Command, expected: str = "") -> str:
        result = self._inner.run(command)
        if not result.ok or not re.fullmatch(expected, result.stdout):
            reason = (result.stderr.strip() or str(result.ending)).splitlines()[-1][:200]
            raise SandboxError(
                f"a network of listed hosts needs Python 3 in the image, for its proxy: {reason}"
            ).blamed_on(Fault.TASK)
        return result.stdout
