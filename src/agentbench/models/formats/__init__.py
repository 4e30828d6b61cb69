"""API formats: how each of the four writes requests, answers, streams, token counts and errors."""
