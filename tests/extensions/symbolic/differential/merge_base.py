"""The best common ancestor: the wrong fix takes the one with the longest history of several."""

from tests.extensions.symbolic.differential.case import Case, Edit

_HISTORY = "trimerge/history.py"
_SEARCH = """\
        our_ancestors = self.ancestors(ours)
        waiting = deque([self.commit(theirs).id])
        seen = set(waiting)
        while waiting:
            candidate = waiting.popleft()
            if candidate in our_ancestors:
                return self._commits[candidate]
            for parent in self._commits[candidate].parents:
                if parent not in seen:
                    seen.add(parent)
                    waiting.append(parent)
        return None
"""

CASE = Case(
    task="three-way-merge",
    gone=("test_of_equally_good_ancestors_the_first_id_is_taken_in_both_directions",),
    wrong=(
        Edit(
            _HISTORY,
            _SEARCH,
            """\
        common = sorted(self.ancestors(ours) & self.ancestors(theirs))
        if not common:
            return None
        return self._commits[max(common, key=lambda id_: len(self.ancestors(id_)))]
""",
        ),
        Edit(_HISTORY, "from collections import deque\n", ""),
    ),
    honest=(
        Edit(
            _HISTORY,
            _SEARCH,
            """\
        common = self.ancestors(ours).intersection(self.ancestors(theirs))
        covered: set[str] = set()
        for id_ in common:
            covered.update(self._commits[id_].parents)
        best = sorted(id_ for id_ in common if id_ not in covered)
        return self._commits[best[0]] if best else None
""",
        ),
        Edit(_HISTORY, "from collections import deque\n", ""),
    ),
)
