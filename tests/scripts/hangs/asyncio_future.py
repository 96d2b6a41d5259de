"""A coroutine awaits a future that nobody sets."""

import asyncio


async def rollout(future):
    return await future


async def main():
    future = asyncio.get_running_loop().create_future()
    await asyncio.gather(*(asyncio.create_task(rollout(future), name=f"rollout {n}") for n in range(3)))


asyncio.run(main())
