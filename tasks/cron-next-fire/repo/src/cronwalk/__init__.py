"""Walks through the times at which a cron expression fires."""

from cronwalk.crontab import Crontab, Job
from cronwalk.fields import CronError
from cronwalk.schedule import NeverFires, Schedule

__all__ = ["CronError", "Crontab", "Job", "NeverFires", "Schedule"]
