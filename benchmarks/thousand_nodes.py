"""1,000 nodes, simulated: where a run's time and money go as machines are added.

A discrete-event simulation, no measurement: 500 tasks x 5 attempts x 10 agents = 25,000 attempts,
each task's in turns, the longest tasks first, as `runs.plan` has them, on 1 to 1,000 nodes of eight
slots. What is simulated: each node pulls the base image once and makes each preparation once,
over links that share the registry's and the driver's bandwidth; attempts take log-normal times of a
median of eight minutes; nodes are lost at random and their attempts made again; the driver writes
one record after the other. The figures that go in stand in `World`; those of ours are measured
(docs/performance.md), the others are stated assumptions, to be replaced by your own.

Run: python benchmarks/thousand_nodes.py [--seeds N] [--json FILE]
"""

import argparse
import heapq
import json
import random
import statistics
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from itertools import count
from pathlib import Path

_SIZES = (1, 10, 100, 300, 1_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """What goes in. Seconds, MiB, USD."""

    tasks: int = 500
    attempts_per_task: int = 50  # 5 by each of 10 agents
    slots: int = 8  # per node
    attempt_median_s: float = 480.0
    attempt_sigma: float = 0.7  # of the logarithm
    attempt_limit_s: float = 2_700.0  # longer ones are ended
    setup_median_s: float = 60.0
    image_mib: float = 700.0  # the base image
    registry_mib_s: float = 2_500.0  # all nodes together; one link of 25 Gbit/s makes 3,000
    link_mib_s: float = 120.0  # one node's: 1 Gbit/s
    evidence_mib: float = 0.3  # an attempt's folder on its way to the driver, packed
    record_s: float = 0.02  # the driver's work on one attempt: measured at 3 to 20 ms
    node_life_s: float = 100 * 3600.0  # mean time until a node is lost (spot machines: less)
    detection_s: float = 15.0  # until the loss is known
    replacement_s: float = 120.0  # until another machine takes its place
    node_usd_h: float = 0.40
    model_usd: float = 0.30  # per attempt


@dataclass(slots=True)
class Outcome:
    """What comes out of one run."""

    hours: float = 0.0
    busy: float = 0.0  # of all slots' time, spent on attempts that counted
    preparing: float = 0.0
    lost_tries: int = 0
    setups: int = 0
    driver_busy: float = 0.0
    machines_usd: float = 0.0
    model_usd: float = 0.0


@dataclass(slots=True)
class _Node:
    number: int
    free: int
    ready_at: float = 0.0  # the base image is there
    prepared: dict[int, float] = field(default_factory=dict)  # from when on
    under_way: dict[int, "_Attempt"] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Attempt:
    task: int
    work_s: float


class Simulation:
    """One run of all attempts on so many nodes."""

    def __init__(self, world: World, nodes: int, seed: int, *, shared: bool) -> None:
        self.world, self.shared = world, shared  # `shared`: preparations are pulled, once made
        self.random = random.Random(seed)
        self.outcome = Outcome()
        self.nodes = [_Node(number, world.slots) for number in range(nodes)]
        self.events: list[tuple[float, int, str, tuple[int, ...]]] = []
        self.order = count()
        self.made_anywhere: dict[int, float] = {}
        self.driver_free_at = 0.0
        self.left = 0
        self.busy_s = self.preparing_s = 0.0

    def run(self) -> Outcome:
        """From the first attempt to the last record."""
        world, now = self.world, 0.0
        waiting = list(self._attempts())[::-1]
        self.left = len(waiting)
        pull = world.image_mib / min(
            world.link_mib_s, world.registry_mib_s / max(1, len(self.nodes))
        )
        for node in self.nodes:
            node.ready_at = pull
            self._at(self._lifetime(), "lost", node.number)
        while self.left:
            for node in self.nodes:
                while node.free and waiting:
                    self._begin(node, waiting.pop(), now)
                if not waiting:
                    break
            now, _, kind, about = heapq.heappop(self.events)
            self._happen(kind, about, now, waiting)
        return self._summed_up(max(now, self.driver_free_at))

    def _attempts(self) -> Iterator[_Attempt]:
        """Round by round, the longest tasks first, as `runs.plan` has them."""
        world = self.world
        scale = [self.random.lognormvariate(0.0, 0.4) for _ in range(world.tasks)]
        order = sorted(range(world.tasks), key=lambda task: -scale[task])
        for _ in range(world.attempts_per_task):
            for task in order:
                spread = self.random.lognormvariate(0.0, world.attempt_sigma)
                took = world.attempt_median_s * scale[task] * spread
                yield _Attempt(task=task, work_s=min(took, world.attempt_limit_s))

    def _begin(self, node: _Node, attempt: _Attempt, now: float) -> None:
        node.free -= 1
        start = max(now, node.ready_at, self._prepared(node, attempt.task, now))
        self.preparing_s += start - now
        which = next(self.order)
        node.under_way[which] = attempt
        self._at(start + attempt.work_s, "ended", node.number, which)

    def _prepared(self, node: _Node, task: int, now: float) -> float:
        """From when on this node has a task's preparation; whoever asks first makes it."""
        if task not in node.prepared:
            begin = max(now, node.ready_at)
            if self.shared and self.made_anywhere.get(task, float("inf")) <= begin:
                took = 150.0 / self.world.link_mib_s  # 150 MiB of a preparation
            else:
                took = self.random.lognormvariate(0.0, 0.5) * self.world.setup_median_s
                self.outcome.setups += 1
            node.prepared[task] = begin + took
            self.made_anywhere[task] = min(begin + took, self.made_anywhere.get(task, float("inf")))
        return node.prepared[task]

    def _happen(
        self, kind: str, about: tuple[int, ...], now: float, waiting: list[_Attempt]
    ) -> None:
        node, world = self.nodes[about[0]], self.world
        if kind == "lost":
            self._at(now + world.detection_s, "known", node.number)
            node.free = 0  # nothing that it ends counts any more
            node.ready_at = float("inf")
        elif kind == "known":
            self.outcome.lost_tries += len(node.under_way)
            waiting.extend(node.under_way.values())
            node.under_way, node.prepared = {}, {}
            node.free, node.ready_at = world.slots, now + world.replacement_s
            self._at(now + self._lifetime(), "lost", node.number)
        elif node.ready_at <= now and about[1] in node.under_way:
            attempt = node.under_way.pop(about[1])
            node.free += 1
            self.left -= 1
            self.busy_s += attempt.work_s
            way = world.evidence_mib / world.link_mib_s
            self.driver_free_at = max(self.driver_free_at, now + way) + world.record_s
            self.outcome.driver_busy += world.record_s

    def _lifetime(self) -> float:
        return self.random.expovariate(1.0 / self.world.node_life_s)

    def _at(self, when: float, kind: str, *about: int) -> None:
        heapq.heappush(self.events, (when, next(self.order), kind, about))

    def _summed_up(self, end: float) -> Outcome:
        out, world = self.outcome, self.world
        slot_seconds = end * len(self.nodes) * world.slots
        out.hours = end / 3600
        out.busy, out.preparing = self.busy_s / slot_seconds, self.preparing_s / slot_seconds
        out.driver_busy /= end
        out.machines_usd = out.hours * len(self.nodes) * world.node_usd_h
        tries = world.tasks * world.attempts_per_task + out.lost_tries
        out.model_usd = tries * world.model_usd
        return out


def main() -> None:
    """Print a line per number of nodes: medians over seeds."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    world, rows = World(), []
    print(
        "nodes  preparations   hours  faster  busy  waits  set-ups  lost  driver  machines  model"
    )
    for shared in (False, True):
        first: float | None = None
        for nodes in _SIZES:
            runs = [
                Simulation(world, nodes, seed, shared=shared).run() for seed in range(options.seeds)
            ]
            row = {
                key: statistics.median(getattr(run, key) for run in runs) for key in asdict(runs[0])
            }
            first = first or row["hours"]
            where = "pulled" if shared else "per node"
            rows.append({"nodes": nodes, "preparations": where, **row})
            print(
                f"{nodes:5}  {where:<12} {row['hours']:7.2f}  {first / row['hours']:5.0f}x "
                f"{row['busy']:5.1%} {row['preparing']:5.1%} {row['setups']:8.0f} "
                f"{row['lost_tries']:5.0f} {row['driver_busy']:6.1%}  "
                f"${row['machines_usd']:8.0f} ${row['model_usd']:.0f}"
            )
    if options.json is not None:
        document = {
            "benchmark": "thousand_nodes",
            "simulated": True,
            "world": asdict(world),
            "rows": rows,
        }
        options.json.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
