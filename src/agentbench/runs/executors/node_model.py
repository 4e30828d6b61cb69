"""The way to a model on a node: a gateway in each process there, with the node's own key.

The key never travels: whoever may look into a cluster's object store would see it.
"""

import atexit
import hashlib
import platform
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from agentbench.agents.interface import Agent
from agentbench.agents.model_door import ModelGateway
from agentbench.errors import UnavailableError, UsageError
from agentbench.runs.model_setting import ModelSetting
from agentbench.seals.whole_file import write_whole

_opened: dict["ModelOrders", ModelGateway | None] = {}
_open_until_the_end = ExitStack()
atexit.register(_open_until_the_end.close)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOrders:
    """Which model attempts use, wherever they are made."""

    name: str | None = None
    base_url: str | None = None
    prices: bytes | None = None  # of models, beside the known ones: a file's content

    @classmethod
    def of(cls, setting: ModelSetting) -> "ModelOrders":
        """What a run was told, with the file of prices read.

        Raises:
            OSError: that cannot be read.
        """
        prices = setting.prices.read_bytes() if setting.prices is not None else None
        return cls(name=setting.name, base_url=setting.base_url, prices=prices)

    def setting(self, cache_dir: Path) -> ModelSetting:
        """The same on this machine; the prices lie below its cache then.

        Raises:
            OSError: the cache cannot be written.
        """
        prices = None
        if self.prices is not None:
            prices = cache_dir / f"prices-{hashlib.sha256(self.prices).hexdigest()[:16]}.json"
            write_whole(prices, self.prices)
        return ModelSetting(name=self.name, base_url=self.base_url, prices=prices)


def gateway_here(orders: ModelOrders, agent: Agent, cache_dir: Path) -> ModelGateway | None:
    """The gateway of this process, opened by whichever attempt comes first.

    Raises:
        UnavailableError: this node has no key for the model, or cannot open one.
    """
    if orders not in _opened:
        try:
            way = orders.setting(cache_dir).opened(agent, probe=False)
            _opened[orders] = _open_until_the_end.enter_context(way)
        except UsageError as error:
            raise UnavailableError(
                f"{platform.node()}: {error} (a node's keys are those of the environment that "
                "`ray start` had there)"
            ) from error
    return _opened[orders]
