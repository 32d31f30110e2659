"""``./train.sh check_reward``: can the reward tell good answers from bad ones?"""

from collections.abc import Sequence

from data import parquet
from reward.support.wording import shown
from trainer.checks import preflight, reward_check
from trainer.checks.multi_turn import environment_check
from trainer.composition import reward_spec
from trainer.runs import folders
from trainer.settings.settings import Settings
from trainer.user_error import UserError, say


def run(settings: Settings, arguments: Sequence[str]) -> int:
    """Score good, empty and other rows' answers of the data, as each launch does; return the exit status.

    A reward model ranks the built-in pairs, and the exact text that it sees of one row is printed. An environment is
    played at random and, where it knows a good action, well.

    Raises:
        UserError: the data has faults, the environment breaks, or good and bad cannot be told apart.
    """
    if arguments:
        raise UserError(f"check_reward: the data is given by --data; leave out {shown(' '.join(arguments), 200)}")
    if settings.text("ENV_NAME"):
        return _environment(settings)
    return _of_data(settings)


def _of_data(settings: Settings) -> int:
    reward = settings.reward
    if not (reward.by_rule or reward.by_model or settings.text("REWARD_FN")) or reward_spec.is_overridden(settings):
        raise UserError("check_reward: only rules, --reward_fn and --reward_model can be checked")
    faults = [*folders.output_faults(settings), *reward_check.function_faults(settings)]
    if faults:
        raise UserError(*faults)
    try:
        train_file, _ = preflight.data_files(settings)
    except parquet.DataError as error:
        raise UserError(*error.faults) from None
    except parquet.DataNotRead as error:
        raise UserError(f"--data {error}: it takes long to read, so leave out --dry_run") from None
    verdict = reward_check.try_out(settings, train_file)
    for line in verdict.lines:
        say(line)
    if reward.by_model:
        from trainer.checks import reward_model

        spec = reward_model.plan(settings)
        text = reward_model.shown(spec, parquet.sample(train_file, 1)[0])
        print(f"the reward model sees, of the first row with its ground truth as the answer:\n{text}\n")
        for line in reward_model.try_out(settings, spec):
            say(line)
    if settings.switch("REWARD_CHECK") and reward.kind != "model":
        if len(verdict.unchecked) >= len(verdict.lines) > 0:
            say("no good and bad answers were compared: nothing is known of the reward on these rows")
        elif verdict.unchecked:
            say(f"good and bad answers can be told apart, but for {', '.join(verdict.unchecked)}, not checked")
        else:
            say("good and bad answers can be told apart")
    return 0


def _environment(settings: Settings) -> int:
    line, played = environment_check.try_out(settings)
    say(line)
    if played.differs:
        say("good and bad play can be told apart")
    elif settings.switch("REWARD_CHECK"):
        say("good and bad play were not compared: nothing is known of the reward of this environment")
    return 0
