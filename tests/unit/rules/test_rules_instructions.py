"""The rule ``instructions``: each of its checks, on an answer that follows it and on one that does not."""

import json

import pytest

from reward.entry import compute_score

ARGUMENTS: dict[str, dict[str, object]] = {
    "keywords:existence": {"keywords": ["a"]},
    "keywords:frequency": {"keyword": "a", "frequency": 2, "relation": "at least"},
    "keywords:forbidden_words": {"forbidden_words": ["a"]},
    "keywords:letter_frequency": {"letter": "a", "let_frequency": 3, "let_relation": "less than"},
    "length_constraints:number_sentences": {"num_sentences": 3, "relation": "less than"},
    "length_constraints:number_paragraphs": {"num_paragraphs": 2},
    "length_constraints:number_words": {"num_words": 3, "relation": "at least"},
    "length_constraints:nth_paragraph_first_word": {"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "so"},
    "detectable_content:number_placeholders": {"num_placeholders": 2},
    "detectable_content:postscript": {"postscript_marker": "P.S."},
    "detectable_format:number_bullet_lists": {"num_bullets": 2},
    "detectable_format:number_highlighted_sections": {"num_highlights": 2},
    "detectable_format:multiple_sections": {"section_spliter": "Section", "num_sections": 2},
    "combination:repeat_prompt": {"prompt_to_repeat": "Say hi"},
    "startend:end_checker": {"end_phrase": "the end"},
    "language:response_language": {"language": "de"},
    "change_case:capital_word_frequency": {"capital_frequency": 2, "capital_relation": "at least"},
}


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("keywords:existence", "A dog", "dog"),
        ("keywords:frequency", "a a", "a b"),
        ("keywords:forbidden_words", "cat", "a cat"),
        ("keywords:letter_frequency", "aa", "aaa"),
        ("length_constraints:number_sentences", "One. Two!", "One. Two! Three?"),
        ("length_constraints:number_paragraphs", "one\n***\ntwo", "one"),
        ("length_constraints:number_words", "one two three", "one two"),
        ("length_constraints:nth_paragraph_first_word", "x\n\nSo it is", "So\n\nx"),
        ("detectable_content:number_placeholders", "[a] [b]", "[a]"),
        ("detectable_content:postscript", "x\n**P. S.** y", "x PS y"),
        ("language:response_language", "Der Hund ist nicht im Haus.", "The dog is not in the house."),
        ("detectable_format:number_bullet_lists", "* a\n- b", "* a\n- b\n- c"),
        ("detectable_format:number_highlighted_sections", "*a* and **b**", "*a*"),
        ("detectable_format:multiple_sections", "Section 1 x Section 2", "Section 1"),
        ("detectable_format:json_format", '```json\n{"a": 1}\n```', "{a: 1}"),
        ("detectable_format:title", "<<A title>> x", "<< >>"),
        ("detectable_format:constrained_response", "My answer is no.", "no"),
        ("combination:two_responses", "a ****** b", "a ****** a"),
        ("combination:repeat_prompt", "say hi. hi", "hi"),
        ("startend:quotation", '"x"', '"x'),
        ("startend:end_checker", "this is The End", "the end is near"),
        ("change_case:english_capital", "ABC 1", "ABc"),
        ("change_case:english_lowercase", "abc 1", "Abc"),
        ("change_case:capital_word_frequency", "AB CD e", "AB c"),
        ("punctuation:no_comma", "a b", "a, b"),
    ],
)
def test_instructions(name, good, bad) -> None:
    arguments = ARGUMENTS.get(name, {})
    pair = {"instruction_id_list": [name], "kwargs": [{**arguments, "unused": None}]}
    assert compute_score("instructions", good, pair)["score"] == 1.0
    assert compute_score("google/IFEval", bad, json.dumps([{"id": name, **arguments}]))["score"] == 0.0
