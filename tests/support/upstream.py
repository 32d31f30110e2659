"""Code that runs as one of verl's processes would, with the kit's patches or without them.

``python -m tests.support.upstream`` has imported what verl and vLLM import of others, which takes 5 to 10 s of CPU, but
neither of them: their modules are loaded, and patched, in a fork for each piece of code. A request a line of its stdin,
an exit status a line.
"""

import atexit
import functools
import importlib
import json
import os
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

from tests.support import fork

UNDO = "import wrapt.importer; wrapt.importer._post_import_hooks.clear()"
LIBRARIES = (
    *("torch._inductor.lowering", "torch.distributed.fsdp", "torch.distributed.checkpoint.state_dict", "tensordict"),
    *("transformers.modeling_utils", "transformers.models.auto.modeling_auto", "datasets", "ray", "peft"),
)


def run(code: str, platform: str = "cpu", fresh: bool = False, **extra: str) -> subprocess.CompletedProcess[str]:
    """Run ``code`` in a process of its own, as one of verl's would be with this platform.

    ``fresh``: by an interpreter that starts, where that, or the import of a library, is what is tested.
    """
    environment = {k: v for k, v in os.environ.items() if k != "VERL_PLATFORM"} | extra
    if platform:
        environment["VERL_PLATFORM"] = platform
    text = textwrap.dedent(code)
    if fresh:
        command = [sys.executable, "-c", text]
        return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    server = _server()
    assert server.stdin is not None and server.stdout is not None
    with tempfile.TemporaryDirectory() as folder:
        files = [str(Path(folder) / name) for name in ("out", "err")]
        server.stdin.write(json.dumps({"code": text, "environ": environment, "files": files}) + "\n")
        server.stdin.flush()
        status = int(server.stdout.readline())
        out, err = (Path(file).read_text(encoding="utf-8") for file in files)
    return subprocess.CompletedProcess(["fork"], status, out, err)


@functools.cache
def _server() -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.support.upstream"]
    environment = {k: v for k, v in os.environ.items() if k != "VERL_PLATFORM"}
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
    atexit.register(server.kill)
    return server


def _serve() -> None:
    for name in LIBRARIES:
        importlib.import_module(name)
    ours = sorted(name for name in sys.modules if name.partition(".")[0] in ("verl", "vllm", "transfer_queue"))
    assert not ours, f"to be loaded in each fork: {ours}"
    for line in sys.stdin:
        request = json.loads(line)
        child = os.fork()
        if not child:
            _become(request["code"], request["environ"], request["files"])
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


def _become(code: str, environment: dict[str, str], files: list[str]) -> None:
    """Be the process of ``code``: never returns."""
    fork.take_over(environment, *files)
    sys.argv = ["-c"]
    fork.run_and_exit(lambda: exec(compile(code, "<string>", "exec"), vars(sys.modules["__main__"])))


if __name__ == "__main__":
    _serve()
