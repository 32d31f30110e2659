"""Objects of classes that the tests define only to hold values, such as nodes of trees: each process has its own.

Their attributes cross with the messages in which the objects are mentioned, and no behaviour does: what the code makes
of such a class in its process says nothing of the objects with which the tests compare.

A message mentions one as ``{"record": key}``, and for each that has changed since it has ``{key: [name of the class,
[[attribute, value], ...]]}`` in ``records``. Containers that the code keeps cross likewise (``SharedContainers``).
"""

import enum
import marshal
from collections.abc import Callable, Iterable
from typing import Any

from reward.sandbox.wire import WireError, is_name, overwrite

Encode = Callable[[Any], Any]
MOST_SHARED = 64  # containers
OF_MODULE = "global "  # how the keys of those begin that are variables of the code's module
LARGEST_SHARED = 20_000  # characters of one when the code first keeps it: all are looked at with each message


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
        classes = [(name, self.space.get(name)) for name in self.names]
        return next((name for base in kinds for name, record in classes if base is record), "")

    def mention(self, value: Any) -> dict[str, Any]:
        """Return the JSON that stands for a record or a class of them; the next message says what a record holds."""
        if isinstance(value, type):
            return {"record_class": self.name(value)}
        if isinstance(value, enum.Enum):
            return {"record_member": [self.name(type(value)), value.name]}
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

    def member(self, content: Any) -> Any:
        """Return a member of an enumeration.

        Raises:
            WireError: it is none.
        """
        kind = self.kind(content[0]) if type(content) is list and len(content) == 2 else None
        if not isinstance(kind, enum.EnumMeta) or type(content[1]) is not str or content[1] not in kind.__members__:
            raise WireError("no member")
        return kind.__members__[content[1]]

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
                attributes = _attributes(self._mentioned.get(key, self._by_key[key]))
                states[key][1] += [[name, encode(value)] for name, value in attributes.items() if is_name(name)]
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
            attributes = {}
            for pair in pairs:
                if type(pair) is not list or len(pair) != 2 or not is_name(pair[0]):
                    raise WireError("no attribute")
                attributes[pair[0]] = decode(pair[1])
            _hold(self.get(key), attributes)
            self._known[key] = states[key]

    def _note_change(self, key: str) -> None:
        self.changed = True
        if self.frozen and key not in self._changed:
            value = object.__new__(type(self._by_key[key]))
            self._changed[key], self._keys[id(value)] = value, key


class SharedContainers:
    """Lists, dicts and the like that the tests gave to the code, and that it has kept: what either does to one is seen.

    A message mentions one as ``{"shared": key}``, and has of those that have changed since ``{key: content}`` in
    ``shared``.
    """

    def __init__(self) -> None:
        self._by_key: dict[str, Any] = {}
        self._keys: dict[int, str] = {}  # id -> key; the containers stay alive in ``_by_key``
        self._known: dict[str, Any] = {}  # what the other side knows of each
        self._bytes: dict[str, bytes | None] = {}  # the same as bytes, of plain data: these are made much sooner

    def key(self, value: Any) -> str | None:
        """Return the key of a container that is shared; None for anything else."""
        return self._keys.get(id(value))

    def get(self, key: Any) -> Any:
        """Return a container that is shared.

        Raises:
            WireError: there is none of that key.
        """
        if type(key) is not str or key not in self._by_key:
            raise WireError("an unknown container")
        return self._by_key[key]

    def has(self, key: str) -> bool:
        """Whether a container of that key is shared."""
        return key in self._by_key

    def is_full(self) -> bool:
        """Whether no further one is shared."""
        return len(self._by_key) >= MOST_SHARED

    def add(self, key: str, value: Any, encode: Encode) -> None:
        """Share a container whose content both sides know."""
        if not self.is_full() and id(value) not in self._keys:
            self._by_key[key], self._keys[id(value)] = value, key
            self._note(key, encode)

    def share(self, kept: dict[str, Any], values: list[Any], encode: Encode) -> None:
        """Share those of ``values`` that a message says are kept there: ``{number of the value: key}``."""
        for number, key in kept.items():
            if type(key) is str and number.isdecimal() and int(number) < len(values):
                self.add(key, values[int(number)], encode)

    def changes(self, encode: Encode) -> dict[str, Any]:
        """Return what those hold that have changed; one with content that cannot cross is shared no longer."""
        changed: dict[str, Any] = {}
        for key, value in [*self._by_key.items()]:
            if (as_bytes := _bytes(value)) and as_bytes == self._bytes[key]:
                continue
            before = self._known[key]
            self._note(key, encode)
            if self._known.get(key, before) != before:
                changed[key] = self._known[key]
        return changed

    def learn(self, states: Any, decode: Encode, encode: Encode) -> None:
        """Change containers as a message says; those that are shared no longer stay as they are.

        Raises:
            WireError: it is no such message.
        """
        if type(states) is not dict:
            raise WireError("no containers")
        for key in states.keys() & self._by_key.keys():
            overwrite(self._by_key[key], decode(states[key]))
            self._note(key, encode)

    def _note(self, key: str, encode: Encode) -> None:
        try:
            self._known[key] = encode(self._by_key[key])
            self._bytes[key] = _bytes(self._by_key[key])
        except WireError:
            del self._keys[id(self._by_key.pop(key))]
            self._known.pop(key, None)


def _bytes(value: Any) -> bytes | None:
    """Return plain data as bytes; None for other values."""
    try:
        return marshal.dumps(value, 2)  # a later version counts references
    except ValueError:
        return None


def _slots(kind: type) -> list[str]:
    names: list[str] = []
    for base in type.mro(kind):
        slots = base.__dict__.get("__slots__", ())
        names += [slots] if isinstance(slots, str) else [*slots]
    return names


def _attributes(value: Any) -> dict[str, Any]:
    """Return what an object holds; the code may have given its class slots."""
    attributes = {name: getattr(value, name) for name in _slots(type(value)) if hasattr(value, name)}
    return attributes | getattr(value, "__dict__", {})


def _hold(value: Any, attributes: dict[str, Any]) -> None:
    """Let an object hold just these attributes."""
    for name in _attributes(value).keys() - attributes.keys():
        object.__delattr__(value, name)
    for name, item in attributes.items():
        object.__setattr__(value, name, item)
