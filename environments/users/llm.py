"""A user played by a model over an OpenAI-compatible endpoint, and held to its goal.

One prompt holds goal and conversation, so that the same conversation gets the same reply again without a call. A reply
that is not the user's to give (`environments.users.faithful`) is the user's failure: the attempt has no result, and the
agent is not blamed. So is an endpoint that gives no answer; one that can give none at all ends the run.
"""

import hashlib
import inspect
import json
from functools import cached_property
from importlib.resources import files
from string import Template
from typing import Final

from environments.episode import Attempt, Exchange
from environments.one_by_one import OneByOne
from environments.task import UserGoal
from environments.transport import NoResult, RequestRefused
from environments.user import Reply, UserFailure
from environments.users import asking, faithful, scripted, telling

END: Final = "[END]"
"""The model's mark that nothing more will come."""
_AGAIN: Final = "\nThis reply of yours was not sound, for it {wrong}: {reply}\nWrite another.\n"
_PERSONAS: Final = {
    "plain": "plainly and politely.",
    "impatient": "you are short of time. When asked for the same thing twice, or more than $patience times in all, "
    "say that you have no time, and write $mark.",
    "forgetful": "you forget things. The first time that the agent asks for a fact, say that you do not remember; tell "
    "it when asked for it again.",
}


class LlmUser:
    """Speaks for the user through a model; an `environments.user.User`."""

    def __init__(self, ask: OneByOne, *, tries: int = 2) -> None:
        """Set it up.

        Args:
            ask: the endpoint, already opened.
            tries: how many replies may be asked for, each with what was wrong with the one before.
        """
        self.ask, self.tries = ask, tries

    @cached_property
    def version(self) -> str:
        """Hash of model, sampling, prompt and the code that reads and judges its replies."""
        endpoint = self.ask.client.endpoint
        code = [inspect.getsource(module) for module in (asking, faithful, scripted, telling)]
        told = [endpoint.model, endpoint.sampling, self.tries, _template().template, _PERSONAS, _AGAIN, code]
        return "llm-" + hashlib.blake2b(json.dumps(told, sort_keys=True).encode(), digest_size=8).hexdigest()

    def reply(self, attempt: Attempt, said: str) -> Reply:
        """Answer what the agent just said.

        Raises:
            UserFailure: the model gave no answer, or one that is not the user's to give.
            EndpointUnusable: the server will answer nothing at all.
            BudgetSpent: the answer might pass a limit.
        """
        goal = attempt.task.user
        if goal is None:
            raise ValueError(
                f"task {attempt.task.task_id} has no user to speak for: its instruction is all that is said"
            )
        prompt, wrong = prompt_of(attempt, goal, said), None
        for _ in range(self.tries):
            text = self._answer(prompt)
            words, ended = text.replace(END, "").strip(), END in text
            wrong = faithful.mistake(attempt, said, words, ended=ended)
            if wrong is None:
                return Reply(words or goal.closing, ended or len(attempt.exchanges) >= goal.max_replies)
            prompt += _AGAIN.format(reply=json.dumps(text, ensure_ascii=False), wrong=wrong)
        raise UserFailure(wrong or "was never asked (tries=0)")

    def _answer(self, prompt: str) -> str:
        try:
            return self.ask(prompt)
        except (NoResult, RequestRefused) as error:
            raise UserFailure(f"no answer: {error}") from error


def prompt_of(attempt: Attempt, goal: UserGoal, said: str) -> str:
    """The prompt for the reply to `said`; what others said stands in JSON's quotes, so that it cannot pass for ours."""
    facts = [f"- {name}: {json.dumps(saying, ensure_ascii=False)}" for name, saying in goal.facts.items()]
    talk = [*attempt.exchanges, Exchange(len(attempt.steps), said, "")]
    turns = [(("Agent", e.said), ("You", e.reply)) for e in talk]
    lines = [f"{who}: {json.dumps(words, ensure_ascii=False)}" for pair in turns for who, words in pair][:-1]
    return _template().substitute(
        request=json.dumps(attempt.instruction, ensure_ascii=False),
        facts="\n".join(facts) or "- nothing",
        persona=Template(_PERSONAS[goal.persona]).substitute(patience=goal.patience, mark=END),
        consent=json.dumps(goal.consent, ensure_ascii=False),
        closing=json.dumps(goal.closing, ensure_ascii=False),
        mark=END,
        talk="\n".join(lines),
    )


def _template() -> Template:
    return Template(files("environments.users").joinpath("llm.md").read_text(encoding="utf-8"))
