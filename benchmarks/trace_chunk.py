"""This file makes the chunks of the process files that tests and benchmarks write."""

from dataclasses import dataclass, field, replace

from benchmarks import trace_entries
from rlscope import _analysis
from rlscope.trace import format as fmt
from rlscope.version import FORMAT_VERSION


def padded(data: bytes, alignment: int) -> bytes:
    """Return the data with zeroes behind it, up to a multiple of `alignment`."""
    return data + bytes(-len(data) % alignment)


@dataclass
class Chunk:
    """A chunk that grows until it is closed."""

    kind: fmt.ChunkKind
    stream: int = fmt.NO_STREAM
    sequence: int = 0
    base_ticks: int = 0
    switch_ticks: int = 0
    thread_id: int = 0
    open_frames: tuple[int, ...] = ()
    payload: bytearray = field(default_factory=bytearray)
    entries: int = 0
    is_closed: bool = False

    def to_bytes(self, format_version: int = FORMAT_VERSION) -> bytes:
        """Return the chunk as it is in a file of this version."""
        is_old = format_version < fmt.OLDEST_WITH_SUMMED_HEADERS
        alignment = fmt.OLD_CHUNK_ALIGNMENT if is_old else fmt.CHUNK_ALIGNMENT
        frames = padded(b"".join(frame.to_bytes(4, "little") for frame in self.open_frames), 8)
        payload_offset = trace_entries.CHUNK_HEADER.size + len(frames)
        chunk_bytes = len(padded(bytes(payload_offset + len(self.payload)), alignment))
        header = trace_entries.ChunkHeader(
            kind=self.kind, flags=fmt.CHUNK_CLOSED if self.is_closed else 0, chunk_bytes=chunk_bytes,
            payload_offset=payload_offset, payload_bytes=len(self.payload) if self.is_closed else 0,
            crc32c=0, stream=self.stream, sequence=self.sequence, base_ticks=self.base_ticks,
            switch_ticks=self.switch_ticks, depth=len(self.open_frames), thread_id=self.thread_id,
        )  # fmt: skip
        if self.is_closed:
            summed = bytes(self.payload) if is_old else fmt.pack(header) + frames + self.payload
            header = replace(header, crc32c=_analysis.crc32c(summed))
        return padded(fmt.pack(header) + frames + self.payload, alignment)
