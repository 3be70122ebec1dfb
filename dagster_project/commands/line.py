"""The stages of a demo, made in as few Dagster runs as possible on the instance that the pages show."""

import shutil
from collections.abc import Sequence
from typing import Final, NamedTuple

import dagster as dg

from assets import keys
from assets.labels.book import forget_labels
from dagster_project import profiles
from dagster_project.commands.alone import TAG, close_killed_runs
from dagster_project.commands.current import (
    Settings,
    Stage,
    last_of,
    next_round,
    reason_to_make,
    run_config_of,
    settings_of,
)
from dagster_project.commands.failures import failed_checks
from dagster_project.commands.inventory import Inventory
from dagster_project.commands.progress import Listener, Screen, heard_by, is_stop, raised_by_stage
from dagster_project.jobs import factory
from dagster_project.leaves import tags_over_leaves, tree_in
from dagster_project.registration import register_run
from resources.lake import Lake
from resources.registry import Registry

LINES_SHOWN: Final = 3
UNSAID: Final = ("never made", "asked for")
"""Reasons that need no line of their own."""


class StageFailedError(RuntimeError):
    """A stage could not be made; the message has one line per failure, `trace` what Dagster recorded."""

    def __init__(self, message: str, trace: str) -> None:
        super().__init__(message)
        self.trace = trace


class Wish(NamedTuple):
    """What is to be made anew, and with which settings of the user's own."""

    own: Settings
    again: bool = False


class Line:
    """Makes stages, and knows which hold already."""

    def __init__(
        self, defs: dg.Definitions, stages: Sequence[Stage], wish: Wish, instance: dg.DagsterInstance, screen: Screen
    ) -> None:
        self.stages, self.wish, self.instance, self.screen = stages, wish, instance, screen
        self.lake = Lake(root=str(profiles.home() / "lake"))
        self.settings = settings_of(stages, wish.own)
        self.listener = Listener(screen, {s.table.replace("/", "__"): s.table for s in stages}, total=len(stages))
        self.made: set[dg.AssetKey] = set()
        self.inventory = Inventory(profiles.home())
        self._defs = heard_by(defs, self.listener)

    def tidy(self) -> None:
        """Close the books of a demo that was killed."""
        for run_id in close_killed_runs(self.instance):
            self.screen.say(f"        an earlier demo was killed (run {run_id}): going on from what it finished")
            self._register(run_id)

    def make(self, stages: Sequence[Stage]) -> None:
        """Make what must be made of `stages`, round by round, until all of them hold.

        Raises:
            StageFailedError: a stage failed; what was finished before it stays.
            KeyboardInterrupt: it was stopped by Ctrl-C or SIGTERM.
        """
        reasons = self._reasons(stages)
        while now := next_round(stages, reasons):
            for key in now:
                if (why := reasons[key]) not in UNSAID:
                    self.screen.say(f"        {keys.table_of(key):34} again: {why}")
            result = self._execute(now)
            self.made |= set(now)
            self._register(result.run_id)
            self._note(result.run_id)
            if not result.success:
                raise _failure(result)
            reasons = self._reasons(stages)

    def say_what_holds(self) -> None:
        """Count the stages that an earlier run finished, if there are any."""
        reasons = self._reasons(self.stages)
        self.listener.held = sum(why is None for why in reasons.values())
        if self.listener.held:
            self.screen.say(f"        {self.listener.held} of {len(self.stages)} stages hold from before")

    def seconds(self) -> dict[str, float]:
        """How long the last making of each stage took."""
        found = {}
        for stage in self.stages:
            last = last_of(self.instance, stage)
            step = stage.table.replace("/", "__")
            for stats in self.instance.get_run_step_stats(last.run_id, [step]) if last is not None else []:
                if stats.start_time is not None and stats.end_time is not None:
                    found[stage.table] = stats.end_time - stats.start_time
        return found

    def _reasons(self, stages: Sequence[Stage]) -> dict[dg.AssetKey, str | None]:
        last = {s.key: last_of(self.instance, s) for s in self.stages}
        reasons = {s.key: reason_to_make(s, last, self.settings, self.lake) for s in stages}
        for stage in stages:
            if (found := last[stage.key]) is not None and reasons[stage.key] is None:
                reasons[stage.key] = self.inventory.amiss(stage.table, found.run_id)
        if reasons.get(keys.INTENT_TAXONOMY, "") is None and self._tree_changed():
            reasons[keys.INTENT_TAXONOMY] = "its files changed (`loopwright taxonomy plan` says what follows)"
        for key in reasons:
            if key in self.made:
                reasons[key] = None
            elif self.wish.again or (key == keys.RAW_QUERIES and self.wish.own):  # the file may have changed
                reasons[key] = reasons[key] or "asked for"
            elif key == keys.RAW_QUERIES and reasons[key] is None and self._log_changed():
                reasons[key] = "its log changed"
        return reasons

    def _log_changed(self) -> bool:
        """Whether files of the log that the profile names went, or came or changed since they were read."""
        from assets.queries.assets import FILES  # here, so that the stage takes the profile's settings
        from assets.queries.readers import find_files

        table = keys.table_of(keys.RAW_QUERIES)
        logs = str(self.settings.get(table, {}).get("logs", ""))
        if not logs:
            return False
        files, read = find_files(logs), self.lake.path(table).stat().st_mtime
        fewer = len(files) < len(self.lake.read(FILES))  # files without rows are not listed there
        return fewer or any(file.stat().st_ctime > read for file in files)  # a copy may keep the time of its text

    def _tree_changed(self) -> bool:
        """Whether the files of the tree are others than those that the lake's table was made from."""
        table = keys.table_of(keys.INTENT_TAXONOMY)
        folder = str(self.settings.get(table, {}).get("folder", ""))
        return not tree_in(folder).table().equals(self.lake.read(table))

    def _execute(self, now: Sequence[dg.AssetKey]) -> dg.ExecuteInProcessResult:
        tables = {keys.table_of(key) for key in now}
        for table in tables if self.wish.again else ():  # a finished run would be read back
            shutil.rmtree(self.lake.folder(table) / "runs", ignore_errors=True)
        if self.wish.again and keys.table_of(keys.QUERY_LABELS) in tables:  # and so would labels
            forget_labels(self.lake)
        return self._defs.resolve_job_def(factory.name).execute_in_process(
            asset_selection=list(now),
            instance=self.instance,
            raise_on_error=False,
            tags={TAG: "true", "loopwright/profile": profiles.active().name, **self._leaves(now)},
            run_config=run_config_of({table: own for table, own in self.settings.items() if table in tables}),
        )

    def _leaves(self, now: Sequence[dg.AssetKey]) -> dict[str, str]:
        """The tags of a run over every leaf of the tree, where a stage is cut by leaves."""
        graph = self._defs.resolve_asset_graph()
        if not any(graph.get(key).is_partitioned for key in now):
            return {}
        folder = str(self.settings.get(keys.table_of(keys.INTENT_TAXONOMY), {}).get("folder", ""))
        return tags_over_leaves(self.instance, folder)

    def _note(self, run_id: str) -> None:
        """List what the stages of a run left in the lake."""
        tables = {stage.table.replace("/", "__"): stage.table for stage in self.stages}
        for stats in self.instance.get_run_step_stats(run_id, list(tables)):
            if stats.start_time is not None and stats.end_time is not None:
                self.inventory.note(tables[stats.step_key], run_id, stats.start_time, stats.end_time)

    def _register(self, run_id: str) -> None:
        register_run(self.instance, run_id, Registry(url=profiles.registry_url()))


def _failure(result: dg.ExecuteInProcessResult) -> BaseException:
    """What ended a run: its failures, with what each stage said and the whole traces; or the user's Ctrl-C."""
    said, traces = [], []
    checks = failed_checks(result)
    for event in result.filter_events(lambda event: event.is_step_failure):
        error = event.step_failure_data.error
        if error is None:
            continue
        if found := checks.get(event.step_key or ""):
            said.append(found)
            traces.append(error.to_string())
            continue
        traces.append(error.to_string())
        error = raised_by_stage(error)
        if is_stop(error):
            return KeyboardInterrupt()
        said.append(f"{(event.step_key or '').replace('__', '/', 1)} failed: {in_short(error.message)}")
    return StageFailedError("\n".join(said) or f"run {result.run_id} failed", "\n".join(traces))


def in_short(message: str) -> str:
    """An error's message without the name of its class; of a long one (a process's last words) both ends."""
    lines = [line for line in message.strip().splitlines() if line.strip()] or ["no message"]
    name, colon, rest = lines[0].partition(": ")
    first = rest if colon and name.replace(".", "").replace("_", "").isalnum() and name.endswith("Error") else lines[0]
    return first if len(lines) <= LINES_SHOWN else f"{first}\n  ...\n  {lines[-1].strip()}"
