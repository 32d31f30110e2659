"""Which classes of the tests both processes have (``records.py``), and their source as the code's process runs it."""

import ast

from reward.sandbox.source import Function, is_empty, is_stub

ENUMS = ("Enum", "IntEnum", "StrEnum", "Flag", "IntFlag")
FACTORIES = ("list", "dict", "set", "tuple", "str", "int", "float")  # of fields
ORIGIN = {"dataclass": "dataclasses", "field": "dataclasses", "auto": "enum", **dict.fromkeys(ENUMS, "enum")}


def is_record(node: ast.AST) -> bool:
    """Whether a class only holds what it is given: nodes of trees, dataclasses without methods, enumerations."""
    if not isinstance(node, ast.ClassDef) or node.keywords:
        return False
    if node.bases:
        return _is_enum(node)
    if node.decorator_list:
        return _is_dataclass(node)
    return (
        any(isinstance(member, Function) for member in node.body)
        and not is_stub(node)
        and all(
            (isinstance(member, Function) and member.name in ("__init__", "__repr__", "__str__")) or is_empty(member)
            for member in node.body
        )
    )


def portable(node: ast.stmt) -> str:
    """Return the source of a record's class that needs no import and evaluates no annotation."""
    return ast.unparse(ast.fix_missing_locations(_Portable().visit(ast.parse(ast.unparse(node)))))


class _Portable(ast.NodeTransformer):
    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.annotation = ast.Name("object", ast.Load())
        return self.generic_visit(node)

    def visit_arguments(self, node: ast.arguments) -> ast.AST:
        for argument in (*node.posonlyargs, *node.args, *node.kwonlyargs):
            argument.annotation = None
        return self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return _imported(node.id) if node.id in ORIGIN else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        return _imported(node.attr) if _name(node) in ORIGIN else self.generic_visit(node)


def _imported(name: str) -> ast.expr:
    return ast.parse(f"__import__({ORIGIN[name]!r}).{name}", mode="eval").body


def _name(node: ast.expr) -> str:
    """The name of a library's function or class: ``field``, ``dataclasses.field``; empty for all else."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in ORIGIN.values():
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _is_plain(node: ast.expr | None) -> bool:
    if node is None or isinstance(node, ast.Constant):
        return True
    if isinstance(node, ast.UnaryOp):
        return _is_plain(node.operand)
    return isinstance(node, ast.Tuple) and all(map(_is_plain, node.elts))


def _is_enum(node: ast.ClassDef) -> bool:
    return (
        len(node.bases) == 1
        and _name(node.bases[0]) in ENUMS
        and not node.decorator_list
        and all(
            is_empty(member)
            or (isinstance(member, ast.Assign) and (_is_plain(member.value) or _is_call(member.value, "auto")))
            for member in node.body
        )
    )


def _is_call(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Call) and _name(node.func) == name


def _is_dataclass(node: ast.ClassDef) -> bool:
    decorator, *others = node.decorator_list
    call = decorator if isinstance(decorator, ast.Call) else ast.Call(decorator, [], [])
    return (
        not others
        and not call.args
        and _name(call.func) == "dataclass"
        and all(_is_plain(keyword.value) for keyword in call.keywords)
        and all(is_empty(part) or _is_field(part) for part in node.body)
    )


def _is_field(node: ast.stmt) -> bool:
    """Whether a member of a dataclass has no value, a plain one, or one of ``field``."""
    if not isinstance(node, ast.AnnAssign):
        return False
    value = node.value
    if not isinstance(value, ast.Call):
        return _is_plain(value)
    return (
        _name(value.func) == "field"
        and not value.args
        and all(_is_plain(keyword.value) or _name(keyword.value) in FACTORIES for keyword in value.keywords)
    )
