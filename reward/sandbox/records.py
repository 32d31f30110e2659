"""Objects of classes that the tests define only to hold values, such as nodes of trees: each process has its own.

Their attributes cross with the messages in which the objects are mentioned, and no behaviour does: what the code makes
of such a class in its process says nothing of the objects with which the tests compare.

A message mentions one as ``{"record": key}``, and for each that has changed since it has ``{key: [name of the class,
[[attribute, value], ...]]}`` in ``records``.
"""

from collections.abc import Callable, Iterable
from typing import Any

from reward.sandbox.wire import WireError, is_name

Encode = Callable[[Any], Any]


class Records:
    """The objects that have crossed, by key; ``mark`` begins the keys of those that were made on this side."""

    def __init__(self, mark: str) -> None:
        self._mark = mark
        self.names: set[str] = set()  # of the classes
        self.space: dict[str, Any] = {}  # where they are
        self._by_key: dict[str, Any] = {}
        self._keys: dict[int, str] = {}  # id -> key; the objects stay alive in ``_by_key``
        self._names: dict[str, str] = {}
        self._waiting: list[str] = []  # keys of objects that the next message mentions
        self._known: dict[str, Any] = {}  # what the other side knows of each
        self.frozen = self.changed = False  # what was made here stays as it is; the other side has changed some of it
        self._changed: dict[str, Any] = {}  # with ``frozen``, what the other side made of it, by key: other objects
        self._mentioned: dict[str, Any] = {}  # which of the two the next message tells

    def name(self, kind: type) -> str:
        """Return the name of the class of records that a class is, or in the code's process derives from; or none."""
        kinds = type.mro(kind) if self._mark == "c" else [kind]
        own = [(name, self.space.get(name)) for name in self.names]
        return next((name for each in kinds for name, record in own if each is record), "")

    def mention(self, value: Any) -> dict[str, str]:
        """Return the JSON that stands for a record or a class of them; the next message says what a record holds."""
        if isinstance(value, type):
            return {"record_class": self.name(value)}
        key = self._keys.get(id(value))
        if key is None:
            key = f"{self._mark}{len(self._keys)}"
            self._by_key[key], self._keys[id(value)], self._names[key] = value, key, self.name(type(value))
        self._waiting.append(key)
        self._mentioned[key] = value
        return {"record": key}

    def kind(self, name: Any) -> type:
        """Return a class of records.

        Raises:
            WireError: it is none.
        """
        kind = self.space.get(name) if type(name) is str and name in self.names else None
        if not isinstance(kind, type):
            raise WireError("no class of records")
        return kind

    def get(self, key: Any) -> Any:
        """Return an object that is known.

        Raises:
            WireError: it is not.
        """
        if type(key) is not str or key not in self._by_key:
            raise WireError("an unknown record")
        return self._changed.get(key, self._by_key[key])

    def reach(self, values: Iterable[Any], encode: Encode) -> list[str]:
        """Return the keys of records that values lead to."""
        if not self.names:
            return []
        for value in values:
            encode(value)
        return [*self.walk(encode)]

    def mention_again(self, keys: Iterable[str]) -> None:
        """Have the next message say what these hold."""
        self._waiting += keys

    def walk(self, encode: Encode) -> dict[str, Any]:
        """Return what each mentioned object holds now, and each that it leads to; ``encode`` mentions these."""
        states: dict[str, Any] = {}
        while self._waiting:
            key = self._waiting.pop()
            if key not in states:
                states[key] = [self._names[key], []]
                held = _attributes(self._mentioned.get(key, self._by_key[key]))
                states[key][1] += [[name, encode(value)] for name, value in held.items() if is_name(name)]
        return states

    def changes(self, encode: Encode) -> dict[str, Any]:
        """Return of ``walk`` what the other side does not know."""
        changed = {key: state for key, state in self.walk(encode).items() if self._known.get(key) != state}
        self._known |= changed
        return changed

    def learn(self, states: Any, decode: Encode) -> None:
        """Make and change objects as a message says.

        Args:
            states: of the message.
            decode: reads a value.

        Raises:
            WireError: it is no such message.
        """
        if type(states) is not dict:
            raise WireError("no records")
        for key, state in states.items():
            if type(state) is not list or len(state) != 2 or type(state[0]) is not str or type(state[1]) is not list:
                raise WireError("no record")
            if key not in self._by_key:
                if key.startswith(self._mark):
                    raise WireError("an unknown record")
                value: Any = object.__new__(self.kind(state[0]))
                self._by_key[key], self._keys[id(value)], self._names[key] = value, key, state[0]
            elif key.startswith(self._mark) and self._known.get(key) != state:
                self._note_change(key)
        for key, (_, pairs) in states.items():
            held = {}
            for pair in pairs:
                if type(pair) is not list or len(pair) != 2 or not is_name(pair[0]):
                    raise WireError("no attribute")
                held[pair[0]] = decode(pair[1])
            _hold(self.get(key), held)
            self._known[key] = states[key]

    def _note_change(self, key: str) -> None:
        self.changed = True
        if self.frozen and key not in self._changed:
            value = object.__new__(type(self._by_key[key]))
            self._changed[key], self._keys[id(value)] = value, key


def _slots(kind: type) -> list[str]:
    names: list[str] = []
    for each in type.mro(kind):
        slots = each.__dict__.get("__slots__", ())
        names += [slots] if isinstance(slots, str) else [*slots]
    return names


def _attributes(value: Any) -> dict[str, Any]:
    """Return what an object holds; the code may have given its class slots."""
    held = {name: getattr(value, name) for name in _slots(type(value)) if hasattr(value, name)}
    return held | getattr(value, "__dict__", {})


def _hold(value: Any, held: dict[str, Any]) -> None:
    """Let an object hold just these attributes."""
    for name in _attributes(value).keys() - held.keys():
        object.__delattr__(value, name)
    for name, each in held.items():
        object.__setattr__(value, name, each)
