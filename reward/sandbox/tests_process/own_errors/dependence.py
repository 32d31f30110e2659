"""Which expressions of the tests depend on the code.

An expression of the tests depends on the code where data or control may come to it from there. This is asked of names
alone, in all scopes at once, so it says yes too often: such an error is held against the code, as any is.
"""

import ast
from collections.abc import Sequence

from reward.sandbox.free_names import BUILTINS
from reward.sandbox.source import Function, function, shallow, walk, yields
from reward.sandbox.tests_process.own_errors.immutable import Immutable

# What the code can write to or call without being given it, and what hides names.
CHANNELS = frozenset(
    {
        *("stdout", "stderr", "StringIO", "redirect_stdout", "redirect_stderr", "getvalue", "input", "stdin"),
        *("open", "read_text", "read_bytes", "Path", "pathlib", "os", "tempfile", "shutil", "glob", "sqlite3"),
        *("Mock", "MagicMock", "AsyncMock", "mock", "patch", "create_autospec"),
        *("eval", "exec", "globals", "locals", "vars", "getattr", "setattr", "sys", "atexit", "signal"),
    }
)
BUILDERS = {"__init__", "__post_init__"}  # which a call of their class calls
# Library functions that keep what they are given, and those that hand its items to a function.
KEEPERS = {"partial", "partialmethod"}
BY_ITEMS = {
    *("map", "filter", "sorted", "min", "max", "reduce", "starmap", "accumulate", "groupby", "takewhile", "dropwhile"),
}
ASKERS = ("isinstance", "issubclass", "callable", "hasattr", "assertIs", "assertEqual", "assertNot")
EXITS = (ast.Break, ast.Continue, ast.Return, ast.Raise)
SCOPES = (*Function, ast.Lambda, ast.Module, ast.ClassDef)


class Dependence:
    """Which names of tests depend on the code; ``cases[]`` stands for the items of ``cases``.

    Args:
        tree: the tests.
        names: that are the code's.
    """

    def __init__(self, tree: ast.Module, names: set[str]) -> None:
        self._immutable = Immutable(tree)
        self._parents = {id(child): node for node in walk(tree) for child in ast.iter_child_nodes(node)}
        self._nodes = [*walk(tree)]
        self.names = {*names, *CHANNELS}
        imports = (node for node in self._nodes if isinstance(node, (ast.Import, ast.ImportFrom)))
        imported = {alias.asname or alias.name.split(".")[0] for node in imports for alias in node.names}
        self._libraries = imported - self.names
        callees = {id(node.func) for node in self._nodes if isinstance(node, ast.Call)}
        self._handed = {  # functions that somebody else may call, how often is not known
            _name(node)
            for node in self._nodes
            if isinstance(node, (ast.Name, ast.Attribute)) and id(node) not in callees
        }
        functions = [node for node in self._nodes if isinstance(node, Function)]
        self._handed |= {node.name for node in functions if node.name.startswith("__")} - BUILDERS  # by operators
        classes = [node for node in self._nodes if isinstance(node, ast.ClassDef)]
        self._methods = {inner.name for node in classes for inner in node.body if isinstance(inner, Function)}
        self._functions = {node.name: node for node in functions}
        self._code = frozenset(names)
        size = -1
        while size != len(self.names):
            size = len(self.names)
            for node in self._nodes:
                self._spread(node)

    def has(self, node: ast.AST) -> bool:
        """Whether an expression, or a part of it, depends on the code by its names."""
        calls = [inner for inner in walk(node) if isinstance(inner, ast.Call) and function(inner) == "len"]
        counted = {id(argument) for call in calls for argument in call.args}  # of which the items do not matter
        return any(
            name in self.names or (f"{name}[]" in self.names and id(inner) not in counted)
            for inner in walk(node)
            if (name := _name(inner))
        )

    def fails_in(self, node: ast.AST) -> bool:
        """Whether an expression that has failed depends on the code: ``cases[3]`` not by what ``cases[0]`` holds."""
        if not isinstance(node, (ast.Subscript, ast.Attribute)) or not isinstance(
            node.value, (ast.Name, ast.Attribute)
        ):
            return self.has(node)
        key = node.slice if isinstance(node, ast.Subscript) else ast.Name(node.attr)
        return self.has(key) or bool({*map(_name, walk(node.value))} & self.names)

    def decides(self, node: ast.AST) -> bool:
        """Whether the code may decide if a node is reached."""
        child, parent = node, self._parents.get(id(node))
        while parent is not None:
            if self._guards(parent, child):
                return True
            if isinstance(parent, SCOPES):
                nodes = (inner for statement in _body(parent) for inner in shallow(statement))
                return any(_is_exit(inner) and self._is_under(inner, parent) for inner in nodes)
            child, parent = parent, self._parents.get(id(parent))
        return False

    def _is_under(self, node: ast.AST, scope: ast.AST) -> bool:
        child, parent = node, self._parents[id(node)]
        while parent is not scope:
            if self._guards(parent, child):
                return True
            child, parent = parent, self._parents[id(parent)]
        return False

    def _guards(self, parent: ast.AST, child: ast.AST) -> bool:
        """Whether a statement or an expression lets the code decide if a part of it is reached."""
        if isinstance(parent, (ast.If, ast.While, ast.IfExp)):
            return child is not parent.test and self.has(parent.test)
        if isinstance(parent, ast.BoolOp):
            return any(self.has(value) for value in parent.values[: parent.values.index(child)])  # type: ignore[arg-type]
        if isinstance(parent, ast.Compare):
            return len(parent.ops) > 1 and self.has(parent)
        if isinstance(parent, (ast.For, ast.AsyncFor)):
            return child is not parent.iter and bool(_bound(parent.iter) & self.names)
        if isinstance(parent, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            return any(self.has(part) for generator in parent.generators for part in (generator.iter, *generator.ifs))
        if isinstance(parent, ast.Try):
            return child in parent.handlers or child in parent.finalbody
        if isinstance(parent, ast.Match):
            return child is not parent.subject and self.has(parent.subject)
        if isinstance(parent, (*Function, ast.Lambda)):
            is_lazy = isinstance(parent, ast.Lambda) or yields(parent)
            return is_lazy or parent.name in self._handed  # type: ignore[union-attr]
        return isinstance(parent, ast.Assert) and child is parent.msg

    def _spread(self, node: ast.AST) -> None:
        """Note names that depend on the code by one node."""
        if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.NamedExpr)):
            targets: list[ast.expr] = node.targets if isinstance(node, ast.Assign) else [node.target]
            self._bind(targets, node.value, node)
        elif isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
            self._bind([node.target], node.iter, node)
        elif isinstance(node, (ast.With, ast.AsyncWith)):
            targets = [part for item in node.items for part in (item.context_expr, item.optional_vars) if part]
            if any(map(self.has, [*node.body, *targets])):
                self.names |= {name for target in targets for name in _bound(target)}
        elif isinstance(node, ast.Delete):
            self._bind(node.targets, None, node)
        elif isinstance(node, ast.match_case):
            self._bind([node.pattern], self._parents[id(node)].subject, node)  # type: ignore[attr-defined]
        elif isinstance(node, ast.ExceptHandler) and node.name:
            self.names.add(node.name)
        elif isinstance(node, Function):
            self._spread_function(node)
        elif isinstance(node, ast.Call):
            self._spread_call(node)

    def _bind(self, targets: Sequence[ast.AST], value: ast.AST | None, node: ast.AST) -> None:
        keys = [inner.slice for target in targets for inner in walk(target) if isinstance(inner, ast.Subscript)]
        names = {name for target in targets for name in _bound(target)}
        if any(map(self.has, [*keys, *([value] if value else [])])) or self.decides(node) or self._is_tried(node):
            self.names |= names
        elif value and names & self.names:  # a name more of what the code can change
            is_item = isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension))
            self.names |= self._items(_bound(value)) if is_item else self._given(value)

    def _is_tried(self, node: ast.AST) -> bool:
        """Whether a ``try`` stands around a node, in which the code may raise."""
        parent = self._parents.get(id(node))
        while parent is not None and not isinstance(parent, SCOPES):
            if isinstance(parent, ast.Try) and any(map(self.has, parent.body)):
                return True
            parent = self._parents.get(id(parent))
        return False

    def _spread_function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        if any(map(self.has, node.body)):
            self.names.add(node.name)
        defaults = [default for default in (*node.args.defaults, *node.args.kw_defaults) if default]
        if node.name in self._handed or any(map(self.has, [*node.decorator_list, *defaults])):
            self.names |= _parameters(node)

    def _spread_call(self, node: ast.Call) -> None:
        given = [*node.args, *(keyword.value for keyword in node.keywords)]
        depends = any(map(self.has, given))
        if depends and (name := function(node)):
            for inner in self._nodes:
                if isinstance(inner, Function) and inner.name == name:
                    self.names |= _parameters(inner)
            self.names |= self._members(name)
        if isinstance(node.func, ast.Attribute) and self.has(node.func.value) and node.func.attr in self._methods:
            self.names.add("self")
        if isinstance(node.func, ast.Attribute) and (depends or self.decides(node)):  # items.append(f(1))
            self.names |= _bound(node.func.value) - self._libraries
        if self.has(node.func):  # which may change what it is given, or is to change it
            self.names |= {name for argument in given for name in self._given(argument)}
        elif self._is_handed_code(given) and not function(node).startswith(ASKERS):  # map(f, xs)
            changed = {name for argument in given for name in self._given(argument)}
            self.names |= self._items({name.removesuffix("[]") for name in changed}) if _is_by_items(node) else changed

    def _is_handed_code(self, given: Sequence[ast.AST]) -> bool:
        """Whether a function of the code's, or one of the tests' that depends on it, is given in a call."""
        functions = self._code | (self._functions.keys() & self.names)
        return any(isinstance(part, (ast.Name, ast.Attribute)) and _name(part) in functions for part in given)

    def _given(self, node: ast.AST) -> set[str]:
        """Return the names of what a function is given that it can change; of ``xs[0]`` it has an item."""
        if isinstance(node, (ast.Name, ast.Attribute)):
            return _bound(node) - self._immutable.values - self._libraries
        if isinstance(node, (ast.List, ast.Tuple, ast.Set, ast.Dict)):
            return {name for inner in ast.iter_child_nodes(node) for name in self._given(inner)}
        if isinstance(node, ast.Subscript):
            return self._items(_bound(node.value))
        if isinstance(node, ast.Call) and self._keeps(node):
            parts = [*node.args, *(keyword.value for keyword in node.keywords)]
            return self._kept(function(node)).union(*map(self._given, parts))
        functions = {id(inner.func) for inner in ast.walk(node) if isinstance(inner, ast.Call)}
        return self._items({_name(inner) for inner in ast.walk(node) if id(inner) not in functions} - {"self", "cls"})

    def _items(self, names: set[str]) -> set[str]:
        """Return what stands for the items of containers that can be changed."""
        return {f"{name}[]" for name in names - self._immutable.items - self._immutable.values - self._libraries - {""}}

    def _keeps(self, call: ast.Call) -> bool:
        """Whether what a call returns may hold what it is given: an object of the tests', a ``partial``."""
        name = function(call)
        is_own = name in self._methods if isinstance(call.func, ast.Attribute) else name not in BUILTINS
        return name in KEEPERS or (is_own and name not in self._libraries)

    def _kept(self, name: str) -> set[str]:
        """Return the containers in which a function of the tests' keeps what it returns as well."""
        if (node := self._functions.get(name)) is None:
            return set()
        results = (inner.value for inner in walk(node) if isinstance(inner, ast.Return) and inner.value)
        returned = {name for value in results for name in _bound(value)}
        places: set[str] = set()
        for inner in walk(node):
            if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute):
                places |= _bound(inner.func.value) if returned & {*map(_name, inner.args)} else set()
            elif isinstance(inner, ast.Assign) and returned & _bound(inner.value):
                parts = (target.value for target in inner.targets if isinstance(target, (ast.Subscript, ast.Attribute)))
                places |= {name for part in parts for name in _bound(part)}
        return places - self._libraries

    def _members(self, name: str) -> set[str]:
        """Return what objects of a class are made of, and ``self`` where it is derived from others."""
        names: set[str] = set()
        for node in self._nodes:
            if isinstance(node, ast.ClassDef) and node.name == name:
                inside = [*walk(node)]
                names |= {inner.attr for inner in inside if isinstance(inner, ast.Attribute)}
                names |= {_name(inner.target) for inner in inside if isinstance(inner, ast.AnnAssign)}
                names |= {name for inner in inside if isinstance(inner, Function) for name in _parameters(inner)}
                bases = {*map(_name, node.bases)} - {name}
                names |= {"self"}.union(*map(self._members, bases)) if bases else set()
        return names - {""}


def _is_exit(node: ast.AST) -> bool:
    """Whether what follows a statement is not reached; ``raise`` alone, of a handler, ends the tests as any error."""
    return isinstance(node, EXITS) and not (isinstance(node, ast.Raise) and node.exc is None)


def _body(scope: ast.AST) -> list[ast.AST]:
    body = getattr(scope, "body", [])
    return body if isinstance(body, list) else [body]


def _name(node: ast.AST) -> str:
    if isinstance(node, (ast.MatchAs, ast.MatchStar, ast.MatchMapping)):
        return (node.rest if isinstance(node, ast.MatchMapping) else node.name) or ""
    return str(getattr(node, "id", "") or getattr(node, "attr", ""))


def _bound(node: ast.AST | None) -> set[str]:
    """Return the variables and attributes that a target, or what a method changes, is made of."""
    return {_name(inner) for inner in walk(node)} - {"", "self", "cls"} if node is not None else set()


def _is_by_items(call: ast.Call) -> bool:
    return function(call) in BY_ITEMS


def _parameters(node: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    return {inner.arg for inner in ast.walk(node.args) if isinstance(inner, ast.arg)} - {"self", "cls"}
