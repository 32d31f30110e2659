"""Which key goes to which address: a provider's own key to that provider's hosts alone, and over https alone.

Any other address (``base_url``, the env var of an SDK) gets the key of the env var that ``api_key_env`` names, or none.
A key never travels over plain http, but within this machine.
"""

import ipaddress
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from reward.support.wording import shown

OWN_KEY = "JUDGE_API_KEY"  # env var of the key for an address that is no provider's
NO_KEY = "none"  # what a server of one's own is sent where it has no key: the SDKs insist on one
# What manuals write where a key belongs.
PLACEHOLDER = re.compile(
    r"<.*>|\$?\{.*\}|\[.*\]|(?:sk-)?(?:x{2,}|\*{2,}|\.{2,})|(?:sk-)?(?:your|insert|put|enter|replace)[-_ ].*|"
    r".*(?:你的|您的|填写|密钥).*|(?:api|secret)[-_ ]?key|changeme",
    re.IGNORECASE,
)
ENV_NAME = re.compile(r"[A-Z][A-Z0-9_]*")


@dataclass(frozen=True)
class Account:
    """The env vars of a provider's key, the first one that is set counts, and the hosts that may see it."""

    keys: tuple[str, ...]
    hosts: tuple[str, ...]  # the first is where the SDK asks by itself; one that begins with a dot is a domain


ACCOUNTS: Mapping[str, Account] = {
    "dashscope": Account(
        ("DASHSCOPE_API_KEY",),
        (
            "dashscope.aliyuncs.com",
            "dashscope-intl.aliyuncs.com",
            "dashscope-us.aliyuncs.com",
            "dashscope-finance.aliyuncs.com",
            "cn-hongkong.dashscope.aliyuncs.com",
            ".maas.aliyuncs.com",
        ),
    ),
    "openai": Account(("OPENAI_API_KEY",), ("api.openai.com", ".api.openai.com")),
    "gemini": Account(
        ("GEMINI_API_KEY", "GOOGLE_API_KEY"), ("generativelanguage.googleapis.com", "aiplatform.googleapis.com")
    ),
    "claude": Account(("ANTHROPIC_API_KEY", "CLAUDE_API_KEY"), ("api.anthropic.com", ".api.anthropic.com")),
}


@dataclass(frozen=True)
class Key:
    """The key for one address, or why it is not sent."""

    value: str = ""
    names: tuple[str, ...] = ()  # env vars that were looked at
    fault: str = ""  # without the key, and without whatever secret a URL may hold
    is_own_account: bool = False  # whether the address is a provider's


def key_for(api_type: str, address: str, api_key_env: str = "") -> Key:
    """Return the key for ``address`` (empty: the provider's own), out of the environment."""
    account = ACCOUNTS[api_type]
    parts = _parts(address) if address else urlsplit(f"https://{account.hosts[0]}")
    if parts is None:
        return Key(fault="its URL holds a key or password, or is none; export the key, and write https://host/v1")
    for other in (account, *ACCOUNTS.values()):
        if address and not _is_host_of(parts.hostname or "", other):
            continue
        if parts.scheme != "https":
            return Key(names=other.keys, fault=f"http://{parts.hostname}: the key would travel unencrypted; take https")
        return _checked(other.keys, required=True, is_own_account=True)
    if not api_key_env:
        return Key(NO_KEY)
    key = _checked((api_key_env,), required=api_key_env != OWN_KEY)
    if key.value not in ("", NO_KEY) and parts.scheme != "https" and not is_loopback(parts.hostname or ""):
        return Key(
            names=key.names,
            fault=f"http://{parts.hostname}: the key in {api_key_env} would travel unencrypted; take https, or a "
            f"tunnel (ssh -L 8000:{parts.hostname}:{parts.port or 80}) and http://127.0.0.1:8000, or unset it",
        )
    return key


def _checked(names: tuple[str, ...], required: bool, is_own_account: bool = False) -> Key:
    """Return the first key that is set of the env vars ``names``."""
    name = next((name for name in names if os.environ.get(name, "").strip()), "")
    value = os.environ[name].strip() if name else ""
    fault = ""
    if not name and required:
        fault = f"no key; looked for {' and '.join(names)} in the environment: export {names[0]}=..."
    elif is_own_account and PLACEHOLDER.fullmatch(value):
        fault = f"{name}: it is set to a placeholder, not to a key; export the key of your account"
    elif not (value.isascii() and value.isprintable()) or " " in value:
        fault = f"{name}: the key holds a blank, a line break or a letter that no key has; export it anew"
    return Key("" if fault else value or NO_KEY, names, fault, is_own_account)


def env_name_fault(name: str) -> str:
    """Return why ``name`` is no name of an env var, without showing it: it may be the key itself; or nothing."""
    if name and not ENV_NAME.fullmatch(name):
        return f"the name of an env var that holds a key is wanted, such as {OWN_KEY}, and never a key"
    return ""


def refusal_text(api_type: str, address: str, api_key_env: str) -> str:
    """Return in words which key a server refuses, or that it wants one."""
    key = key_for(api_type, address, api_key_env)
    if key.value not in ("", NO_KEY):
        return f"the key in {' or '.join(key.names)} is refused"
    way = f"export {api_key_env}" if api_key_env else "name its env var with api_key_env"
    names = " or ".join(ACCOUNTS[api_type].keys)
    return f"it wants a key: {way} ({names} goes to {ACCOUNTS[api_type].hosts[0]} alone)"


def url_fault(url: str) -> str:
    """Return why ``url`` is no address of a server, without a secret that it may hold; or nothing."""
    try:
        parts = urlsplit(url)
        fine = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port is not False
        fine = fine and not any(char.isspace() for char in url)
    except ValueError:
        return "this is no URL; https://host/v1 is wanted"
    if "@" in parts.netloc or parts.query:
        return f"no key or password belongs into a URL: export it ({OWN_KEY}, or the provider's ..._API_KEY)"
    return "" if fine or not url else f"{shown(repr(url), 160)} is no URL; https://host/v1 is wanted"


def is_same_server(one: str, other: str) -> bool:
    """Whether two URLs, neither of them empty, have scheme, host and port in common."""
    first, second = _parts(one), _parts(other)
    if first is None or second is None:
        return False
    return (first.scheme, first.netloc) == (second.scheme, second.netloc)


def is_loopback(host: str) -> bool:
    """Whether ``host`` is this machine, by its name or number alone: nothing is looked up."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.rstrip(".").lower() == "localhost"


def _parts(address: str) -> SplitResult | None:
    """Return the parts of a URL; None where it is none, or holds what belongs nowhere in one."""
    return None if not address or url_fault(address) else urlsplit(address)


def _is_host_of(host: str, account: Account) -> bool:
    host = host.rstrip(".").lower()
    return any(host.endswith(suffix) if suffix.startswith(".") else host == suffix for suffix in account.hosts)
