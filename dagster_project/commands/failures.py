"""What a run's checks found where they failed: Dagster's own error names the check and nothing else."""

import dagster as dg


def failed_checks(result: dg.ExecuteInProcessResult) -> dict[str, str]:
    """What each check that failed says, by the key of its step."""
    found = {}
    for one in result.get_asset_check_evaluations():
        if not one.passed:
            said = ", ".join(f"{name} {value.value}" for name, value in one.metadata.items())
            step = f"{'__'.join(one.asset_key.path)}_{one.check_name}"
            found[step] = f"{one.asset_key.to_user_string()}: check {one.check_name} failed: {said}"
    return found
