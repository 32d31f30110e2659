"""What the rules read out of answers as models write them: tables of ``tests/attacks``, sets' own rows, IFEval."""
# ruff: noqa: RUF001 (texts in thirty languages)

import json
import random

import pytest

from data import rows
from data.formats import presets
from reward.checks import reward_check
from reward.entry import compute_score
from reward.rules import choice, instructions, number
from reward.rules.parsing import language, sentences
from reward.support.errors import GroundTruthError
from trainer import ROOT

ATTACKS = ROOT / "tests" / "attacks"
ANSWERS = [json.loads(line) for line in (ATTACKS / "answers.jsonl").read_text().splitlines()]
FORMS = [json.loads(line) for line in (ATTACKS / "choice_forms.jsonl").read_text().splitlines()]
CHOICES = (["cats", "dogs", "birds", "fish"], ["A dog runs.", "It sleeps.", "A cat.", "None of them."], list("2341"))


def score(source: str, response: str, truth: object, **extra: object) -> float:
    result = compute_score(source, response, truth, extra)
    assert not result["unscored"]
    return result["score"]


@pytest.mark.parametrize("case", ANSWERS, ids=lambda case: f"{case['rule']}-{case['response'][:40]}")
def test_an_answer_as_models_write_it(case) -> None:
    extra = {"choices": case["choices"]} if "choices" in case else {}
    assert score(case["rule"], case["response"], case["truth"], **extra) == case["score"]


@pytest.mark.parametrize(
    ("begin", "repeated", "end", "right"),
    [
        (r"\boxed{", r"\cdot 2", "}", 0),
        (r"\boxed{", "2. ", "2}", 0),
        ("<answer>", "2*", "2</answer>", 0),
        ("$", "2+", "2$", 0),
        ("The answer is ", "2*", "2", 0),
        ("#### ", "2*", "2", 0),
        ("", "word ", "so the answer is 2", 1),
        ("", "word ", r"so it is \boxed{2}", 1),
        ("", "Well. ", "The answer is 2.", 1),
        (r"\boxed{5} ", "Well. ", r"\boxed{2}", 1),
    ],
)
def test_the_end_of_a_long_answer_is_no_answer(begin, repeated, end, right) -> None:
    assert score("math", begin + repeated * 9000 + end, "2") == right


@pytest.mark.parametrize("case", FORMS, ids=lambda case: case["form"][:40])
def test_a_choice_as_models_write_it(case) -> None:
    draw = random.Random(case["form"])
    for _ in range(12):
        letters, choices = dict(zip("LOPQ", draw.sample("ABCD", 4), strict=True)), draw.choice(CHOICES[:2])
        right = letters["L"]
        texts = {f"T{name}": choices["ABCD".index(letter)] for name, letter in letters.items()}
        fields = {**letters, **texts, "l": right.lower(), "T": texts["TL"]}
        response = case["form"].format(**fields, F=chr(ord(right) + 0xFEE0), LIST="A, B, C, D")
        assert score("choice", response, right, choices=choices) == case["score"], response


@pytest.mark.parametrize(
    ("truth", "choices", "letter"),
    [
        (3, ["1", "2", "3", "4"], "D"),
        ("3", ["1", "2", "3", "4"], "D"),
        ("4", ["1", "2", "3", "4"], "D"),
        ("b", ["x", "y"], "B"),
        ("y", ["x", "y"], "B"),
        ("3", {"text": ["w", "x", "y", "z"], "label": ["1", "2", "3", "4"]}, "C"),
    ],
)
def test_which_letter_a_ground_truth_is(truth, choices, letter) -> None:
    assert choice.expected_letter(truth, {"choices": choices}) == letter


def test_rows_of_mmlu_whose_choices_are_numbers_and_labels_of_arc() -> None:
    notes: list[tuple[str, str]] = []
    draw = random.Random(1)
    for index in range(400):
        numbers = draw.sample(range(6), 4)
        right = draw.randrange(4)
        mmlu = {"question": "Which?", "choices": [str(n) for n in numbers], "answer": draw.choice([right, str(right)])}
        arc = {"prompt": "Which?", "data_source": "allenai/ai2_arc", "ground_truth": str(right + 1)}
        arc["extra_info"] = {"choices": {"text": mmlu["choices"], "label": ["1", "2", "3", "4"]}}
        for row in (mmlu, arc):
            made = rows.normalise(row, index, "train", "", lambda *note: notes.append(note))
            truth, extra = made["reward_model"]["ground_truth"], made["extra_info"]
            scores = [score(made["data_source"], f"The answer is ({letter}).", truth, **extra) for letter in "ABCD"]
            assert scores == [float(i == right) for i in range(4)], row
            by_text = score(made["data_source"], f"The answer is {numbers[right]}.", truth, **extra)
            assert by_text == 1.0, row
    assert not notes
    assert presets.preset_of(mmlu).data_source == "cais/mmlu"


def test_check_reward_reads_choices_on_its_own(monkeypatch) -> None:
    row = {"data_source": "choice", "reward_model": {"ground_truth": "3"}, "extra_info": {"choices": list("1234")}}
    other = {**row, "reward_model": {"ground_truth": "0"}}
    good = reward_check.check([row, other])
    assert not good.findings
    assert "an index and a choice's text" in good.lines[-1]
    monkeypatch.setattr(choice, "expected_letter", lambda truth, extra: "ABCD"[extra["choices"].index(str(truth))])
    (finding,) = reward_check.check([row]).findings
    assert finding.message == "ground_truth '3' of ['1', '2', '3', '4'] is D, but ['C'] scores 1"


@pytest.mark.parametrize("text", ["NaN", '{"a": NaN}', "[Infinity]", "-Infinity", '```json\n{"a": NaN}\n```'])
def test_what_is_no_json_by_its_standard(text) -> None:
    assert score("json_schema", text, "{}") == 0.0
    assert score("json_schema", '{"a": "NaN"}', "{}") == 1.0


@pytest.mark.parametrize("truth", ["none", "", "12 apples", "nan", "inf", True, "5-6", "1,2"])
def test_a_truth_that_is_no_number(truth) -> None:
    with pytest.raises(GroundTruthError, match="is no number"):
        number.read(truth)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("Hi!!!!!!!!!! How are you?", 2),
        ("Dr. Smith went to Washington. He came back.", 2),
        ("It is 3.14 or so. Really?! Yes.", 3),
        ('He said "No." Then he left.', 2),
        ("Wait... what is that?", 1),
        ("The U.S. is large. It is.", 2),
        ("", 0),
        (" \n ", 0),
        ("No mark at all", 1),
    ],
)
def test_sentences(text, count) -> None:
    assert sentences.count(text) == count


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("en", "The cat is not in the house, but it will be there soon."),
        ("de", "Die Katze ist nicht im Haus, aber sie wird bald dort sein."),
        ("es", "El gato no está en la casa, pero estará allí pronto."),
        ("fr", "Le chat n'est pas dans la maison, mais il y sera bientôt."),
        ("it", "Il gatto non è nella casa, ma ci sarà presto."),
        ("pt", "O gato não está em casa, mas estará lá em breve."),
        ("pl", "Kota nie ma w domu, ale będzie tam za chwilę."),
        ("vi", "Con mèo không có trong nhà, nhưng nó sẽ sớm ở đó."),
        ("sw", "Paka hayuko katika nyumba, lakini atakuwa huko baada ya muda."),
        ("fi", "Kissa ei ole talossa, mutta se on siellä pian."),
        ("ru", "Кошки нет в доме, но она скоро будет там."),
        ("uk", "Кота немає в будинку, але він скоро там буде."),
        ("bg", "Котката не е в къщата, но скоро ще бъде там."),
        ("ar", "القطة ليست في المنزل، لكنها ستكون هناك قريبا."),
        ("fa", "گربه در خانه نیست، اما به زودی آنجا خواهد بود."),
        ("ur", "بلی گھر میں نہیں ہے، لیکن وہ جلد وہاں ہو گی۔"),
        ("hi", "बिल्ली घर में नहीं है, लेकिन वह जल्द ही वहाँ होगी।"),
        ("mr", "मांजर घरात नाही, पण ते लवकरच तेथे असेल आणि झोपेल."),
        ("ne", "बिरालो घरमा छैन, तर यो चाँडै त्यहाँ हुनेछ।"),
        ("ja", "猫は家にいませんが、すぐにそこにいるでしょう。"),
        ("ko", "고양이는 집에 없지만 곧 거기에 있을 것입니다."),
        ("th", "แมวไม่อยู่ในบ้าน"),
        ("ta", "பூனை வீட்டில் இல்லை"),
        ("kn", "ಬೆಕ್ಕು ಮನೆಯಲ್ಲಿ ಇಲ್ಲ"),
        ("te", "పిల్లి ఇంట్లో లేదు"),
        ("pa", "ਬਿੱਲੀ ਘਰ ਵਿੱਚ ਨਹੀਂ ਹੈ"),
        ("gu", "બિલાડી ઘરમાં નથી"),
        ("bn", "বিড়াল বাড়িতে নেই"),
        ("ml", "പൂച്ച വീട്ടിൽ ഇല്ല"),
        ("he", "החתול לא בבית"),
    ],
)
def test_the_languages_of_ifeval(name, text) -> None:
    assert language.detect(text) == name
    truth = [{"id": "language:response_language", "language": name}]
    assert score("google/IFEval", text, truth) == 1.0
    other = [{"id": "language:response_language", "language": "en" if name != "en" else "de"}]
    assert score("google/IFEval", text, other) == 0.0


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("nl", "De kat is niet in huis, maar zij zal er spoedig zijn."),
        ("af", "Die kat is nie in die huis nie, maar dit sal binnekort daar wees."),
        ("sv", "Katten är inte i huset, men den kommer snart att vara där."),
        ("da", "Katten er ikke i huset, men den vil snart være der, og det bliver godt."),
        ("no", "Katten er ikke i huset, men den kommer snart til å være der etter noen dager."),
        ("ro", "Pisica nu este în casă, dar va fi acolo în curând pentru că îi este foame."),
        ("ca", "El gat no és a casa, però hi serà aviat amb els seus amics."),
        ("cs", "Kočka není v domě, ale brzy tam bude, protože už je večer."),
        ("sk", "Mačka nie je v dome, ale čoskoro tam bude, pretože už je večer."),
        ("sl", "Mačka ni v hiši, vendar bo kmalu tam, ker je že večer in je lačna."),
        ("hr", "Mačka nije u kući, ali uskoro će biti tamo jer je gladna."),
        ("hu", "A macska nincs a házban, de hamarosan ott lesz, mert már este van."),
        ("tr", "Kedi evde değil, ama yakında orada olacak çünkü çok aç."),
        ("id", "Kucing itu tidak ada di dalam rumah, tetapi akan segera ada di sana."),
        ("tl", "Ang pusa ay wala sa bahay, pero siya ay pupunta na doon."),
        ("et", "Kass ei ole majas, aga ta on seal varsti, sest ta on näljane ja väsinud."),
        ("lv", "Kaķis nav mājā, bet viņš drīz tur būs, jo ir jau vakars."),
        ("lt", "Katės nėra namuose, bet ji greitai ten bus, nes jau yra vakaras."),
        ("sq", "Macja nuk është në shtëpi, por do të jetë atje së shpejti."),
        ("cy", "Nid yw'r gath yn y tŷ, ond bydd hi yno cyn bo hir gyda'r ci."),
        ("so", "Bisaddu guriga kuma jirto, laakiin waxay halkaas joogi doontaa dhawaan oo ay la jirto."),
        ("mk", "Мачката не е во куќата, но наскоро ќе биде таму, бидејќи е гладна."),
        ("sr", "Мачка није у кући, али ће ускоро бити тамо јер је гладна и она је дошла са мном."),
        ("el", "Η γάτα δεν είναι στο σπίτι, αλλά θα είναι σύντομα εκεί."),
        ("zh", "猫不在家里，但很快就会在那里。"),
    ],
)
def test_a_language_that_ifeval_does_not_know_is_none_of_its_own(name, text) -> None:
    assert language.detect(text) not in language.LANGUAGES, name
    for known in ("en", "de", "es", "fi", "ru"):
        assert score("google/IFEval", text, [{"id": "language:response_language", "language": known}]) == 0.0


@pytest.mark.parametrize(
    ("name", "arguments", "response", "wanted"),
    [
        ("detectable_content:postscript", {"postscript_marker": "P.S."}, "Bye\n\n**P.S.** I am late", 1),
        ("detectable_content:postscript", {"postscript_marker": "P.P.S"}, "Bye. P. P. S. late", 1),
        ("keywords:existence", {"keywords": ["sneaker"]}, "Two Sneakers", 1),
        ("keywords:forbidden_words", {"forbidden_words": ["sneaker"]}, "Two sneakers", 1),
        ("keywords:forbidden_words", {"forbidden_words": ["C++"]}, "I like C++.", 0),
        ("keywords:forbidden_words", {"forbidden_words": ["C++"]}, "I like C++11", 1),
        ("keywords:frequency", {"keyword": "war", "frequency": 2, "relation": "at least"}, "war and warfare", 1),
        ("length_constraints:number_sentences", {"num_sentences": 2, "relation": "less than"}, "Hi!!!!!!!!!! x", 0),
        ("length_constraints:number_paragraphs", {"num_paragraphs": 2}, "a\n***\n\n***\nb", 0),
        ("length_constraints:number_paragraphs", {"num_paragraphs": 2}, "***\na\n***\nb\n***", 1),
        ("change_case:capital_word_frequency", {"capital_frequency": 2, "capital_relation": "less than"}, "A-B c", 1),
        ("change_case:english_capital", {}, "DER HUND IST NICHT IM HAUS UND DIE KATZE AUCH NICHT", 0),
        ("detectable_format:title", {}, "<< >>", 0),
        ("detectable_format:number_bullet_lists", {"num_bullets": 2}, "\n\n * a\n- b\n** c", 1),
        ("combination:two_responses", {}, "******\na\n******\nb", 1),
        ("combination:two_responses", {}, "a\n******\n\n******\nb", 0),
    ],
)
def test_an_instruction_as_its_own_implementation_reads_it(name, arguments, response, wanted) -> None:
    row = {"key": 1, "prompt": "x", "instruction_id_list": [name], "kwargs": [{**arguments, "unused": None}]}
    made = rows.normalise(row, 0, "train", "", lambda *note: pytest.fail(str(note)))
    assert score(made["data_source"], response, made["reward_model"]["ground_truth"]) == wanted


@pytest.mark.parametrize(
    "truth",
    [
        [{"id": "language:response_language", "language": "xx"}],
        [{"id": "keywords:frequency", "keyword": "a", "frequency": 1, "relation": "about"}],
        [
            {
                "id": "length_constraints:nth_paragraph_first_word",
                "num_paragraphs": 2,
                "nth_paragraph": 3,
                "first_word": "a",
            }
        ],
    ],
)
def test_an_argument_that_no_instruction_knows(truth) -> None:
    with pytest.raises(GroundTruthError, match="is not one of"):
        instructions.check(truth, {})
