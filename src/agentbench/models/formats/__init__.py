"""API formats: requests, answers, streams, token counts and errors of four protocols."""
