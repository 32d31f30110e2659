"""A hub of models on loopback: files of folders as huggingface_hub asks for them, and a record of what was asked."""

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

COMMIT = "a" * 40
WEIGHTS = ("model.safetensors.index.json", "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors")


class HubServer(ThreadingHTTPServer):
    """Serves ``root``/OWNER/NAME; each model is listed with weights, which nobody gets."""

    daemon_threads = True

    def __init__(self, root: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Request)
        self.root, self.asked = root, list[str]()

    @property
    def environment(self) -> dict[str, str]:
        """What a program needs to ask this hub."""
        return {"HF_ENDPOINT": f"http://127.0.0.1:{self.server_port}", "NO_PROXY": "*", "HF_HUB_OFFLINE": "0"}

    def answer(self, path: str) -> tuple[int, bytes, dict[str, str]]:
        """Return status, body and headers of a path such as /api/models/a/b/tree/main and /a/b/resolve/main/FILE."""
        parts = path.split("?")[0].strip("/").split("/")
        if parts[:2] == ["api", "models"] and (folder := self.root.joinpath(*parts[2:4])).is_dir():
            names = [*(file.name for file in folder.iterdir()), *WEIGHTS]
            listed: Any = [{"type": "file", "path": name, "size": 1, "oid": COMMIT} for name in names]
            info = {"id": "/".join(parts[2:4]), "sha": COMMIT, "siblings": [{"rfilename": name} for name in names]}
            return 200, json.dumps(listed if "tree" in parts else info).encode(), {}
        file = self.root.joinpath(*parts[:2], *parts[4:])
        if parts[2:3] == ["resolve"] and file.is_file():
            body = file.read_bytes()
            return 200, body, {"ETag": f'"{hashlib.sha1(body).hexdigest()}"', "X-Repo-Commit": COMMIT}
        return 404, b"{}", {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": COMMIT}


class _Request(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: HubServer

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        status, body, headers = self.server.answer(self.path)
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    do_HEAD = do_GET

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def serving(root: Path) -> Iterator[HubServer]:
    """Serve the models in ``root`` while the context lasts."""
    with HubServer(root) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()
