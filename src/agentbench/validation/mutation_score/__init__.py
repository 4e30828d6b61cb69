"""The mutation score of hidden tests: which wrong versions of the solution they detect."""
