"""From a model specification to a folder on this machine, or to what is known of a model on the hub."""

import fcntl
import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
# name -> the modules that its weights depend on; the first makes it: python -m data.NAME FOLDER
BUILTIN: dict[str, tuple[str, ...]] = {"tiny": ("tiny", "arith"), "smollm2": ("smollm2",)}
SEEDED = {"tiny"}
# What their config.json will say of sizes, before they are made.
SIZES: dict[str, dict[str, object]] = {
    "tiny": {
        **{"architectures": ["Qwen2ForCausalLM"], "vocab_size": 264, "hidden_size": 128, "intermediate_size": 512},
        **{"num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 4, "tie_word_embeddings": True},
        "max_position_embeddings": 512,
    },
    "smollm2": {
        **{"architectures": ["LlamaForCausalLM"], "vocab_size": 49152, "hidden_size": 576, "intermediate_size": 1536},
        **{"num_hidden_layers": 30, "num_attention_heads": 9, "num_key_value_heads": 3, "tie_word_embeddings": True},
        "max_position_embeddings": 8192,
    },
}


class ModelError(ValueError):
    """A model that cannot be had; the message says which, why and what to do."""


@dataclass(frozen=True)
class Model:
    """A model that is there: where verl loads it from, and its ``config.json``."""

    path: str
    config: dict[str, object]

    @property
    def head_size(self) -> int | None:
        """Size of an attention head; None where the configuration does not tell."""
        text = self.config.get("text_config", self.config)
        assert isinstance(text, dict)
        if isinstance(text.get("head_dim"), int):
            return int(text["head_dim"])
        if "hidden_size" in text and "num_attention_heads" in text:
            return int(text["hidden_size"]) // int(text["num_attention_heads"])
        return None


def find(spec: str, cache: Path, seed: int, say: Callable[[str], None], fetch: bool = True) -> Model:
    """Return the model that ``spec`` names, making a built-in one in ``cache`` if it is not there yet.

    Without ``fetch`` nothing is made and the hub is not asked: a model of the hub then has an empty configuration,
    and a built-in one that is not here yet has its sizes alone.

    Raises:
        ModelError: there is no such model, or it cannot be reached.
    """
    if spec.startswith("builtin:"):
        folder = _builtin_folder(spec, cache, seed)
        if not folder.is_dir() and not fetch:
            return Model(str(folder), SIZES[spec.removeprefix("builtin:")])
        _make_builtin(spec, folder, seed, say)
    elif Path(spec).expanduser().is_dir():
        folder = Path(spec).expanduser().resolve()
    elif spec.startswith(("/", "./", "../", "~")):
        raise ModelError(f"--model {spec}: there is no such folder")
    else:
        return Model(spec, _hub_config(spec) if fetch else {})
    file = folder / "config.json"
    if not file.is_file():
        raise ModelError(f"--model {spec}: the folder has no config.json; give a Hugging Face model folder")
    try:
        return Model(str(folder), json.loads(file.read_text(encoding="utf-8")))
    except ValueError as error:
        raise ModelError(f"--model {spec}: config.json is not JSON ({error})") from None


def _builtin_folder(spec: str, cache: Path, seed: int) -> Path:
    name = spec.removeprefix("builtin:")
    if name not in BUILTIN:
        raise ModelError(
            f"--model {spec}: there is no such built-in model; there are builtin:{', builtin:'.join(BUILTIN)}"
        )
    recipe = b"".join((HERE / f"{module}.py").read_bytes() for module in BUILTIN[name])
    seeded = f"-seed{seed}" if name in SEEDED else ""
    return cache / f"{name}{seeded}-{hashlib.sha256(recipe).hexdigest()[:12]}"


def _make_builtin(spec: str, folder: Path, seed: int, say: Callable[[str], None]) -> None:
    if folder.is_dir():
        return
    name, cache = spec.removeprefix("builtin:"), folder.parent
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / f".{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # a second run waits for this one
        if not folder.is_dir():
            for stale in cache.glob(f"{folder.name}.*.part"):  # of a run that was ended at this point
                shutil.rmtree(stale)
            say(f"making {spec} (once; kept in {folder})")
            command = [sys.executable, "-m", f"data.{name}", str(folder)]
            _make(spec, command + (["--seed", str(seed)] if name in SEEDED else []), say)


def _make(spec: str, command: list[str], say: Callable[[str], None]) -> None:
    with tempfile.TemporaryFile("w+") as stderr:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, text=True, cwd=HERE.parent)
        try:
            assert process.stdout is not None
            for line in process.stdout:
                say(line.rstrip())
            process.wait()
        finally:  # a signal may end this process here; the other must not go on
            process.kill()
            process.wait()
        stderr.seek(0)
        errors = stderr.read().strip().splitlines()
    if process.returncode:
        raise ModelError(
            f"--model {spec} could not be made: {errors[-1] if errors else f'status {process.returncode}'}"
        )


def _hub_config(name: str) -> dict[str, object]:
    from huggingface_hub import HfApi, hf_hub_download, try_to_load_from_cache
    from huggingface_hub.errors import GatedRepoError, HFValidationError, RepositoryNotFoundError

    try:
        cached = try_to_load_from_cache(name, "config.json")
        if not isinstance(cached, str):
            HfApi().model_info(name, timeout=10)  # asks once, where a download would retry for half a minute
            cached = hf_hub_download(name, "config.json")
        return dict(json.loads(Path(cached).read_text(encoding="utf-8")))
    except HFValidationError:
        reason = "neither a folder on this machine nor a name of the Hugging Face hub (owner/name)"
    except GatedRepoError:
        reason = "the hub gives it only to those who accepted its terms; accept them there and export HF_TOKEN"
    except RepositoryNotFoundError:
        reason = "the hub has no such model; check the name, or export HF_TOKEN if it is private"
    except Exception as error:
        reason = (
            "no such folder here, not in the Hugging Face cache, and the hub cannot be reached "
            f"({type(error).__name__}); give a folder, or builtin:tiny or builtin:smollm2, which need no hub"
        )
    raise ModelError(f"--model {name}: {reason}")
