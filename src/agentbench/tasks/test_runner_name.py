"""The names of the programs that run tests, in a module that starts quickly."""

from enum import StrEnum


class Runner(StrEnum):
    """The program that runs a task's tests."""

    PYTEST = "pytest"
    UNITTEST = "unittest"
    DJANGO = "django"  # runtests.py in Django's folder of tests
