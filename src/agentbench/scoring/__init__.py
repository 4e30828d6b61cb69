"""The public door to scoring; what needs pydantic is imported only when it is asked for."""

from agentbench.scoring.stage_name import StageName as StageName
