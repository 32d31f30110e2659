"""Responses to a prompt of IFEval: real ones, some made to follow it, some changed in ways that fool graders."""

from collections.abc import Iterator
from typing import Any

PLAIN = "Here is what I would say about that. It is a good question, and the answer depends on what you want."


def styles(row: dict[str, Any], index: int, real: list[list[str]]) -> Iterator[str]:
    """Yield about thirty responses to the prompt ``row``; ``real`` are lists of responses to all prompts."""
    yield from (texts[index] for texts in real)
    base = real[0][index] if real else PLAIN
    for text in (base, base[:300], PLAIN, f"{PLAIN}\n\n" * 6):
        yield following(row, text)
    yield from ("", " \n ", "Hi!!!!!!!!!!", base.upper(), base.lower(), f'"{base}"', f"**{base}**", f"```\n{base}\n```")
    yield from (base.replace(". ", "!! "), base.replace("\n", "\n\n"), "* " + base.replace(". ", ".\n* "), base * 2)
    yield from (base[:200], base[-200:], base.replace(",", ""), f"{base}\n\nP.S. bye", f"{base}\n\n**P. P. S.** bye")
    yield from (f"{base} [x] [y] <<t>>", base.replace(" ", "-", 9), base.replace(". ", "...\n\n***\n\n"))
    for step in (1, 7, 100):
        yield real[0][(index + step) % len(real[0])] if real else f"{PLAIN} {step}"


def following(row: dict[str, Any], text: str) -> str:
    """Return ``text`` changed so that it follows most of the row's instructions."""
    for name, given in zip(row["instruction_id_list"], row["kwargs"], strict=True):
        text = _follow(name.partition(":")[2], given, text)
    return text


def _follow(name: str, given: dict[str, Any], text: str) -> str:
    """``text`` as one instruction wants it, as far as it is known how."""
    whole = {
        "two_responses": "first\n******\nsecond",
        "json_format": '```json\n{"a": "b"}\n```',
        "english_capital": text.upper(),
        "english_lowercase": text.lower(),
        "quotation": f'"{text}"',
        "title": f"<<A title>>\n{text}",
        "no_comma": text.replace(",", ""),
        "constrained_response": f"{text} My answer is no.",
    }
    if name in whole:
        return whole[name]
    if name == "number_bullet_lists":
        return "\n".join(f"* This is point {n}" for n in range(given["num_bullets"]))
    if name == "number_paragraphs":
        return "\n***\n".join([text.replace("***", "")] * given["num_paragraphs"])
    if name == "nth_paragraph_first_word":
        parts = [f"Well, {n}" for n in range(given["num_paragraphs"])]
        parts[given["nth_paragraph"] - 1] = f"{given['first_word']} it is"
        return "\n\n".join(parts)
    if name == "repeat_prompt":
        return f"{given['prompt_to_repeat']}\n{text}"
    return text + _ending(name, given)


def _ending(name: str, given: dict[str, Any]) -> str:
    """What is to be added at the end."""
    if name == "existence":
        return " " + " ".join(given["keywords"])
    if name == "frequency" and given["relation"] == "at least":
        return f" {given['keyword']}" * given["frequency"]
    if name == "postscript":
        return f"\n\n**{given['postscript_marker']}** one more thing"
    if name == "number_placeholders":
        return " [a]" * given["num_placeholders"]
    if name == "number_highlighted_sections":
        return " *a part*" * given["num_highlights"]
    if name == "multiple_sections":
        return "".join(f"\n{given['section_spliter']} {n}\nso" for n in range(1, given["num_sections"] + 1))
    return f" {given['end_phrase']}" if name == "end_checker" else ""
