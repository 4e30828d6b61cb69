"""What goes along into a Harbor task: a pytest plugin that gives the reward."""
