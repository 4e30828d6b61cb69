"""Models: endpoints, API formats, prices, and trajectories."""
