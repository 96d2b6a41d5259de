"""Sends to a child and back through streams of asyncio; prints the connection's name in a trace."""

import asyncio
import multiprocessing

MESSAGES = 5


async def call(port: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for _ in range(MESSAGES):
        writer.write(b"x")
        await writer.drain()
        assert await reader.read(1) == b"x"
    writer.close()
    await writer.wait_closed()


async def serve() -> None:
    is_over: asyncio.Future[list[str]] = asyncio.get_running_loop().create_future()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        ends = [writer.get_extra_info(name) for name in ("sockname", "peername")]
        while message := await reader.read(1):
            writer.write(message)
            await writer.drain()
        writer.close()
        is_over.set_result(sorted(f"{host}:{port}" for host, port in ends))

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        child = multiprocessing.get_context("spawn").Process(target=run, args=(port,))
        child.start()
        print("tcp:" + "-".join(await is_over))
    child.join()


def run(port: int) -> None:
    asyncio.run(call(port))


if __name__ == "__main__":
    asyncio.run(serve())
