"""The control runs of a judged attempt: sealed runs before the final test, blind runs after it."""
