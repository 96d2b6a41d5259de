"""A socket through which a container engine is reached until the engine seems to fail."""

import os
import socket
import threading
from contextlib import suppress
from pathlib import Path

from container_runs import CALLER


class Relay:
    """Carries everything to the engine of DOCKER_HOST and back, until `fail` is called."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "engine.sock"
        self.engine = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock").removeprefix("unix://")
        self.open: list[socket.socket] = []
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(self.path))
        self.listener.listen()
        os.chown(self.path, CALLER, -1)
        threading.Thread(target=self._accept, daemon=True).start()

    def fail(self) -> None:
        """As an engine that is killed: nobody listens, and what was open is closed."""
        self.path.unlink(missing_ok=True)
        for each in (self.listener, *self.open):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                engine = socket.socket(socket.AF_UNIX)
                engine.connect(self.engine)
                self.open += [client, engine]
                for source, target in ((client, engine), (engine, client)):
                    threading.Thread(target=self._carry, args=(source, target), daemon=True).start()

    def _carry(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 16):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
