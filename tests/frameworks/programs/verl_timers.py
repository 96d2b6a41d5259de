"""One step as verl's trainers time theirs, by verl's own timers; each block sleeps. Prints what the timers measured."""

import asyncio
import json
import time

from verl.utils.debug import marked_timer  # as trainers import it
from verl.utils.profiler import simple_timer

PAUSE_S = 0.03
NAMES = "gen reward old_log_prob ref values adv update_critic update_actor update_weights switch_to_trainer switch_wait"


async def call_tool(seconds: dict[str, float]) -> None:
    with simple_timer("tool_calls", seconds):
        await asyncio.sleep(PAUSE_S)


async def call_tools(seconds: dict[str, float]) -> None:
    await asyncio.gather(*(call_tool(seconds) for _ in range(2)))


def main() -> None:
    seconds: dict[str, float] = {}
    with marked_timer("step", seconds):
        for name in NAMES.split():
            with marked_timer(name, seconds, color="red"):
                time.sleep(PAUSE_S)
        with marked_timer("dump_rollout_generations", seconds), simple_timer("rollout", seconds):
            time.sleep(PAUSE_S)
        asyncio.run(call_tools(seconds))
    print(json.dumps(seconds))


if __name__ == "__main__":
    main()
