"""People's data, in all the forms that they have it in, and everything that can be wrong with it."""

import gzip
import json
from pathlib import Path
from typing import Any

import pandas
import pyarrow.parquet as pq
import pytest

from data import parquet, readers, report
from data.faults import DataError
from reward.entry import compute_score
from reward.rules import RULES

ROW = {"prompt": "计算 15 + 27 的结果", "ground_truth": "42", "data_source": "math_reasoning"}


def rows_of(count: int) -> list[dict[str, Any]]:
    return [{**ROW, "prompt": f"{n} + {n}", "ground_truth": str(2 * n)} for n in range(count)]


def write(path: Path, content: Any) -> str:
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif path.suffix == ".json":
        path.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in content), encoding="utf-8")
    elif path.suffix == ".csv":
        pandas.DataFrame(content).to_csv(path, index=False)
    else:
        pandas.DataFrame(content).to_parquet(path)
    return str(path)


def both(spec: str, folder: Path) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    train, val = parquet.prepare(spec, "", folder / "cache")
    return pq.read_table(train).to_pylist(), pq.read_table(val).to_pylist()


def test_the_manuals_example_works_as_it_stands(tmp_path) -> None:
    spec = write(tmp_path / "data.json", [ROW])
    train, _ = parquet.prepare(spec, spec, tmp_path / "cache")
    (row,) = pq.read_table(train).to_pylist()
    assert row["prompt"] == [{"role": "user", "content": ROW["prompt"]}]
    assert row["reward_model"] == {"style": "rule", "ground_truth": "42"}
    truth = row["reward_model"]["ground_truth"]
    assert compute_score(row["data_source"], "是 42", truth, row["extra_info"])["score"] == 1.0


@pytest.mark.parametrize("suffix", [".json", ".jsonl", ".csv", ".parquet"])
def test_every_kind_of_file_gives_the_same_rows(tmp_path, suffix) -> None:
    train, val = both(write(tmp_path / f"data{suffix}", rows_of(60)), tmp_path)
    assert (len(train), len(val)) == (57, 3)
    assert {row["reward_model"]["ground_truth"] for row in train + val} == {str(2 * n) for n in range(60)}
    assert sorted(row["extra_info"]["index"] for row in train + val) == list(range(60))


def test_a_folder_of_files(tmp_path) -> None:
    (tmp_path / "in").mkdir()
    write(tmp_path / "in/a.jsonl", rows_of(30)[:10])
    write(tmp_path / "in/b.csv", rows_of(30)[10:])
    train, val = both(str(tmp_path / "in"), tmp_path)
    assert len(train) + len(val) == 30


def test_the_held_out_rows_are_the_same_in_any_order_and_none_is_trained_on(tmp_path) -> None:
    rows = rows_of(100) + rows_of(50)  # with duplicates
    _, one = both(write(tmp_path / "a.jsonl", rows), tmp_path)
    train, two = both(write(tmp_path / "b.json", rows[::-1]), tmp_path)
    prompts = [{row["prompt"][0]["content"] for row in part} for part in (one, two, train)]
    assert prompts[0] == prompts[1]
    assert not prompts[1] & prompts[2]


def test_the_cache_goes_by_content(tmp_path) -> None:
    spec = write(tmp_path / "a.jsonl", rows_of(40))
    train, val = parquet.prepare(spec, "", tmp_path / "cache")
    before = train.stat().st_mtime_ns
    assert parquet.prepare(spec, "", tmp_path / "cache") == (train, val)
    assert train.stat().st_mtime_ns == before
    write(tmp_path / "a.jsonl", rows_of(41))
    assert parquet.prepare(spec, "", tmp_path / "cache")[0] != train
    assert not list((tmp_path / "cache").glob("*.part"))


def test_a_file_in_verls_format_is_used_as_it_is(tmp_path) -> None:
    row = {
        "data_source": "openai/gsm8k",
        "prompt": [{"role": "user", "content": "1+1"}],
        "reward_model": {"style": "rule", "ground_truth": "2"},
        "extra_info": {"index": 7, "mine": {"a": [1]}},
        "another": 5,
    }
    file = write(tmp_path / "a.parquet", [row])
    assert parquet.prepare(file, file, tmp_path / "cache") == (Path(file), Path(file))
    many = [{**row, "prompt": [{"role": "user", "content": str(n)}]} for n in range(20)]
    train, val = both(write(tmp_path / "b.parquet", many), tmp_path)
    assert (len(train), len(val)) == (19, 1)
    assert val[0]["extra_info"] == row["extra_info"]


HUMANEVAL = {
    "task_id": "0",
    "prompt": "def f(x):\n",
    "entry_point": "f",
    "canonical_solution": "    return x\n",
    "test": "def check(candidate):\n    assert candidate(1) == 1\n",
}
SETS = [
    ("openai/gsm8k", {"question": "1+1?", "answer": "It is\n#### 2"}),
    ("lighteval/MATH", {"problem": "1+1?", "solution": "so \\boxed{2}", "level": "1"}),
    ("cais/mmlu", {"question": "1+1?", "choices": ["1", "2"], "answer": 1}),
    ("rajpurkar/squad", {"question": "Who?", "context": "Ada.", "answers": {"text": ["Ada"], "answer_start": [0]}}),
    ("openai_humaneval", HUMANEVAL),
    ("mbpp", {"text": "Write f.", "code": "def f():\n    return 1", "test_list": ["assert f() == 1"], "task_id": 1}),
]


@pytest.mark.parametrize(("source", "row"), SETS, ids=[name for name, _ in SETS])
def test_a_well_known_set_is_recognised_and_its_own_answer_is_right(tmp_path, source, row) -> None:
    spec = write(tmp_path / "a.jsonl", [row])
    train, _ = parquet.prepare(spec, spec, tmp_path / "cache")
    (made,) = pq.read_table(train).to_pylist()
    assert made["data_source"] == source
    truth, extra = made["reward_model"]["ground_truth"], made["extra_info"]
    right = RULES[source].example(truth, extra)
    assert right is not None
    assert compute_score(source, right, truth, extra)["score"] == 1.0
    assert compute_score(source, "I do not know", truth, extra)["score"] == 0.0


def test_a_preference_set_has_prompts_and_no_rule(tmp_path) -> None:
    chosen = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
    spec = write(tmp_path / "a.jsonl", [{"prompt": "hi", "chosen": chosen, "rejected": chosen}])
    train, _ = parquet.prepare(spec, spec, tmp_path / "cache", rules=False)
    assert pq.read_table(train).to_pylist()[0]["data_source"] == "preference"
    with pytest.raises(DataError, match="no rule scores data_source 'preference'"):
        parquet.prepare(spec, spec, tmp_path / "cache")


def test_every_fault_in_one_pass_with_file_row_and_field(tmp_path) -> None:
    lines = [
        json.dumps(ROW),
        '{"prompt": "x", ',
        json.dumps({**ROW, "prompt": ""}),
        json.dumps({**ROW, "prompt": [{"role": "user"}]}),
        json.dumps({**ROW, "ground_truth": ""}),
        json.dumps({"prompt": "x", "ground_truth": "1"}),
        "[1]",
        json.dumps({**ROW, "data_source": "maths"}),
        json.dumps({**ROW, "extra_info": [1]}),
        json.dumps({**ROW, "data_source": "gsm8k", "ground_truth": "many"}),
    ]
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    with pytest.raises(DataError) as caught:
        parquet.prepare(str(tmp_path / "a.jsonl"), "", tmp_path / "cache")
    found = [fault.removeprefix(f"{tmp_path}/a.jsonl: ") for fault in caught.value.faults]
    starts = [
        "row 2: bad JSON: ",
        "row 3: prompt: missing or empty",
        "row 4: prompt: a text, or a list of {role, content} is wanted",
        "row 5: ground_truth: is empty",
        "row 6: data_source: missing",
        "row 7: a list, not an object",
        "row 9: extra_info: an object is wanted, not a list",
        "row 10: ground_truth: 'many' is no number",
        "... and 1 more faults in the data",
    ]
    assert len(found) == len(starts)
    assert [line[: len(start)] for line, start in zip(found, starts, strict=True)] == starts
    assert not list((tmp_path / "cache").glob("*"))


def test_the_own_split_of_a_folder(tmp_path) -> None:
    folder = tmp_path / "set"
    folder.mkdir()
    for name, count in (("train-00000-of-2.jsonl", 6), ("train-00001-of-2.jsonl", 4), ("test.jsonl", 3)):
        write(folder / name, [{**ROW, "prompt": f"{name} {n}"} for n in range(count)])
    files = parquet.prepare(str(folder), "", tmp_path / "cache")
    assert [parquet.row_count(file) for file in files] == [10, 3]
    write(folder / "validation.jsonl", [ROW])
    files = parquet.prepare(str(folder), "", tmp_path / "cache")
    assert [parquet.row_count(file) for file in files] == [10, 1]
    (folder / "train-00000-of-2.jsonl").rename(folder / "more.jsonl")
    (folder / "train-00001-of-2.jsonl").rename(folder / "trainer.jsonl")
    train, val = parquet.prepare(str(folder), "", tmp_path / "cache")
    assert parquet.row_count(train) + parquet.row_count(val) == 14  # no train files by name: all rows, split


def test_a_quick_look(tmp_path) -> None:
    spec = write(tmp_path / "a.jsonl", rows_of(50))
    with pytest.raises(parquet.TooMuch):
        parquet.prepare(spec, "", tmp_path / "cache", most=100)
    with pytest.raises(parquet.TooMuch):
        parquet.prepare("owner/name", "", tmp_path / "cache", most=100)
    assert not (tmp_path / "cache").exists()
    with pytest.raises(DataError):
        parquet.prepare(str(tmp_path / "none.jsonl"), "", tmp_path / "cache", most=100)
    parquet.prepare(spec, "", tmp_path / "cache", most=100_000)


def test_a_sample_has_every_data_source(tmp_path) -> None:
    rows = [*rows_of(500), {**ROW, "prompt": "rare", "data_source": "gsm8k"}]
    spec = write(tmp_path / "a.jsonl", rows)
    train, _ = parquet.prepare(spec, spec, tmp_path / "cache")
    found = parquet.sample(train, 32)
    assert len(found) == 32
    assert {row["data_source"] for row in found} == {"math_reasoning", "gsm8k"}
    assert len(parquet.sample(train, 10_000)) == 501


def test_at_most_8_faults_and_a_count_of_the_rest(tmp_path) -> None:
    spec = write(tmp_path / "a.jsonl", [{**ROW, "prompt": None}] * 1234)
    with pytest.raises(DataError) as caught:
        parquet.prepare(spec, "", tmp_path / "cache")
    assert len(caught.value.faults) == 9
    assert caught.value.faults[-1] == "... and 1,226 more faults in the data"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.json", b'[{"prompt": "x",\n "ground_truth": }]', "bad JSON at line 2, column 18"),
        ("a.json", b'{"prompt": "x",\n "ground_truth": "1"}', "a list of rows"),
        ("a.json", b"[]", "there are no rows"),
        ("a.jsonl", b"", "there are no rows"),
        ("a.jsonl", "{'é'}".encode("latin-1"), "not UTF-8"),
        ("a.json", '[{"prompt": "é"}]'.encode("latin-1"), "not UTF-8"),
        ("a.csv", "prompt\né\n".encode("latin-1"), "not UTF-8"),
        ("a.csv", b"prompt,ground_truth,data_source\na,1,arith,3\n", "row 2: more than the header's 3 fields"),
        ("a.parquet", b"PAR1", "not a parquet file"),
        ("a.txt", b"x", "not a known kind of file"),
        (
            "a.jsonl",
            b'{"question": "?", "choices": null, "answer": 1}',
            "answer, choices, question: not as in cais/mmlu",
        ),
        ("a.jsonl", b'{"test_list": 3, "code": "x"}', "code, test_list: not as in mbpp"),
        ("a.jsonl", b'{"prompt": [{"role": "user", "content": " "}], "ground_truth": "1"}', "prompt: blank"),
        ("a.jsonl", b'{"prompt": "x", "ground_truth": "1", "data_source": "arith", "extra_info": 5}', "extra_info: an"),
    ],
)
def test_a_file_that_cannot_be_used(tmp_path, name, content, message) -> None:
    with pytest.raises(DataError, match=message):
        parquet.prepare(write(tmp_path / name, content), "", tmp_path / "cache")


def test_one_prompt_alone_is_on_both_sides(tmp_path) -> None:
    """The manual's example file has one row."""
    train, val = parquet.prepare(write(tmp_path / "a.jsonl", [ROW, ROW]), "", tmp_path / "cache")
    assert (parquet.row_count(train), parquet.row_count(val)) == (2, 2)
    assert report.report(train, val).leaks == 2


def test_tests_that_are_objects_are_kept(tmp_path) -> None:
    rows = [{**ROW, "extra_info": {"tests": [{"input": "1", "output": "2"}]}}, *rows_of(3)]
    spec = write(tmp_path / "a.jsonl", rows)
    (row, *_) = parquet.sample(parquet.prepare(spec, spec, tmp_path / "cache")[0], 4)
    assert json.loads(row["extra_info"]["tests"]) == [{"input": "1", "output": "2"}]


@pytest.mark.parametrize("spec", ["./none.jsonl", "none", "/no/such", "owner/none.csv"])
def test_no_such_data(tmp_path, spec) -> None:
    with pytest.raises(DataError, match="there is no such file or folder"):
        parquet.prepare(spec, "", tmp_path / "cache")


def test_the_report(tmp_path) -> None:
    train = write(tmp_path / "a.jsonl", [*rows_of(10), *rows_of(3)])
    val = write(tmp_path / "b.jsonl", [*rows_of(2), {**ROW, "data_source": "gsm8k"}])
    files = parquet.prepare(train, val, tmp_path / "cache")

    from data import tiny

    found = report.report(*files, tiny.build_tokenizer(), 8)
    assert (found.rows, found.held_out, found.duplicates, found.leaks) == (13, 3, 3, 2)
    assert found.sources == {"math_reasoning": 15, "gsm8k": 1}
    assert found.lengths is not None
    assert found.lengths.measured == 13
    assert found.lines()[:4] == [
        "data: 13 training prompts, 3 held out",
        "data: 3 training prompts are repeated",
        "data: 2 held-out prompts are trained on too; the accuracy on them says nothing",
        "data: 15 rows of math_reasoning, scored by math",
    ]
    assert (
        report.report(*files, tiny.build_tokenizer(), 3)
        .lines()[-1]
        .endswith("13 are over the limit of 3 and are left out")
    )


@pytest.mark.parametrize(
    ("row", "prompt", "truth", "source"),
    [
        ({"instruction": "Add.", "input": "1 + 2", "output": "3"}, "Add.\n\n1 + 2", "3", "alpaca"),
        ({"instruction": "Add.", "input": "", "output": "3", "history": []}, "Add.", "3", "alpaca"),
        (
            {"instruction": "And 2?", "output": "3", "history": [["1?", "2"]]},
            [("user", "1?"), ("assistant", "2"), ("user", "And 2?")],
            "3",
            "alpaca",
        ),
        (
            {"conversations": [{"from": "human", "value": "1 + 2"}, {"from": "gpt", "value": "3"}]},
            [("user", "1 + 2")],
            "3",
            "sharegpt",
        ),
        (
            {
                "system": "Be brief.",
                "conversations": [
                    {"from": "human", "value": "a"},
                    {"from": "gpt", "value": "b"},
                    {"from": "human", "value": "c"},
                ],
            },
            [("system", "Be brief."), ("user", "a"), ("assistant", "b"), ("user", "c")],
            "",
            "sharegpt",
        ),
        (
            {"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}], "ground_truth": "7"},
            [("system", "s"), ("user", "u")],
            "7",
            "messages",
        ),
        (
            {
                "messages": [{"role": "user", "content": "u"}, {"role": "assistant", "content": "4"}],
                "data_source": "number",
            },
            [("user", "u")],
            "4",
            "number",
        ),
    ],
)
def test_instruction_tuning_sets_are_recognised(tmp_path, row, prompt, truth, source) -> None:
    spec = write(tmp_path / "data.jsonl", [row])
    train, _ = parquet.prepare(spec, spec, tmp_path / "cache", rules=False)
    (found,) = pq.read_table(train).to_pylist()
    chat = [("user", prompt)] if isinstance(prompt, str) else prompt
    assert [(each["role"], each["content"]) for each in found["prompt"]] == chat
    assert (found["reward_model"]["ground_truth"], found["data_source"]) == (truth, source)


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ({"conversations": []}, "row 1: conversations: a list of messages is wanted"),
        ({"conversations": [{"from": "alien", "value": "x"}]}, "message 1: a text by one of user, assistant"),
        ({"messages": [{"role": "assistant", "content": "x"}]}, "messages: an answer without a question"),
        ({"messages": "hello"}, "messages: a list of messages is wanted, not a text"),
        ({"instruction": "a", "history": ["b"]}, "history: a list of [question, answer] is wanted"),
        ({"query": "a", "reply": "b"}, "no column is a prompt; the columns are 'query', 'reply': rename"),
        ({}, "no column is a prompt; the columns are none"),
    ],
)
def test_columns_that_hold_no_prompt_are_told_once(tmp_path, row, why) -> None:
    with pytest.raises(DataError) as caught:
        parquet.prepare(write(tmp_path / "data.jsonl", [row] * 50), "", tmp_path / "cache")
    assert why in caught.value.faults[0]
    if "no column" in why:
        assert len(caught.value.faults) == 1
        assert "(rows: 50)" in caught.value.faults[0]


@pytest.mark.parametrize("delimiter", [";", "\t", "|", ","])
@pytest.mark.parametrize("name", ["d.csv", "d.TSV", "d.csv.gz", "D.CSV"])
def test_tables_with_any_delimiter(tmp_path, name, delimiter) -> None:
    lines = [["prompt", "ground_truth", "data_source"], ['"1 + 2; or, so"', "3", "number"]]
    content = "".join(delimiter.join(fields) + "\r\n" for fields in lines).encode("utf-8-sig")
    spec = write(tmp_path / name, gzip.compress(content) if name.endswith(".gz") else content)
    train, _ = parquet.prepare(spec, spec, tmp_path / "cache")
    (row,) = pq.read_table(train).to_pylist()
    assert row["prompt"][0]["content"] == "1 + 2; or, so"
    assert row["reward_model"]["ground_truth"] == "3"


@pytest.mark.parametrize("name", ["d.jsonl.gz", "d.JSONL", "d.ndjson.GZ", "d.json.gz", "d.JSON"])
def test_compressed_files_and_suffixes_in_capitals(tmp_path, name) -> None:
    content = json.dumps([ROW] if Path(name.lower().removesuffix(".gz")).suffix == ".json" else ROW).encode()
    spec = write(tmp_path / name, gzip.compress(content) if name.lower().endswith(".gz") else content)
    train, _ = parquet.prepare(spec, spec, tmp_path / "cache")
    assert pq.read_table(train).num_rows == 1


def test_a_gzip_file_that_is_cut_off_is_a_fault(tmp_path) -> None:
    whole = gzip.compress(b"".join(json.dumps(row).encode() + b"\n" for row in rows_of(500)))
    for content in (whole[: len(whole) // 2], b"not gzip"):
        with pytest.raises(DataError, match="not a whole gzip file"):
            parquet.prepare(write(tmp_path / "d.jsonl.gz", content), "", tmp_path / "cache")


@pytest.mark.parametrize("name", ["d.json", "d.jsonl", "large.json"])
def test_integers_of_any_size_stay_as_they_are(tmp_path, monkeypatch, name) -> None:
    digits = [str(n) for n in (2**63, 2**64, 10**25 + 1, 10**25 + 2, -(10**30), 7)]
    if name.startswith("large"):
        monkeypatch.setattr(readers, "WHOLE", 10)
    else:
        digits.append("1" + "0" * 4999 + "7")  # more than the interpreter turns into an integer
    lines = [f'{{"prompt": "p{n}", "ground_truth": {text}, "data_source": "number"}}' for n, text in enumerate(digits)]
    content = "\n".join(lines) if name.endswith("l") else f"[{', '.join(lines)}]"
    spec = write(tmp_path / name, content.encode())
    train, _ = parquet.prepare(spec, spec, tmp_path / "cache", rules=False)
    assert [row["reward_model"]["ground_truth"] for row in pq.read_table(train).to_pylist()] == digits


def test_an_integer_that_would_end_the_parser_is_a_fault(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(readers, "WHOLE", 10)
    content = '[{"prompt": "p", "ground_truth": %s, "data_source": "number"}]' % ("9" * 5000)
    with pytest.raises(DataError, match="an integer of 4,300 digits or more"):
        parquet.prepare(write(tmp_path / "d.json", content.encode()), "", tmp_path / "cache")
