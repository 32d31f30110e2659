"""Errors in the tests' own words: ``f(cases[3])`` of three cases fails whatever the code is, and says nothing of it.

An expression of the tests depends on the code where data or control may come to it from there. This is asked of names
alone, in all scopes at once, so it says yes too often: such an error is held against the code, as any is.
"""

import ast
from collections.abc import Iterator, Sequence
from types import TracebackType

from reward.sandbox.source import Function, function, shallow, walk, yields
from reward.sandbox.tests_process.errors import FILES, CodeError, Unsupported

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
EXITS = (ast.Break, ast.Continue, ast.Return, ast.Raise)
SCOPES = (*Function, ast.Lambda, ast.Module, ast.ClassDef)


class Dependence:
    """Which names of tests depend on the code; ``cases[]`` stands for the items of ``cases``.

    Args:
        tree: the tests.
        names: that are the code's.
    """

    def __init__(self, tree: ast.Module, names: set[str]) -> None:
        self._parents = {id(child): node for node in walk(tree) for child in ast.iter_child_nodes(node)}
        self._nodes = [*walk(tree)]
        self.names = {*names, *CHANNELS}
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
            self.names |= {f"{name}[]" for name in _bound(value)} if is_item else _given(value)

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
            self.names |= _bound(node.func.value)
        if self.has(node.func):  # which may change what it is given, or is to change it
            self.names |= {name for argument in given for name in _given(argument)}

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


def _given(node: ast.AST) -> set[str]:
    """Return the names of what a function is given that it can change; of ``xs[0]`` it has an item."""
    if isinstance(node, (ast.Name, ast.Attribute)):
        return _bound(node)
    if isinstance(node, (ast.List, ast.Tuple, ast.Set, ast.Dict, ast.Starred)):
        return {name for inner in ast.iter_child_nodes(node) for name in _given(inner)}
    if isinstance(node, ast.Subscript):
        return {f"{name}[]" for name in _bound(node.value)}
    functions = {id(inner.func) for inner in ast.walk(node) if isinstance(inner, ast.Call)}
    return {
        f"{name}[]"
        for inner in ast.walk(node)
        if id(inner) not in functions
        for name in {_name(inner)} - {"", "self", "cls"}
    }


def _parameters(node: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    return {inner.arg for inner in ast.walk(node.args) if isinstance(inner, ast.arg)} - {"self", "cls"}


def is_own(error: BaseException, tests: str, names: set[str]) -> bool:
    """Whether an error came of an expression of the tests' on which the code has no influence.

    Args:
        error: that ended the tests, not raised by the code.
        tests: source as it was run.
        names: that are the code's, or stand for it.
    """
    is_verdict = isinstance(error, (AssertionError, CodeError, Unsupported))
    if not isinstance(error, Exception) or is_verdict or isinstance(error, MemoryError):  # what it returned may fill it
        return False
    tree = ast.parse(tests)
    places = [_node(tree, *span) for span in _spans(error.__traceback__)]
    if not places or None in places or isinstance(places[-1], ast.Raise):  # which is a verdict
        return False
    dependence = Dependence(tree, names)
    return not dependence.fails_in(places[-1]) and not any(map(dependence.decides, places))  # type: ignore[arg-type]


def is_raised(error: BaseException, tests: str) -> bool:
    """Whether a statement of the tests' raised an error by itself."""
    tree = ast.parse(tests)
    places = [_node(tree, *span) for span in _spans(error.__traceback__)]
    return bool(places) and isinstance(places[-1], ast.Raise) and places[-1].exc is not None


def _spans(trace: TracebackType | None) -> Iterator[tuple[int | None, int | None, int | None, int | None]]:
    """Yield where in the tests' source each of their frames was; nothing before Python 3.11, which tells lines."""
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_filename == FILES[1] and hasattr(code, "co_positions"):
            yield [*code.co_positions()][trace.tb_lasti // 2]
        trace = trace.tb_next


def _node(tree: ast.AST, line: int | None, end: int | None, column: int | None, last: int | None) -> ast.AST | None:
    """Return the smallest expression of a span; of a target, what is bound to it."""
    spans = [
        node
        for node in ast.walk(tree)
        if isinstance(node, (ast.expr, ast.stmt))
        and (node.lineno, node.col_offset) <= (line or 0, column or 0)
        and (node.end_lineno or 0, node.end_col_offset or 0) >= (end or 0, last or 0)
    ]
    if None in (line, end, column, last) or not spans:
        return None
    is_target = isinstance(getattr(spans[-1], "ctx", None), (ast.Store, ast.Del))
    if not is_target:
        return spans[-1]
    statement = [node for node in spans if isinstance(node, ast.stmt)][-1]
    if isinstance(spans[-1], (ast.Subscript, ast.Attribute)):  # xs[f(1)] = 5 fails by its key
        return statement
    value = getattr(statement, "iter", None) or getattr(statement, "value", None)
    return value if isinstance(value, ast.expr) else statement
