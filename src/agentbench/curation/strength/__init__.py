"""How strong a task's tests are: wrong versions of its reference solution, and which pass."""
