"""Keys and passwords that somebody types as a flag or an override: refused, as what is typed is saved with the run.

The value is never repeated: what is refused here reaches no file, and the terminal only as it was typed.
"""

import re
from collections.abc import Iterator, Mapping

from reward.support.secret import LOOKS_SECRET, holds_secret, is_secret_name, is_secret_value
from trainer.settings.knobs import Value

REMEDY = "export it as an env var, which no file of the run gets, and leave it out here"
# Names that always mean a secret; others ("key", "token") are words of verl's own settings too: data.prompt_key=prompt.
STRONG = re.compile(r"passw|passphrase|secret|api_?key|access_?key|credential|dsn|webhook|connection_?string", re.I)
NOTHING = re.compile(r"['\"]?(|null|none|true|false|[\d.e+-]+|\$\{.*|\*+|<.*|\[.*|[a-z]+(_[a-z]+)*)['\"]?", re.I | re.S)
EMPTY = re.compile(r"['\"]?(|null|none|true|false|\$\{.*|\*+)['\"]?", re.I | re.S)
# Of a dictionary: {api_key: x, ...}. A name is tried from its first letter alone, or time would grow with its square.
INSIDE = re.compile(r"(?<![\w.-])['\"]?([\w.-]+)['\"]?\s*[:=]\s*(['\"]?[^\s,}\]]+)")
LENGTH = 20  # characters from which a text that has the form of a key is taken for one, whatever its name


def fault_of_word(word: str) -> str:
    """Return what is wrong with an override (key=value) that holds a secret; empty where nothing is."""
    key, _, value = word.lstrip("+~").partition("=")
    key = key.strip()
    if name := holds_secret(word):
        return f"{_shown(key)}: it holds the value of {name}; {REMEDY}"
    named = [(key, value), *(match.groups() for match in INSIDE.finditer(value))]
    if any(_is_secret(name.rsplit(".", 1)[-1], text) for name, text in named) or _has_form(word):
        return f"{_shown(key)}: a key, token or password in an override is saved with the run; {REMEDY}"
    return ""


def faults_of_knobs(values: Mapping[str, Value], explicit: frozenset[str]) -> Iterator[str]:
    """Say which of the knobs that were given holds a secret."""
    for env in sorted(explicit & values.keys()):
        value = values[env]
        for text in value if isinstance(value, list) else [value]:
            if not isinstance(text, str):
                continue
            if name := holds_secret(text):
                yield f"{env} (--{env.lower()}): it holds the value of {name}; {REMEDY}"
            elif _has_form(text):
                yield f"{env} (--{env.lower()}): a key, token or password is saved with the run; {REMEDY}"


def _is_secret(name: str, value: str) -> bool:
    if not is_secret_name(name):
        return False
    if STRONG.search(name):
        return not EMPTY.fullmatch(value.strip())
    return not NOTHING.fullmatch(value.strip()) and is_secret_value(value.strip().strip("'\""))


def _has_form(text: str) -> bool:
    """Whether there is a key of a known form in a text; a short one may be part of a file's name."""
    return any(len(match[0]) >= LENGTH or "@" in text[match.end() :][:1] for match in LOOKS_SECRET.finditer(text))


def _shown(key: str) -> str:
    """Return the key of an override; nothing of a word that has none."""
    return key if re.fullmatch(r"[\w./@-]{1,120}", key) and not LOOKS_SECRET.search(key) else "an override"
