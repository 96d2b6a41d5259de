"""Sends through every kind of stream to a child and back. Argument: how to start the child.

Prints the streams' names in a trace, as JSON: what the parent receives from, and what the child does.
"""

import json
import multiprocessing
import os
import socket
import sys
from multiprocessing.connection import Connection
from typing import Any

MESSAGES = 5


def name_of_ends(*ends: int) -> str:
    return f"socket:[{min(os.fstat(end).st_ino for end in ends)}]"


def serve(duplex: Connection, results: Connection, queue: Any, local: Connection, address: tuple[str, int]) -> None:
    with socket.create_connection(address) as connection:
        for _ in range(MESSAGES):
            results.send(duplex.recv())
            queue.put(local.recv())
            duplex.send("back")
            connection.sendall(connection.recv(1))


def main(method: str) -> None:
    context = multiprocessing.get_context(method)
    duplex, far_duplex = context.Pipe()
    results, far_results = context.Pipe(duplex=False)
    local, far_local = context.Pipe()
    queue = context.Queue()
    streams = {
        "duplex": name_of_ends(duplex.fileno(), far_duplex.fileno()),
        "local": name_of_ends(local.fileno(), far_local.fileno()),
        "results": f"pipe:[{os.fstat(results.fileno()).st_ino}]",
        "queue": f"pipe:[{os.fstat(queue._reader.fileno()).st_ino}]",
    }
    with socket.create_server(("127.0.0.1", 0)) as server:
        given = (far_duplex, far_results, queue, far_local, server.getsockname())
        child = context.Process(target=serve, args=given)
        child.start()
        connection, peer = server.accept()
        streams["tcp"] = "tcp:" + "-".join(sorted(f"{host}:{port}" for host, port in (connection.getsockname(), peer)))
        with connection:
            for number in range(MESSAGES):
                duplex.send(number)
                assert results.recv() == number
                local.send(number)
                assert queue.get() == number
                assert duplex.recv() == "back"
                connection.sendall(b"x")
                assert connection.recv(1) == b"x"
        child.join()
    names = {
        "parent": [streams[name] for name in ("duplex", "results", "queue", "tcp")],
        "child": [streams[name] for name in ("duplex", "local", "tcp")],
    }
    print(json.dumps(names))


if __name__ == "__main__":
    main(sys.argv[1])
