"""What the reward says of answers that you know: python3 test_reward_function.py, or pytest."""

from reward_function import compute_score

# answer, ground truth, score: add the answers that your reward must not be wrong about.
ANSWERS = [
    ("42", "42", 1.0),
    ("15 + 27 = 42", "42", 1.0),
    ("43", "42", 0.0),
    ("142", "42", 0.0),
    ("I do not know", "42", 0.0),
    ("", "42", 0.0),
]


def test_scores() -> None:
    """Each answer has the score that it should have."""
    for answer, truth, score in ANSWERS:
        assert compute_score("mine", answer, truth) == score, (answer, truth)


if __name__ == "__main__":
    test_scores()
    print(f"{len(ANSWERS)} answers have the scores that they should have")
