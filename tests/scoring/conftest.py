"""Property tests here bound no time: a loaded machine is not a defect."""

from hypothesis import HealthCheck, settings

settings.register_profile("agentbench", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("agentbench")
