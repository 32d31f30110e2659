"""From verl's sharded checkpoint of the actor to a Hugging Face folder that transformers and vLLM load.

Run as ``python -m trainer.export.export CHECKPOINT FOLDER RUN``, after training and in a process of its own, as it
holds the whole model in memory.
"""

import argparse
import os
import shutil
from pathlib import Path

from trainer.export import model_card
from trainer.monitor.report import run_record
from trainer.runs.checkpoint_pickles import strict_loading
from trainer.runs.checkpoints import step_of

ADAPTER = "lora_adapter"


def export(checkpoint: Path, folder: Path, run: Path) -> None:
    """Write the model of ``checkpoint`` (the actor's folder of a step) to ``folder``, which appears when complete.

    With LoRA the folder holds the merged model, and the adapter alone in ``lora_adapter``. ``run`` is the run's
    folder, whose figures are in the model card.
    """
    from verl.model_merger.base_model_merger import ModelMergerConfig
    from verl.model_merger.fsdp_model_merger import FSDPModelMerger

    part = folder.with_name(f"{folder.name}.{os.getpid()}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    config = ModelMergerConfig(
        operation="merge",
        backend="fsdp",
        local_dir=str(checkpoint),
        hf_model_config_path=str(checkpoint / "huggingface"),
        target_dir=str(part),
    )
    with strict_loading():
        FSDPModelMerger(config).merge_and_save()
    if (part / ADAPTER).is_dir():
        merge_adapter(part)
    check(part)
    model_card.write(part, run_record.read(run), step_of(checkpoint.parent))
    share(part)
    part.rename(folder)


def share(folder: Path) -> None:
    """Give the files the mode that others of this person have: safetensors writes its own for the owner alone."""
    mask = os.umask(0)
    os.umask(mask)
    for path in folder.rglob("*"):
        if path.is_file():
            path.chmod(0o666 & ~mask)


def merge_adapter(folder: Path) -> None:
    """Merge the LoRA adapter in ``folder`` into the base weights beside it."""
    import torch
    from peft import PeftModel
    from transformers import AutoModelForCausalLM

    base = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, trust_remote_code=False)
    merged = PeftModel.from_pretrained(base, folder / ADAPTER).merge_and_unload()
    merged.to(torch.bfloat16).save_pretrained(folder)


def check(folder: Path) -> None:
    """Load the folder as a user would and draw one token.

    Raises:
        RuntimeError: it does not load whole.
    """
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model, report = AutoModelForCausalLM.from_pretrained(folder, output_loading_info=True, trust_remote_code=False)
    if report["missing_keys"] or report["unexpected_keys"]:
        raise RuntimeError(f"the exported model is not whole: {report}")
    tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
    prompt = tokenizer.apply_chat_template(
        [{"role": "user", "content": "1"}], add_generation_prompt=True, return_tensors="pt", return_dict=True
    )
    with torch.no_grad():
        logits = model(**prompt).logits
    if not torch.isfinite(logits).all():
        raise RuntimeError("the exported model gives values that are not finite")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("run", type=Path)
    arguments = parser.parse_args()
    export(arguments.checkpoint, arguments.folder, arguments.run)
