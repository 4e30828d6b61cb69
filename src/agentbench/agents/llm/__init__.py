"""The built-in agent: a model, a few tools, and a loop that reads in one sitting."""
