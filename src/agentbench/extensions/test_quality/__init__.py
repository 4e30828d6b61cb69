"""The mutation score of hidden tests: how many wrong versions of the solution they find."""
