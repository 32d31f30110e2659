"""Gymnasium's Blackjack: nearer to 21 than the dealer, and not above; cards come from a deck without an end."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from environments.games.game import Game, Table

CARDS = {**dict.fromkeys(range(1, 10), 1 / 13), 10: 4 / 13}  # an ace is 1
STAND = 17  # the sum at which the dealer stops
END = ("end",)
Hand = tuple[int, bool]  # the sum, an ace as 11 where that does not go above 21, and whether there is such an ace


class Blackjack(Game):
    """The player's sum, whether an ace counts 11, and the dealer's open card."""

    gymnasium_id = "Blackjack-v1"
    action_words = (("stick", "停牌"), ("hit", "要牌"))

    @classmethod
    def turns(cls, args: Mapping[str, Any]) -> int:
        """Return more turns than any hand has."""
        return 24

    def describe(self, observation: Any) -> str:
        """Return what lies open."""
        total, dealer, ace = (int(value) for value in observation)
        if self.language == "zh":
            return f"你的点数：{total}（{'有' if ace else '没有'}算作11的A）。庄家的明牌：{dealer}。"
        return f"you: {total}{' with an ace as 11' if ace else ''}; dealer: {dealer}"

    def state(self) -> Any:
        """Return (sum, usable ace, dealer's open card, whether the hand is an ace and a ten, dealt so)."""
        hand = self.env.unwrapped
        total, dealer, ace = hand._get_obs()  # type: ignore[attr-defined]
        return int(total), bool(ace), int(dealer), sorted(hand.player) == [1, 10]  # type: ignore[attr-defined]

    def table(self) -> Table:
        """Return the chances, computed from the cards'; the reward of sticking is its expectation."""
        made_with = self.env.unwrapped
        return _table(bool(made_with.sab), bool(made_with.natural))  # type: ignore[attr-defined]

    def mistaken_table(self) -> Table:
        """Return the table of somebody who believes that a hand below 17 cannot go above 21 by a card."""
        return {
            state: {0: acts[0], 1: [(1.0, state, 0.0, False)] if state[0] < STAND and not state[3] else acts[1]}
            if len(state) == 4
            else acts
            for state, acts in self.table().items()
        }


def _add(hand: Hand, card: int) -> Hand:
    total, ace = hand[0] + card, hand[1]
    if card == 1 and not ace and total + 10 <= 21:
        total, ace = total + 10, True
    if total > 21 and ace:
        total, ace = total - 10, False
    return total, ace


@cache
def _dealer(hand: Hand, cards: int) -> dict[tuple[int, bool], float]:
    """Return the chances of the dealer's final (score, whether natural); above 21 is a score of 0."""
    if hand[0] >= STAND:
        return {(hand[0] if hand[0] <= 21 else 0, cards == 2 and hand[0] == 21): 1.0}
    chances: dict[tuple[int, bool], float] = {}
    for card, chance in CARDS.items():
        for final, then in _dealer(_add(hand, card), cards + 1).items():
            chances[final] = chances.get(final, 0.0) + chance * then
    return chances


def _stick(total: int, dealer: int, is_natural: bool, sab: bool, natural: bool) -> float:
    """Return the expected reward of sticking, by Gymnasium's rules for ``sab`` and ``natural``."""
    expected = 0.0
    for (score, dealers_natural), chance in _dealer(_add((0, False), dealer), 1).items():
        reward = float((total > score) - (total < score))
        if sab and is_natural and not dealers_natural:
            reward = 1.0
        elif not sab and natural and is_natural and reward == 1.0:
            reward = 1.5
        expected += chance * reward
    return expected


@cache
def _table(sab: bool, natural: bool) -> Table:
    table: dict[Any, dict[int, list[tuple[float, Any, float, bool]]]] = {}
    for dealer in CARDS:
        for total, ace, dealt in [
            *((total, False, False) for total in range(4, 22)),
            *((total, True, False) for total in range(12, 22)),
            (21, True, True),
        ]:
            hit = []
            for card, chance in CARDS.items():
                new = _add((total, ace), card)
                bust = new[0] > 21
                hit.append((chance, END if bust else (*new, dealer, False), -1.0 if bust else 0.0, bust))
            stick = _stick(total, dealer, dealt, sab, natural)
            table[total, ace, dealer, dealt] = {0: [(1.0, END, stick, True)], 1: hit}
    table[END] = {0: [(1.0, END, 0.0, True)], 1: [(1.0, END, 0.0, True)]}
    return table
