"""JSON on its way through the engine's YAML files."""

import json


def dumps(value: object) -> str:
    """Return ``value`` as JSON without a ``$``, in which those files would look for an interpolation."""
    return json.dumps(value, ensure_ascii=False).replace("$", "\\u0024")
