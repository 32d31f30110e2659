"""已知的回答得几分：用 python3 test_reward_function.py 或 pytest 运行。"""

from reward_function import compute_score

# 回答、标准答案、得分：把奖励绝不能判错的回答加进来。
ANSWERS = [
    ("42", "42", 1.0),
    ("15 + 27 = 42", "42", 1.0),
    ("43", "42", 0.0),
    ("142", "42", 0.0),
    ("I do not know", "42", 0.0),
    ("", "42", 0.0),
]


def test_scores() -> None:
    """每个回答都得到应得的分数。"""
    for answer, truth, score in ANSWERS:
        assert compute_score("mine", answer, truth) == score, (answer, truth)


if __name__ == "__main__":
    test_scores()
    print(f"{len(ANSWERS)} 个回答的得分都正确")
