"""Which grader can be fooled: the same cheats and honest fixes, judged by each grader."""
