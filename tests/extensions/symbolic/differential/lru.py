"""Deadlines that move: the wrong fix moves them, and does not take them away."""

from tests.extensions.symbolic.differential.case import Case, Edit

_CACHE = "src/tidycache/cache.py"
_ADD = "        self._deadlines.add(entry.deadline, key)\n\n    def _expire"
_POSTPONE = """\
        if ttl is None:
            entry.deadline = None
            return
        entry.deadline = self._clock() + ttl
        self._deadlines.add(entry.deadline, key)
"""

CASE = Case(
    task="lru-expiry",
    gone=("test_a_deadline_can_be_taken_away_and_given_back",),
    wrong=(
        Edit(
            _CACHE,
            _ADD,
            "        entry.ticket = self._deadlines.add(entry.deadline, key)\n\n    def _expire",
        ),
    ),
    honest=(
        Edit(
            _CACHE,
            _POSTPONE,
            """\
        entry.ticket, entry.deadline = None, None
        if ttl is not None:
            self._arm(key, entry, self._clock() + ttl)

    def _arm(self, key: Hashable, entry: Entry, when: float) -> None:
        entry.deadline = when
        entry.ticket = self._deadlines.add(when, key)
""",
        ),
        Edit(
            _CACHE,
            """\
            entry.deadline = self._clock() + ttl
            entry.ticket = self._deadlines.add(entry.deadline, key)
""",
            "            self._arm(key, entry, self._clock() + ttl)\n",
        ),
    ),
)
