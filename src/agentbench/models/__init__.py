"""Models: endpoints, API formats, prices, and trajectories of what was said."""
