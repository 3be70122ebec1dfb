"""Reward = veto x outcome x rubric, with the evidence of each: the verifier of tasks that name a rubric.

The outcome is 1 where the task states no goal, as long as nothing was written unasked; the rubric is 1 where none is
asked. Success is 1 in every dimension. The judge is asked only where veto and outcome left something to grade: what is
0 already is 0 whatever a judge says, and a judge without an answer gives no result, never a zero.

Source: pipeline stage 7; AMAP report (hard veto, conjunction over dimensions).
"""

import hashlib
import inspect
import sys
from collections.abc import Iterable
from functools import cached_property

from environments import judge as judge_module
from environments.episode import Attempt, Dimension, NoResult, Scored, Verdict
from environments.judge import Asked, Grade, Judge, NoGrade, Rated
from environments.judges.programmatic import ProgrammaticJudge
from environments.task import Goal, Task
from environments.verifier import Verifier, VerifierError, judged_by
from environments.verifiers import eval_tree as tree_module
from environments.verifiers import rubric as rubric_module
from environments.verifiers.outcome import OutcomeVerifier, vetoed
from environments.verifiers.rubric import Rubrics
from environments.verifiers.script_reward import ScriptReward
from environments.verifiers.state import state_failure
from environments.verifiers.veto import unsupported
from environments.world import World


class ComposedVerifier:
    """Grades by state and facts, and by a judge what only a rubric tells; an `environments.verifier.JudgedVerifier`."""

    def __init__(self, judge: Judge, rubrics: Rubrics | None = None) -> None:
        """Make it.

        Args:
            judge: answers the questions of the rubrics; whether it may gate data is measured elsewhere.
            rubrics: what tasks name; None for those that ship with Loopwright.
        """
        self.judge, self.rubrics, self.outcome = judge, rubrics or Rubrics(), OutcomeVerifier(beside_rubric=True)

    @cached_property
    def version(self) -> str:
        """Hash of the code that puts a verdict together; judge and rubrics have hashes of their own."""
        modules = (sys.modules[__name__], rubric_module, tree_module, judge_module)
        source = self.outcome.version + "".join(inspect.getsource(module) for module in modules)
        return "composed-" + hashlib.blake2b(source.encode(), digest_size=8).hexdigest()

    @property
    def judge_version(self) -> str:
        """Of the judge."""
        return self.judge.version

    @property
    def rubric_version(self) -> str:
        """Of all rubrics together."""
        return self.rubrics.version

    def grade(self, attempt: Attempt, world: World) -> Verdict:
        """Grade one finished attempt.

        Raises:
            VerifierError: the task names a rubric that does not exist.
        """
        goal = attempt.task.goal
        before = self.outcome.grade(attempt, world) if states_something(goal) else _without_goal(attempt, world)
        name = attempt.task.rubric
        if name is None or not before.reward:
            return before
        try:
            rubric = self.rubrics.named(name)
        except ValueError as error:
            raise VerifierError(f"task {attempt.task.task_id}: {error}") from error
        questions = rubric.questions
        found = self.judge.judge([Asked(attempt, question) for question in questions])
        grades = [grade for grade in found if isinstance(grade, Grade)]
        missing = [(q.name, g.cause) for q, g in zip(questions, found, strict=True) if isinstance(g, NoGrade)]
        if missing:
            return NoResult("judge: {}: {}".format(*missing[0]))
        return _scored(before, rubric.rated(grades))


def states_something(goal: Goal) -> bool:
    """Whether a goal asks for more than that nothing is written."""
    return goal != Goal()


def verifier_for(tasks: Iterable[Task], judge: Judge | None = None, rubrics: Rubrics | None = None) -> Verifier:
    """The verifier that these tasks need: one with a judge only where a task names a rubric.

    Results of tasks without rubrics thus keep their key when a judge or a rubric changes.

    Args:
        tasks: all tasks that will be graded under one key.
        judge: None for the one that works without a model.
        rubrics: None for those that ship with Loopwright.

    Raises:
        ValueError: some of them bring tests of their own along, and others do not.
    """
    tasks = list(tasks)
    if scripted := [task for task in tasks if task.goal.script is not None]:
        if len(scripted) < len(tasks):
            raise ValueError(
                f"{len(scripted)} of {len(tasks)} tasks bring tests of their own along, which another verifier runs: "
                "keep them in a file of their own"
            )
        return ScriptReward()
    if any(task.rubric is not None for task in tasks):
        return ComposedVerifier(judge or ProgrammaticJudge(), rubrics)
    return OutcomeVerifier()


def versions_of_judging(tasks: Iterable[Task]) -> dict[str, str]:
    """Judge and rubrics under which these tasks are graded, as inputs of a run; empty where no task names a rubric."""
    found = judged_by(verifier_for(tasks))
    return {} if found["rubric"] == "none" else found


def _without_goal(attempt: Attempt, world: World) -> Scored:
    """Veto and state where the task states no goal: any answer may do, but none that makes things up or writes."""
    if attempt.answer is None:
        return _zero(attempt.ended or "no_answer", attempt.failure or "")
    failed = state_failure(attempt.task.goal, world)
    if (found := unsupported(attempt, world)) is not None:
        return vetoed(found, outcome=float(not failed))
    return _zero(*failed) if failed else Scored(1.0, outcome=1.0, vetoed=False, cause="ok")


def _zero(cause: str, evidence: str) -> Scored:
    return Scored(0.0, outcome=0.0, vetoed=False, cause=cause, evidence=evidence)


def _scored(before: Scored, rated: Rated) -> Scored:
    """The verdict so far times the rubric, its weakest dimension as the cause."""
    weakest = _weakest(rated)
    return Scored(
        before.reward * rated.score,
        outcome=before.outcome,
        vetoed=before.vetoed,
        cause=f"rubric_{weakest.name}" if weakest else before.cause,
        evidence=weakest.reason if weakest else before.evidence,
        rubric=rated.score,
        dimensions=rated.dimensions,
    )


def _weakest(rated: Rated) -> Dimension | None:
    """The dimension that cost most, or None where all that count are perfect."""
    short = [d for d in rated.dimensions if d.weight and d.score < judge_module.PERFECT]
    return max(short, key=lambda d: (d.weight * (1 - d.score), d.name), default=None)
