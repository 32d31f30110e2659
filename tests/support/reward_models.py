"""Reward models with random weights: the architectures, config keys, weight names and tokenizer shapes of real ones."""

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import (
    DebertaV2Config,
    DebertaV2ForSequenceClassification,
    LlamaConfig,
    LlamaForSequenceClassification,
    LlamaModel,
    PreTrainedTokenizerFast,
    Qwen3Config,
    Qwen3ForSequenceClassification,
)

OBJECTIVES = 19
THETA = 500_000.0  # Llama 3's
LLAMA3 = (
    "{{ bos_token }}{% for m in messages %}{{ '<|start_header_id|>' + m['role'] + '<|end_header_id|>\n\n' "
    "+ m['content'] | trim + '<|eot_id|>' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %}"
)
CHATML = (
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


def byte_tokenizer(special: tuple[str, ...], template: str, **options: Any) -> PreTrainedTokenizerFast:
    """Byte-level, as Llama 3 and Qwen have it; one that adds a BOS does so in its post-processor, as Llama 3's does."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE(vocab={char: i for i, char in enumerate(alphabet)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(text, special=True) for text in special])
    bos = options.get("bos_token")
    if bos:
        number = tokenizer.token_to_id(bos)
        tokenizer.post_processor = processors.TemplateProcessing(single=f"{bos} $A", special_tokens=[(bos, number)])
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, chat_template=template, **options)


def llama2_tokenizer(add_bos: bool = True) -> PreTrainedTokenizerFast:
    """Sentencepiece with byte fallback: <unk> 0, <s> 1, </s> 2, bytes, letters; adds a BOS; no pad token."""
    letters = "▁abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,?!+=<>[]/:\n"
    words = ["<unk>", "<s>", "</s>", *(f"<0x{i:02X}>" for i in range(256)), *letters]
    vocab = {word: i for i, word in enumerate(words)}
    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=[], unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    tokenizer.add_special_tokens([AddedToken(t, special=True, normalized=False) for t in ("<unk>", "<s>", "</s>")])
    if add_bos:
        tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", unk_token="<unk>")


def deberta_tokenizer() -> PreTrainedTokenizerFast:
    """Unigram, [PAD] 0, [CLS] 1, [SEP] 2, [UNK] 3; a pair is [CLS] A [SEP] B [SEP] with types 0 and 1."""
    letters = "▁abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,?!+=:"
    words = [("[PAD]", 0.0), ("[CLS]", 0.0), ("[SEP]", 0.0), ("[UNK]", 0.0), *((c, -4.0) for c in letters)]
    tokenizer = Tokenizer(models.Unigram(words, unk_id=3, byte_fallback=False))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    names = ("[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]")
    tokenizer.add_special_tokens([AddedToken(text, special=True) for text in names])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS]:0 $A:0 [SEP]:0",
        pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 1), ("[SEP]", 2)],
    )
    keys = ("pad_token", "cls_token", "sep_token", "unk_token", "mask_token")
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **dict(zip(keys, names, strict=True)))


def llama3_tokenizer() -> PreTrainedTokenizerFast:
    special = (
        "<|begin_of_text|>",
        "<|end_of_text|>",
        "<|start_header_id|>",
        "<|end_header_id|>",
        "<|eot_id|>",
        "[PAD]",
    )
    return byte_tokenizer(
        special, LLAMA3, bos_token="<|begin_of_text|>", eos_token="<|eot_id|>", pad_token="[PAD]", unk_token=None
    )


def qwen_tokenizer() -> PreTrainedTokenizerFast:
    special = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
    return byte_tokenizer(special, CHATML, eos_token="<|im_end|>", pad_token="<|endoftext|>")


def sizes(tokenizer: Any, **more: Any) -> dict[str, Any]:
    """Small, with heads of 32, the least that vLLM's CPU attention serves."""
    return {
        "vocab_size": len(tokenizer) + (-len(tokenizer)) % 8,
        "hidden_size": 64,
        "intermediate_size": 96,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "max_position_embeddings": 4096,
        **more,
    }


def louder(model: Any) -> Any:
    """Random weights large enough that scores differ in their first digits."""
    generator = torch.Generator().manual_seed(7)
    for parameter in model.parameters():
        if parameter.dim() > 1:
            parameter.data = torch.randn(parameter.shape, generator=generator) * 0.15
    return model


def skywork_qwen3(folder: Path, **more: Any) -> Path:
    """As Skywork-Reward-V2-Qwen3: one label, a chat template, pad <|endoftext|>."""
    tokenizer = qwen_tokenizer()
    config = Qwen3Config(
        **sizes(tokenizer, head_dim=32, **more),
        num_labels=1,
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
        bos_token_id=None,
    )
    louder(Qwen3ForSequenceClassification(config)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def skywork_llama(folder: Path, **more: Any) -> Path:
    """As Skywork-Reward-V2-Llama-3.1: its tokenizer and its template both have a BOS."""
    tokenizer = llama3_tokenizer()
    options = {"num_labels": 1, "pad_token_id": tokenizer.pad_token_id, "eos_token_id": tokenizer.eos_token_id, **more}
    config = LlamaConfig(**sizes(tokenizer), bos_token_id=tokenizer.bos_token_id, **options)
    louder(LlamaForSequenceClassification(config)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def armorm(folder: Path) -> Path:
    """As RLHFlow/ArmoRM-Llama3-8B-v0.1: model.*, regression_layer, gating.*, reward_transform_matrix."""
    tokenizer = llama3_tokenizer()
    config = LlamaConfig(**sizes(tokenizer), pad_token_id=tokenizer.pad_token_id)
    state = {f"model.{name}": tensor for name, tensor in louder(LlamaModel(config)).state_dict().items()}
    generator = torch.Generator().manual_seed(8)

    def random(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator) * 0.5

    state["regression_layer.weight"] = random(OBJECTIVES, 64)
    state["reward_transform_matrix"] = torch.eye(OBJECTIVES) + 0.3 * random(OBJECTIVES, OBJECTIVES)
    state["gating.logit_scale"] = torch.tensor([1.7])
    for i, (inside, outside) in enumerate([(64, 32), (32, 32), (32, 32), (32, OBJECTIVES)]):
        state[f"gating.layers.{i}.weight"], state[f"gating.layers.{i}.bias"] = random(outside, inside), random(outside)
    folder.mkdir(parents=True)
    save_file({name: tensor.contiguous() for name, tensor in state.items()}, folder / "model.safetensors")
    keys = {
        "architectures": ["LlamaForRewardModelWithGating"],
        "auto_map": {"AutoModelForSequenceClassification": "modeling_custom.LlamaForRewardModelWithGating"},
        "rope_theta": THETA,  # where Llama 3's own config.json has it
        "num_objectives": OBJECTIVES,
        "gating_temperature": 10,
        "gating_hidden_dim": 32,
        "gating_n_hidden": 3,
        "id2label": {str(i): f"LABEL_{i}" for i in range(OBJECTIVES)},
    }
    written = {name: value for name, value in config.to_dict().items() if name != "rope_parameters"}
    (folder / "config.json").write_text(json.dumps(written | keys))
    tokenizer.save_pretrained(folder)
    return folder


def starling(folder: Path, add_bos: bool = True) -> Path:
    """As berkeley-nest/Starling-RM-7B-alpha: pytorch_model.bin, the backbone twice, v_head."""
    tokenizer = llama2_tokenizer(add_bos)
    config = LlamaConfig(**sizes(tokenizer))
    backbone = louder(LlamaModel(config)).state_dict()
    state = {
        f"{prefix}{name}": tensor for prefix in ("transformer.", "model.model.") for name, tensor in backbone.items()
    }
    state["model.lm_head.weight"] = torch.zeros(config.vocab_size, 64)
    state["v_head.weight"] = torch.randn(1, 64, generator=torch.Generator().manual_seed(9))
    folder.mkdir(parents=True)
    torch.save(state, folder / "pytorch_model.bin")
    torch.save({"lr": print}, folder / "training_args.bin")  # as trainers leave it: no weights
    (folder / "config.json").write_text(json.dumps(config.to_dict() | {"architectures": ["GPTRewardModel"]}))
    tokenizer.save_pretrained(folder)
    return folder


def deberta(folder: Path) -> Path:
    """As OpenAssistant/reward-model-deberta-v3-large-v2: relative attention, no token types, 512 positions."""
    tokenizer = deberta_tokenizer()
    config = DebertaV2Config(
        vocab_size=len(tokenizer), hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=2,
        max_position_embeddings=512, type_vocab_size=0, relative_attention=True, position_buckets=256,
        norm_rel_ebd="layer_norm", share_att_key=True, pos_att_type=["p2c", "c2p"], position_biased_input=False,
        pooler_hidden_size=64, pooler_dropout=0, pooler_hidden_act="gelu", num_labels=1, pad_token_id=0,
    )  # fmt: skip
    louder(DebertaV2ForSequenceClassification(config)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


MAKERS = {
    "qwen3": skywork_qwen3,
    "llama": skywork_llama,
    "armorm": armorm,
    "starling": starling,
    "deberta": deberta,
}
