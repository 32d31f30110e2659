"""Env vars in, one frozen ``Settings`` out: defaults, types, ranges, every fault at once.

Runs on the standard library alone, before anything is installed. Precedence, lowest first: the table's
default, its column for no GPU, its column for ``builtin:tiny``, env vars, flags (which ``train.sh`` turns into
env vars). Raw verl overrides come after all of these.
"""

import difflib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from trainer import ROOT
from trainer.knobs import AUTO, Knob, Value, load_knobs

OVERRIDE = re.compile(r"(\+{0,2}[\w./@-]+=.*|~[\w./@-]+(=.*)?)", re.DOTALL)
DEFAULT_MODEL_ENV = "MODEL_PATH"


class UserError(Exception):
    """What the person can mend: one line a fault; the command ends with exit status 2."""

    def __init__(self, *faults: str) -> None:
        self.faults = faults
        super().__init__("\n".join(faults))


@dataclass(frozen=True)
class Settings:
    """The knobs of one run, by env var, and the raw overrides for verl."""

    values: Mapping[str, Value]
    overrides: tuple[str, ...] = ()
    given: frozenset[str] = field(default_factory=frozenset)

    def text(self, env: str) -> str:
        """Return a text knob."""
        value = self.values[env]
        assert isinstance(value, str), env
        return value

    def integer(self, env: str) -> int:
        """Return a whole-number knob."""
        value = self.values[env]
        assert isinstance(value, int), env
        return value

    @property
    def output(self) -> Path:
        """The folder of runs and checkpoints: the kit's own, unless one was given."""
        base = Path.cwd() if "OUTPUT_DIR" in self.given else ROOT
        return (base / Path(self.text("OUTPUT_DIR")).expanduser()).resolve()

    def environment(self) -> dict[str, str]:
        """Return the knobs as env vars, in the form that ``config/*.yaml`` reads."""
        return {env: _as_env(value) for env, value in self.values.items()}


def _as_env(value: Value) -> str:
    if isinstance(value, list):
        return ",".join(value)
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)


def gpu_count() -> int:
    """Return the number of NVIDIA GPUs, from the driver's tool; 0 where there is none."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return 0
    try:
        listing = subprocess.run([tool, "-L"], capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return 0
    return sum(line.startswith("GPU ") for line in listing.stdout.splitlines())


def read_settings(environ: Mapping[str, str], words: Sequence[str], gpus: int | None = None) -> Settings:
    """Read the knobs from ``environ`` and the raw overrides from ``words``.

    ``gpus`` is the number of GPUs; by default it is asked from the machine.

    Raises:
        UserError: with every fault found, one line each.
    """
    knobs = load_knobs()
    given = frozenset(environ.get("KIT_GIVEN", "").split())
    faults = _faults_of_words(environ, words, knobs)
    values: dict[str, Value] = {}
    typed: set[str] = set()
    for knob in knobs:
        text = environ.get(knob.env, "")
        if not text:
            continue
        try:
            values[knob.env] = knob.parse(text)
            typed.add(knob.env)
        except ValueError as error:
            name = f"--{knob.flag}" if knob.env in given else knob.env
            faults.append(f"{name}={text!r}: {error}")
    gpus = gpu_count() if gpus is None else gpus
    device = values.get("DEVICE", AUTO)
    if device == AUTO:
        device = "cuda" if gpus else "cpu"
    if device == "cuda" and not gpus:
        faults.append("--device cuda: nvidia-smi lists no GPU on this machine; use --device cpu")
    values = _with_defaults(knobs, values, str(device)) | {"DEVICE": device}
    if values["N_GPUS"] == AUTO:
        values["N_GPUS"] = max(gpus, 1)
    faults += _contradictions(values, gpus)
    if faults:
        raise UserError(*faults)
    return Settings(values, tuple(words), frozenset(typed))


def _with_defaults(knobs: Sequence[Knob], values: Mapping[str, Value], device: str) -> dict[str, Value]:
    """Fill in what was not given. The model first: a column of defaults is its own."""
    out = dict(values)
    for knob in sorted(knobs, key=lambda knob: knob.env != DEFAULT_MODEL_ENV):
        if knob.env in out:
            continue
        text = knob.default
        if device == "cpu" and knob.cpu:
            text = knob.cpu
        if knob.tiny and out.get(DEFAULT_MODEL_ENV) == "builtin:tiny":
            text = knob.tiny
        if knob.env == "TOTAL_STEPS" and "EPOCHS" in values:
            text = AUTO  # who asks for epochs gets them whole
        out[knob.env] = knob.parse(text) if text else ""
    return out


def _contradictions(values: Mapping[str, Value], gpus: int) -> list[str]:
    faults = []

    def number(env: str) -> int:
        value = values[env]
        return value if isinstance(value, int) else 1

    if values["DEVICE"] == "cuda" and gpus and number("N_GPUS") > gpus:
        faults.append(f"--n_gpus {values['N_GPUS']}: this machine has {gpus}; ask for {gpus} or fewer")
    if number("MINI_BATCH_SIZE") > number("BATCH_SIZE"):
        faults.append(
            f"--mini_batch_size {values['MINI_BATCH_SIZE']} is larger than --batch_size {values['BATCH_SIZE']}; "
            "lower one or raise the other"
        )
    ranks = number("N_GPUS")
    for flag in ("BATCH_SIZE", "MINI_BATCH_SIZE"):
        samples = number(flag) * number("ROLLOUT_N")
        if samples % ranks:
            faults.append(
                f"--{flag.lower()} {values[flag]} with --rollout_n {values['ROLLOUT_N']} gives {samples} samples, "
                f"which {ranks} GPUs cannot share evenly; take a multiple of {ranks}"
            )
    if ranks % number("ROLLOUT_TP_SIZE"):
        faults.append(f"--rollout_tp_size {values['ROLLOUT_TP_SIZE']} does not divide --n_gpus {ranks}")
    if values["DATA"] != "builtin:arith" and not values["VAL_DATA"]:
        faults.append(f"--data {values['DATA']}: give --val_data too, the held-out prompts to measure progress on")
    return faults


def _faults_of_words(environ: Mapping[str, str], words: Sequence[str], knobs: Sequence[Knob]) -> list[str]:
    flags = [knob.flag for knob in knobs]
    faults = []
    for name in filter(None, environ.get("KIT_UNKNOWN", "").split("\n")):
        if name.endswith(" (no value)"):
            flag = name.removesuffix(" (no value)")
            faults.append(f"--{flag}: a value is missing; write --{flag} VALUE or --{flag}=VALUE")
            continue
        near = difflib.get_close_matches(name, flags, n=1)
        hint = f"did you mean --{near[0]}?" if near else "./train.sh --help lists them all"
        faults.append(f"--{name}: there is no such flag; {hint}")
    faults += [
        f"{word!r}: neither a flag (--name) nor an override for verl (key=value)"
        for word in words
        if not OVERRIDE.fullmatch(word)
    ]
    return faults


def fail(error: UserError) -> int:
    """Print the faults as the whole kit does, and return the exit status."""
    for fault in error.faults:
        print(f"train.sh: {fault}", file=sys.stderr)
    return 2


def main() -> int:
    """Check everything that was typed; print the device, which is all that set-up needs to know."""
    try:
        print(read_settings(os.environ, sys.argv[1:]).text("DEVICE"))
    except UserError as error:
        return fail(error)
    return 0


if __name__ == "__main__":
    sys.exit(main())
