"""Hypothesis on a busy machine: an example may take its time."""

from hypothesis import settings

settings.register_profile("no deadline", deadline=None)
settings.load_profile("no deadline")
