"""This file names what numbers and words of the compiled analysis are, and the types in C++ that hold them.

A named tuple with fields of these types is a struct in C++ too: `cmake/swept_rows.py` writes it, with each build.
"""

from typing import Annotated

# Of the process's clock; of the clock that processes share; parts of a tick, 256 to the tick.
Ticks = Annotated[int, "uint64_t"]
SharedTime = Annotated[int, "uint64_t"]
TickParts = Annotated[int, "uint64_t"]
Nanoseconds = Annotated[int, "uint64_t"]
Count = Annotated[int, "uint64_t"]
ByteCount = Annotated[int, "uint64_t"]
Version = Annotated[int, "uint64_t"]  # of a policy
ThreadId = Annotated[int, "uint64_t"]  # the system's
DeviceSet = Annotated[int, "uint64_t"]  # the binary digits of the devices' numbers, modulo 64
Number = Annotated[int, "uint32_t"]  # of a thread, a device or a line, or the id of a name
Place = Annotated[int, "size_t"]  # in a list
Estimate = Annotated[float, "double"]
OwnerNumber = Annotated[int, "MemoryOwner"]

# One object in Python however many rows have it.
Label = Annotated[str, "std::string_view"]
SymbolLabel = Annotated[str, "MangledName"]  # as it stands in the source
CategoryLabel = Annotated[str, "Category"]
ResourceLabel = Annotated[str, "Resource"]
PartLabel = Annotated[str, "LoopPart"]
TrackLabel = Annotated[str, "TrackKind"]
Text = Annotated[str, "std::string"]

# Little-endian integers of so many bits, one after the other.
Column8 = Annotated[bytes, "std::vector<uint8_t>"]
Column32 = Annotated[bytes, "std::vector<uint32_t>"]
Column64 = Annotated[bytes, "std::vector<uint64_t>"]
