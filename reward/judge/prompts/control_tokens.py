"""Texts that a model's tokenizer or chat template takes for control: spelt with one blank more, they are plain text.

A tokenizer matches its special tokens anywhere, by their letters. So they are found by their class: whatever stands in
angle brackets with bars, underscores or capitals, in square brackets with bars or as a tag, and the words for the
roles of a conversation. A blank leaves prose, code and markup readable, and most code valid.
"""

import re
import unicodedata

BARS = "\u00a6\u01c0\u2223\u2502\u2503\u23d0\u2758\u2759\u275a\uffe8\ufe31"  # pass for |, beside what NFKC says
# Names in angle brackets; also with a namespace (minimax:tool_call) or a value (function=get).
NAMES = (
    r"s|sep|bos|eos|sot|eot|eom|eod|eoh|eoa|sop|eop|cls|pad|unk|mask|endoftext|startoftext|think|thinking|thought|"
    r"reasoning|reflection|scratchpad|system|user|assistant|human|model|ai|bot|role|turn|channel|tool|tools|toolcall|"
    r"function|functions|invoke|parameter|observation|instruction|instructions|"
    r"escape|audio|video|speech|results|co|reponame|filename|eosys|image|img|patch|box|quad|ref|fim-\w{2,8}|global-img|ifm\|\w{1,40}|0x[0-9a-f]{2}|2[a-z]{2,5}|"
    r"(?:unused|extra|ctrl|reserved|special|dummy|placeholder|pad|unk|control|madeupword)\d+"
)
# Tags in square brackets, beside those of two words, which are known by their underscore.
TAGS = (
    "INST|IMG|CLS|BE|SEP|MASK|PAD|UNK|BOS|EOS|EOT|EOM|THINK|ARGS|CALL|TOOL|TOOLS|SYSTEM|USER|ASSISTANT|HUMAN|BOT|PREFIX|"
    r"MIDDLE|SUFFIX|AUDIO|TRANSCRIBE|REF|EOH|SYS|PLHD|multimodal|@[BE]OS@|PAD\d+|[gs]MASK|unused_?\d+|control_\d+|extra_id_\d+|(?:start|end)_header_id"
)
OF_CPP = "t|map|set|list|ptr|view|traits|variable"  # ends of names that code has in angle brackets: vector<size_t>
ROLES = "User|Assistant|Human|System|USER|ASSISTANT|HUMAN|SYSTEM"
CONTROL = re.compile(
    r"<(?=\|(?!\s)[^<>\n]{1,80}(?<!\s)\|>)"  # <|im_start|>
    r"|<(?=/?\|[^\s<>]{1,60}>|[^\s<>|]{1,60}\|>)"  # <|turn> <turn|>
    rf"|<(?=/?(?:\w{{1,20}}:)?(?i:{NAMES})(?:[=:][^<>\n]{{0,60}})?/?>)"  # <s> <function=get> <minimax:think>
    rf"|<(?=/?(?:\w{{1,20}}:)?(?!\w*_(?:{OF_CPP})>)\w*[_\u2581][\w\u2581-]{{0,60}}>)"  # <start_of_turn>
    r"|<(?=/?[A-Z][A-Z0-9]{2,60}>|</?[A-Z]{2,60}>>)"  # <EOT> <<SYS>>
    r"|\[(?=\|(?!\s)[^\[\]\n|]{1,60}(?<!\s)\|\])"  # [|assistant|]
    r"|<(?=(?:\w{1,20}:)?(?:invoke|parameter|function|tool)[ \t]{1,8}name=)"  # <invoke name="get">
    r"|(?<![^\s\"'(])/(?=(?:no_?)?think(?![\w/.>-]))"  # /no_think, which switches the thinking of Qwen3, SmolLM3, GLM
    r"|<(?=\[[^\s\[\]<>]{2,80}\]>)"  # <[fim-suffix]>
    rf"|\[(?=/?(?:{TAGS}|[A-Z]{{1,30}}(?:_[A-Z0-9]{{1,30}}){{1,6}})\])"  # [INST] [TOOL_RESULTS]
    r"|\[(?=(?:BEGIN|END) [A-Z]{3,20} [A-Z]{3,20}\])"  # [BEGIN FINAL RESPONSE]
    r"|\](?=~!?b[\[\]]|![a-z]~\[|<\][^\[\]\n]{1,40}\[>\[)|\[(?=e~\[)"  # ]~b] [e~[
    r"|(?<!>)>>(?=[A-Z]{3,20}(?:_[A-Z]{1,20})?<<)|\|\|\|(?=[A-Z_]{3,40}\|\|\|)"  # >>ANSWER<< |||IP_ADDRESS|||
    rf"|\b(?:{ROLES})(?=:(?!:))|\#{{1,6}}[ \t]{{0,8}}(?:Instructions?|Response|Input|Output)(?=:)"
)


class _Fold(dict[int, int]):
    """One character -> the ASCII character that it passes for, filled as characters are met."""

    def __missing__(self, code: int) -> int:
        plain = "|" if chr(code) in BARS else unicodedata.normalize("NFKC", chr(code))
        self[code] = ord(plain) if len(plain) == 1 and plain.isascii() else code
        return self[code]


_fold = _Fold()


def respell(text: str) -> str:
    """Return ``text`` with a blank within each control token; invisible characters are to be gone before."""
    if text.isascii():
        return CONTROL.sub(lambda match: f"{match[0]} ", text)
    parts, at = [], 0
    for match in CONTROL.finditer(text.translate(_fold)):  # one character for one: places are the same
        parts.append(text[at : match.end()])
        at = match.end()
    return " ".join([*parts, text[at:]])
