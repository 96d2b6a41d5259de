"""TRL's asynchronous rollout worker with a stand-in for vLLM: a server that answers its HTTP calls with made tokens.

The worker is TRL's own process. A sample asks twice, for a tool call and, with what the tool said, for the answer. Of
vLLM, TRL asks here only whether it is installed.
"""

import json
import threading
import time
from collections import Counter, defaultdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from accelerate import PartialState
from datasets import Dataset
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit
from transformers import PreTrainedTokenizerFast
from trl.experimental.async_grpo import async_rollout_worker
from trl.experimental.async_grpo.async_grpo_trainer import RolloutQueueDataset

WORDS = ["<pad>", "<eos>", "<unk>", *map(str, range(10)), "user", "assistant", "tool", "look_up"]
CALL, ANSWER = [WORDS.index("look_up")], [WORDS.index("7"), 1]
TEMPLATE = "{% for message in messages %}{{ message.role }} {{ message.content }} {% endfor %}"
GENERATES_S, LOOKS_UP_S, REWARDS_S = 0.06, 0.04, 0.02
SAMPLES = 8
asked: Counter[str] = Counter()


class Server(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        is_first = WORDS.index("tool") not in request["prompt"]
        asked["first" if is_first else "second"] += 1
        time.sleep(GENERATES_S)
        ids = CALL if is_first else ANSWER
        choice = {"token_ids": ids, "logprobs": {"token_logprobs": [-1.0] * len(ids)}}
        body = json.dumps({"choices": [choice]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None: ...


class MadeTokenizer(PreTrainedTokenizerFast):  # type: ignore[misc]
    """Has a response template of its own, which the program reads itself."""

    response_template = property(lambda self: "made", lambda self, value: None)

    def parse_response(self, ids: list[int], **_: Any) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": self.decode(ids, skip_special_tokens=True)}
        if ids == CALL:
            message["tool_calls"] = [{"type": "function", "function": {"name": "look_up", "arguments": {"number": 3}}}]
        return message


def look_up(number: int) -> str:
    """
    Look a number up.

    Args:
        number: Which one.
    """
    time.sleep(LOOKS_UP_S)
    return str(number)


def reward(completions: list[Any], **_: Any) -> list[float]:
    time.sleep(REWARDS_S)
    return [1.0 for _ in completions]


def main() -> None:
    PartialState()  # as a trainer makes it
    async_rollout_worker.is_vllm_available = lambda: True
    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    tokenizer = Tokenizer(WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = WhitespaceSplit()
    worker = async_rollout_worker.AsyncRolloutWorker(
        model_name="made", dataset=Dataset.from_dict({"prompt": [[{"role": "user", "content": "1 2"}]] * 4}),
        reward_funcs=[reward], tools=[look_up], num_generations=2, max_inflight_tasks=4, eos_token_ids=[1],
        processing_class=MadeTokenizer(
            tokenizer_object=tokenizer, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>", chat_template=TEMPLATE
        ),
        vllm_server_url=f"http://127.0.0.1:{server.server_port}",
    )  # fmt: skip
    worker.update_model_version(5)
    worker.start()
    queue = RolloutQueueDataset(
        worker.rollout_buffer, lambda: worker.model_version, worker.check_health, 60.0, defaultdict(list)
    )
    samples = [sample for sample, _ in zip(queue, range(SAMPLES), strict=False)]
    worker.stop()
    server.shutdown()
    print(json.dumps({"samples": len(samples), "asked": asked, "tokens": len(CALL + ANSWER)}))


if __name__ == "__main__":
    main()
