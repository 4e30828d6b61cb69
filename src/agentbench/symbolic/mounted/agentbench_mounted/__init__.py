"""Programs that run in sandboxes, next to the code under test.

They need the standard library and the mounted libraries only. Imports are relative: the package is
`agentbench_mounted` in a sandbox, and a part of agentbench on the host.
"""
