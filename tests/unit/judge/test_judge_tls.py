"""Servers that break TLS, or never answer: through the four SDKs it is one line in words, and never a verdict."""

import asyncio
import datetime
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.support.judge_server import JudgeServer
from tests.support.judging import config, judging

pytestmark = pytest.mark.usefixtures("judge_keys", "short_pauses")
NAMES = ["openai", "claude", "gemini", "dashscope"]
OF_PYTHON = ("ssl:", "object at", "None", "Error", "_ssl.c", "message=", "[SSL")
Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def said(answer: bytes, asked: bool = True) -> Talk:
    """Answer the first bytes of a client with these, and end the connection."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if asked:
            await reader.read(4096)
        writer.write(answer)
        writer.close()

    return talk


# What a server does at the beginning of TLS -> what is told of it.
TALKS: dict[str, tuple[Talk, str]] = {
    "closes": (said(b""), "it ends the connection at once"),
    "closes unasked": (said(b"", asked=False), "cannot connect to"),
    "half a hello": (said(b"\x16\x03\x03\x40\x00\x02"), "it ends the connection at once"),
    "junk in a record": (said(b"\x16\x03\x03\x00\x05hello"), "does not answer in TLS"),
    "an alert": (said(b"\x15\x03\x03\x00\x02\x02\x28"), "does not answer in TLS"),
    "an endless record": (said(b"\x16\x03\x03\xff\xff" + b"\x00" * 70_000), "does not answer in TLS"),
    "SSL 3": (said(b"\x16\x03\x00\x00\x02\x02\x00"), ""),
    "plain HTTP": (said(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"), "begins with https or http"),
    "SSH": (said(b"SSH-2.0-OpenSSH_9.0\r\n"), "begins with https or http"),
    "zeros": (said(bytes(1000)), "does not answer in TLS"),
}


def certificate(folder: Path, host: str, days: int) -> ssl.SSLContext:
    """Return a server's context with a certificate that nobody has signed but itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
    end = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=days)
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    made = made.serial_number(1).not_valid_before(end - datetime.timedelta(days=9)).not_valid_after(end)
    form, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    (folder / "cert.pem").write_bytes(made.sign(key, hashes.SHA256()).public_bytes(form))
    (folder / "key.pem").write_bytes(key.private_bytes(form, serialization.PrivateFormat.PKCS8, plain))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    return context


@asynccontextmanager
async def serving(talk: Talk, context: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    server = await asyncio.start_server(talk, "127.0.0.1", 0, ssl=context)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


def reason_of(name: str, talk: Talk, context: ssl.SSLContext | None = None) -> str:
    """Return what the gateway tells of a server, which gives no verdict."""
    reasons = []

    async def whole() -> None:
        async with serving(talk, context) as port:
            await asyncio.to_thread(ask, port)

    def ask(port: int) -> None:
        server = JudgeServer(lambda *_: "")  # for its URL
        server.port = port
        secure = server.url(name).replace("http:", "https:")
        settings = config(server, base_url=secure, api_type=name, timeout=5.0, deadline=10.0, attempts=2)

        async def work(judge: Any, gateway: Any) -> Any:
            return await gateway.ask(judge.prompts.question("1 + 1 = ?", "2", "2"), 0)

        answer, _ = judging(settings, work)
        assert (answer.raw, answer.why) == (None, "connection")
        reasons.append(answer.reason)

    asyncio.run(whole())
    return str(reasons[0])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("talk", TALKS)
def test_a_server_that_breaks_tls_is_told_in_words(name: str, talk: str) -> None:
    server, says = TALKS[talk]
    reason = reason_of(name, server)
    assert says in reason and "127.0.0.1:" in reason
    assert "\n" not in reason and len(reason) <= 300
    assert not [word for word in OF_PYTHON if word in reason], reason


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("host", "days"), [("127.0.0.1", 5), ("127.0.0.1", -1), ("evil.example", 5)])
def test_a_certificate_that_nobody_knows_is_told_in_words(name: str, host: str, days: int, tmp_path: Path) -> None:
    reason = reason_of(name, said(b""), certificate(tmp_path, host, days))
    assert reason.startswith("the certificate of 127.0.0.1:") and "SSL_CERT_FILE" in reason
    assert not [word for word in OF_PYTHON if word in reason.replace("SSL_CERT", "")], reason
