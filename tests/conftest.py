"""What every test shares: the micro profile, a state folder of its own, and which skips are allowed."""

import os
import tempfile

os.environ["LOOPWRIGHT_PROFILE"] = "micro"
os.environ.setdefault("LOOPWRIGHT_HOME", tempfile.mkdtemp(prefix="loopwright-tests-"))

from dagster_project import profiles

profiles.bind_active_profile()
