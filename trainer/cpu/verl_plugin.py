"""Entry point ``verl.plugins``: imported at ``import verl`` in every process."""

from trainer.cpu import active

if active():
    from trainer.cpu import patches, platform  # noqa: F401  (importing platform registers it)
    from trainer.workers.post_import import after_import

    after_import(patches.VERL_PATCHES)
