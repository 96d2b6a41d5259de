"""This file reads who has taken which lock in a process, and which of its threads waits for what, as it is now."""

from dataclasses import dataclass
from pathlib import Path

from rlscope.trace.files import open_regular
from rlscope.trace.format import (
    AWAITED_OBJECTS,
    FILE_HEADER_BYTES,
    LOCK_PAGE_OFFSET,
    TAKEN_LOCKS,
    AwaitedObject,
    ObjectKind,
    TakenLock,
    from_numbers,
    layout,
)
from rlscope.trace.reader import MOST_PROCESS_FILE_BYTES


@dataclass(frozen=True)
class Locks:
    """The page has the locks that were taken last, by object, and what threads wait for, by thread."""

    taken: dict[int, TakenLock]
    awaited: dict[int, AwaitedObject]


def read_locks(path: Path) -> Locks:
    """Read the page of a process file; one of an older version says nothing.

    Raises:
        OSError: the file cannot be read.
        TraceFormatError: it is no regular file.
    """
    with open_regular(path, MOST_PROCESS_FILE_BYTES) as file:
        page = file.read(FILE_HEADER_BYTES)
    page += bytes(FILE_HEADER_BYTES - len(page))
    taken_layout, awaited_layout = layout(TakenLock), layout(AwaitedObject)
    awaited_offset = LOCK_PAGE_OFFSET + TAKEN_LOCKS * taken_layout.size
    taken = [
        from_numbers(TakenLock, iter(numbers))
        for numbers in taken_layout.iter_unpack(page[LOCK_PAGE_OFFSET:awaited_offset])
    ]
    awaited = [
        from_numbers(AwaitedObject, iter(numbers))
        for numbers in awaited_layout.iter_unpack(
            page[awaited_offset : awaited_offset + AWAITED_OBJECTS * awaited_layout.size]
        )
    ]
    return Locks(
        {lock.object: lock for lock in taken if lock.object},
        {each.thread_id: each for each in awaited if each.thread_id and each.kind in set(ObjectKind)},
    )
