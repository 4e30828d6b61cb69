"""Ready parts for other packages: TRL, Inspect, verifiers and OpenEnv get their rewards here.

Each module needs its own package, which the extra of the same name installs: `trl` (for its
trainer only), `inspect`, `verifiers`, `openenv`.
"""
