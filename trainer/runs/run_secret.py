"""The secret that all processes of one run have and nobody else: the keys of its sockets are derived from it.

It stands in their environment and nowhere else: in no file, no argument, no log. On one machine it is random. On
several it is derived from the person's token, which all have, and from a random number that the head node sends with
its order to join, so that neither the token nor the secret travels. Ray's own token is derived from the secret; it does
travel, as Ray sends it with each call, and opens nothing once the run has ended. Where the kit has not started Ray
(``--ray_address``, or verl's command typed by hand), the first process that asks makes the secret, and the others find
it in Ray's own store.
"""

import hashlib
import hmac
import os
import secrets
from collections.abc import MutableMapping

from reward.model.spec import RUN_KEY

SECRET = "KIT_RUN_SECRET"  # env var
BYTES = 32
NAMESPACE = "ppo-kit"  # of Ray's key-value store


def random_number() -> str:
    """Return a number that no other run has."""
    return secrets.token_hex(BYTES)


def shared(token: str, number: str) -> str:
    """Return the secret of a run on several machines, from the person's token and the run's own random number."""
    return derive(token, f"run {number}").hex() if token else number


def derive(secret: str, purpose: str) -> bytes:
    """Return 32 bytes for one purpose, which tell nothing about the secret, nor about those for another."""
    key = secret.encode("utf-8", "surrogateescape")  # a person's token, from an env var, need not be UTF-8
    return hmac.new(key, f"ppo-kit {purpose}".encode(), hashlib.sha256).digest()


def environment(secret: str) -> dict[str, str]:
    """Return the env vars of the run's processes."""
    return {SECRET: secret, RUN_KEY: derive(secret, "HTTP servers").hex()}


def establish(environ: MutableMapping[str, str] = os.environ) -> str:
    """Return the secret in a process of Ray's, and see that ``environ`` has it and the key of the HTTP servers.

    Raises:
        RuntimeError: there is none, and no Ray to ask.
    """
    secret = environ.get(SECRET) or _from_ray()
    environ.update(environment(secret))
    return secret


def _from_ray() -> str:
    """Return the secret of this job of Ray's; the first who asks makes it."""
    import ray
    from ray.experimental import internal_kv

    if not ray.is_initialized():
        raise RuntimeError(f"{SECRET} is not set: this is no process of a run")
    key = f"secret of job {ray.get_runtime_context().get_job_id()}".encode()
    internal_kv._internal_kv_put(key, random_number().encode(), overwrite=False, namespace=NAMESPACE)
    return bytes(internal_kv._internal_kv_get(key, namespace=NAMESPACE)).decode()
