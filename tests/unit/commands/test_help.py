"""``./train.sh --help`` in both languages: all there, and the same names and numbers in either."""

import re

import pytest

from trainer.commands.standalone import help
from trainer.settings.knobs import COMMANDS, load_knobs
from trainer.user_error import UserError

KNOBS = load_knobs()
CHINESE = help.chinese()
# What is no word of a language: flags, names with an underscore, files, placeholders, options in lower case, numbers.
NAMES = re.compile(
    r"--\w+|\{\w+\}|\b[a-z]+_[a-z_]+\b|\b[A-Z]{2,}_[A-Z_]+\b|[\w.]+\.(?:py|json|html|yaml|jsonl)\b|\d+(?:,\d+)*"
)


def names(text: str) -> set[str]:
    return set(NAMES.findall(re.sub(r"(?<=\d)(?=[^\x00-\x7f])", " ", text)))


def test_each_knob_and_command_is_there() -> None:
    assert list(CHINESE.knobs) == [knob.flag for knob in KNOBS]
    assert list(CHINESE.commands) == list(COMMANDS)


@pytest.mark.parametrize("knob", KNOBS, ids=lambda knob: knob.flag)
def test_a_knob_says_the_same(knob) -> None:
    assert names(CHINESE.knobs[knob.flag]) == names(knob.help)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_says_the_same(command) -> None:
    assert names(CHINESE.commands[command]) == names(COMMANDS[command])


def test_the_text_has_all_of_it() -> None:
    english, chinese = (help.help_text(KNOBS, words) for words in (help.Language(), CHINESE))
    assert len(english.splitlines()) == len(chinese.splitlines())
    for knob in KNOBS:
        assert knob.help in english
        assert CHINESE.knobs[knob.flag] in chinese
    assert not re.search(r"\b(?:the|of|default)\b", chinese)


@pytest.mark.parametrize(
    ("words", "environ", "expected"),
    [
        ([], {}, "en"),
        ([], {"LANG": "zh_CN.UTF-8"}, "zh"),
        ([], {"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}, "en"),
        (["--lang", "zh"], {"LANG": "C"}, "zh"),
        (["--lang=en"], {"LANG": "zh_TW"}, "en"),
    ],
)
def test_the_language(words, environ, expected) -> None:
    assert help.language(words, environ) == expected


@pytest.mark.parametrize("words", [["--lang", "fr"], ["--lang"]])
def test_a_language_that_there_is_none_of(words) -> None:
    with pytest.raises(UserError, match="there are en and zh"):
        help.language(words, {})
