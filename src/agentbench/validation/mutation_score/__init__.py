"""The mutation score of a task's hidden tests.

Which wrong versions of the reference solution they let pass.
"""
