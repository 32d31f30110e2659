"""On ``PYTHONPATH``: actor and critic are verl's own engines, whose passes are padded where flash-attn is not."""

from types import ModuleType

from wrapt import register_post_import_hook


def _register_none(module: ModuleType) -> None:
    module.engines = lambda _: {}  # type: ignore[attr-defined]


register_post_import_hook(_register_none, "trainer.workers.engine.response_logits")
