"""How verl is driven: settings, checks, launch, the CPU platform, and what a run leaves behind.

Importing this package costs nothing: ``settings`` runs before the environment is set up.
"""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
