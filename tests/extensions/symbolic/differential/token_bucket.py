"""Parts of tokens: the wrong fix keeps them, and saves them up in a full bucket too."""

from tests.extensions.symbolic.differential.case import Case, Edit

_BUCKET = "src/tollgate/bucket.py"
_START = "        self._filled_at = clock()\n"
_WAIT = "        return _divide_up(missing * self.rate.period_ns, self.rate.count)\n"
_REFILL = """\
        now = self._clock()
        gained = (now - self._filled_at) * self.rate.count // self.rate.period_ns
        self._tokens = min(self.capacity, self._tokens + gained)
        self._filled_at = now
"""
_PUT_BACK = """\
        self._refill()
        self._tokens = min(self.capacity, self._tokens + tokens)
"""

CASE = Case(
    task="token-bucket-limiter",
    gone=("test_a_full_bucket_saves_up_nothing",),
    wrong=(
        Edit(_BUCKET, _START, _START + "        self._rest = 0\n"),
        Edit(
            _BUCKET,
            _WAIT,
            "        due = missing * self.rate.period_ns - self._rest\n"
            "        return _divide_up(due, self.rate.count)\n",
        ),
        Edit(
            _BUCKET,
            _REFILL,
            """\
        now = self._clock()
        flow = (now - self._filled_at) * self.rate.count + self._rest
        gained, self._rest = divmod(flow, self.rate.period_ns)
        self._tokens = min(self.capacity, self._tokens + gained)
        self._filled_at = now
""",
        ),
    ),
    honest=(
        Edit(_BUCKET, _START, _START + "        self._part = 0  # of a token, in period_ns\n"),
        Edit(
            _BUCKET,
            _WAIT,
            "        flow = missing * self.rate.period_ns - self._part\n"
            "        whole, rest = divmod(flow, self.rate.count)\n"
            "        return whole + (rest > 0)\n",
        ),
        Edit(
            _BUCKET,
            _REFILL,
            """\
        before, self._filled_at = self._filled_at, self._clock()
        level = self._tokens * self.rate.period_ns + self._part
        level += (self._filled_at - before) * self.rate.count
        level = min(level, self.capacity * self.rate.period_ns)
        self._tokens, self._part = divmod(level, self.rate.period_ns)
""",
        ),
        Edit(
            _BUCKET,
            _PUT_BACK,
            """\
        self._refill()
        if self._tokens + tokens >= self.capacity:
            self._tokens, self._part = self.capacity, 0
        else:
            self._tokens += tokens
""",
        ),
        Edit(
            _BUCKET,
            '\n\ndef _divide_up(amount: int, by: int) -> int:\n    """Whole-number division, '
            'rounded up."""\n    return -(-amount // by)\n',
            "",
        ),
    ),
)
