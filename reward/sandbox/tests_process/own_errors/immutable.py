"""Names of the tests' whose values nobody can change: ``x = 3; f(x); x[0]`` fails by itself, whatever ``f`` is."""

import ast

from reward.sandbox.source import function, walk

SCALARS = {"int", "float", "str", "len", "abs", "round", "ord", "chr", "bool", "complex", "range"}
OF_ITEMS = {"enumerate", "zip", "sorted", "reversed", "list", "tuple", "set", "items", "keys", "values"}
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class Immutable:
    """``values``: names of numbers, texts and tuples of these; ``items``: names of containers of nothing else.

    A name counts by all that binds it, in all scopes at once.
    """

    def __init__(self, tree: ast.Module) -> None:
        bound: dict[str, list[tuple[ast.expr, bool]]] = {}  # name -> values, each itself or its items
        other: set[str] = set()
        seen: set[int] = set()
        for node in walk(tree):
            if isinstance(node, (ast.Assign, ast.AnnAssign, ast.NamedExpr)) and node.value is not None:
                for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                    is_part = not isinstance(target, ast.Name)
                    seen |= _note(bound, target, node.value, is_part)
            elif isinstance(node, (ast.For, ast.comprehension)):
                seen |= _note(bound, node.target, node.iter, True)
        for node in walk(tree):
            if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load) and id(node) not in seen:
                other.add(node.id)
            other |= {str(getattr(node, field, None) or "") for field in ("arg", "name", "asname", "rest")}
        self.values: set[str] = set()
        self.items: set[str] = set()
        size = -1
        while size != len(self.values) + len(self.items):
            size = len(self.values) + len(self.items)
            for name in bound.keys() - other:
                if all(self._has_items(value) if of_items else self.has(value) for value, of_items in bound[name]):
                    self.values.add(name)
                if all(not of_items and self._has_items(value) for value, of_items in bound[name]):
                    self.items.add(name)

    def has(self, node: ast.AST) -> bool:
        """Whether an expression is of a value that nobody can change."""
        if isinstance(node, ast.Name):
            return node.id in self.values
        if isinstance(node, ast.Tuple):
            return all(map(self.has, node.elts))
        if isinstance(node, (ast.UnaryOp, ast.BinOp, ast.BoolOp)):
            return all(self.has(part) for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr))
        if isinstance(node, ast.Subscript):
            is_item = isinstance(node.value, ast.Name) and node.value.id in self.items
            return self.has(node.value) or (is_item and not isinstance(node.slice, ast.Slice))
        if isinstance(node, ast.Call):
            return isinstance(node.func, ast.Name) and function(node) in SCALARS
        return isinstance(node, (ast.Constant, ast.JoinedStr, ast.Compare))

    def _has_items(self, node: ast.AST) -> bool:
        """Whether nobody can change the items of a container, whatever becomes of itself."""
        if isinstance(node, ast.Name):
            return node.id in self.items | self.values
        if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            return all(map(self.has, node.elts))
        if isinstance(node, ast.Dict):
            return all(map(self.has, node.values)) and None not in node.keys
        if isinstance(node, COMPREHENSIONS):
            return self.has(node.value if isinstance(node, ast.DictComp) else node.elt)
        if isinstance(node, ast.Call) and function(node) in OF_ITEMS:
            given = [node.func.value] if isinstance(node.func, ast.Attribute) else node.args
            return all(map(self._has_items, given))
        return self.has(node)


def _note(bound: dict[str, list[tuple[ast.expr, bool]]], target: ast.expr, value: ast.expr, of_items: bool) -> set[int]:
    """Note what binds the names of a target; return the ids of their nodes. ``*rest`` is a new list."""
    lists = {id(node.value) for node in ast.walk(target) if isinstance(node, ast.Starred)}
    names = [node for node in ast.walk(target) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    names = [node for node in names if id(node) not in lists]
    for node in names:
        bound.setdefault(node.id, []).append((value, of_items))
    return {*map(id, names)}
