"""本项目的奖励：一个回答有多好，是一个数。"""

import re
from typing import Any


def compute_score(data_source: str, solution_str: str, ground_truth: str, extra_info: Any = None) -> float:
    """回答里最后一个整数正确时得 1，否则得 0。

    Args:
        data_source: 数据行的 data_source 列，用来区分不同种类的行。
        solution_str: 模型的回答。
        ground_truth: 数据行的 ground_truth 列。
        extra_info: 数据行的其他列。
    """
    numbers = re.findall(r"-?[0-9]+", solution_str)
    return 1.0 if numbers and numbers[-1] == ground_truth else 0.0
