"""The first process of a trial: takes name spaces of its own, lays an overlay over real folders, starts the command.

    python start.py ADDRESS FOLDERS NETWORK COMMAND...

It connects to ADDRESS, an abstract socket of `rlscope try`, and hands over the folder in memory that holds all that the
trial writes. There are three processes: this one; the first of the process name space, whose end is the end of all in
it; and the command. The second ends when `rlscope try` is gone or the first is, so nothing outlives them, and what the
command wrote goes with the last who holds it. A process of one thread and the standard library only: the kernel refuses
user name spaces to others, and it starts before each trial.
"""

import _thread
import ctypes
import fcntl
import json
import os
import re
import select
import signal
import socket
import struct
import sys
from collections.abc import Sequence
from typing import Any

CLONE_NEWNS, CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = (1 << bit for bit in (17, 27, 28, 29, 30))
MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_BIND, MS_REC, MS_PRIVATE = 2, 4, 8, 1 << 12, 1 << 14, 1 << 18
#: `mount_setattr` has this number on all architectures.
SYS_MOUNT_SETATTR, AT_FDCWD, AT_RECURSIVE, MOUNT_ATTR_RDONLY = 442, -100, 0x8000, 1
SIOCSIFFLAGS, IFF_UP = 0x8914, 1
SHARED_MEMORY = "/dev/shm"
#: Where the sockets of screens are: an overlay shows sockets, but nobody answers.
SCREENS = "/tmp/.X11-unix"
#: Statuses of a trial that could not be made, and of a command that could not be started, as other programs have them.
NOT_MADE, NOT_STARTED = 125, 127
_LIBC = ctypes.CDLL(None, use_errno=True)


def system_call(what: str, result: int) -> None:
    """Raise what the system said where a call failed."""
    if result:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")


def mount(source: str, target: str, kind: str = "", flags: int = 0, options: str = "") -> None:
    """Mount, as mount(2) does."""
    words = [os.fsencode(word) or None for word in (source, target, kind)]
    system_call(f"mount {target}", _LIBC.mount(*words, ctypes.c_ulong(flags), os.fsencode(options) or None))


def take_name_spaces(network: bool) -> None:
    """Take name spaces, as root or as owner of a user name space in which this user keeps the number that it has."""
    wanted = CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | (0 if network else CLONE_NEWNET)
    user, group = os.getuid(), os.getgid()
    if _LIBC.unshare(wanted):
        system_call("unshare", _LIBC.unshare(wanted | CLONE_NEWUSER))
        for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
            with open(f"/proc/self/{name}", "w") as file:
                file.write(text)
    if not network:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
            fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sH22x", b"lo", IFF_UP))


def within(path: str, folder: str) -> bool:
    """Return whether a path is a folder or lies in it."""
    return f"{path}/".startswith(folder.rstrip("/") + "/")


def mount_points() -> list[str]:
    """Return where something is mounted, outer ones first."""
    with open("/proc/self/mountinfo", "rb") as file:
        names = {line.split()[4] for line in file}
    escape = re.compile(rb"\\([0-7]{3})")
    return sorted((os.fsdecode(escape.sub(lambda it: bytes([int(it[1], 8)]), name)) for name in names), key=len)


def folders_to_cover(folders: Sequence[str], points: Sequence[str]) -> list[str]:
    """Return real folders, outer ones first, without those that another one of the same mount covers."""
    chosen: list[str] = []
    for folder in sorted({os.path.realpath(folder) for folder in folders}, key=len):
        mounted = [point for point in points if within(folder, point)][-1:]
        covered = any(within(folder, outer) and within(outer, mounted[0]) for outer in chosen)
        if folder != "/" and os.path.isdir(folder) and not covered:
            chosen.append(folder)
    return chosen


def mounts_inside(folder: str, points: Sequence[str]) -> dict[str, int]:
    """Open what is mounted in a folder, but for what lies in another such mount."""
    found: dict[str, int] = {}
    for point in points:
        if point != folder and within(point, folder) and not any(within(point, outer) for outer in found):
            try:
                found[point] = os.open(point, os.O_PATH)
            except OSError:  # not there, or nothing that this user can reach
                continue
    return found


def memory_kb() -> int:
    """Return how much a trial may write: half of what is free, for it is held in memory."""
    with open("/proc/meminfo") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("MemAvailable:")) // 2


def lay_over(folders: Sequence[str]) -> tuple[list[str], int]:
    """Make all that is mounted read-only, and lay over each folder one in memory that takes what is written.

    Returns:
        The folders, and the opened folder in memory, which has one for each of them: its number, and `up` in it.
    """
    mount("none", "/", flags=MS_REC | MS_PRIVATE)
    asked = struct.pack("QQQQ", MOUNT_ATTR_RDONLY, 0, 0, 0)
    read_only = _LIBC.syscall(SYS_MOUNT_SETATTR, AT_FDCWD, b"/", AT_RECURSIVE, asked, ctypes.c_size_t(len(asked)))
    system_call("mount_setattr", read_only)
    with open("/proc/self/uid_map") as file:
        owns_all = file.read().split() == ["0", "0", str(2**32 - 1)]
    points = mount_points()
    chosen = folders_to_cover(folders, points)
    if any(within(folder, SHARED_MEMORY) for folder in chosen):
        chosen = folders_to_cover([*chosen, SHARED_MEMORY], points)
    # Below, where the folder in memory is mounted the first folder cannot be seen: all are opened before.
    lower = {folder: os.open(folder, os.O_PATH) for folder in chosen}
    inside = {folder: mounts_inside(folder, sorted({*points, SCREENS}, key=len)) for folder in chosen}
    mount("tmpfs", chosen[0], "tmpfs", MS_NOSUID | MS_NODEV, f"size={memory_kb()}k,mode=700")
    memory = os.open(chosen[0], os.O_RDONLY | os.O_DIRECTORY)
    for number, folder in enumerate(chosen):
        place = f"/proc/self/fd/{memory}/{number}"
        for name in ("", "/up", "/work"):
            os.mkdir(place + name)
        status = os.stat(f"/proc/self/fd/{lower[folder]}")
        if owns_all:
            os.chown(place + "/up", status.st_uid, status.st_gid)
        os.chmod(place + "/up", status.st_mode & 0o7777)
        # Other users' attributes of overlays are refused in a user name space, and with them moves of whole folders.
        how = "redirect_dir=on,metacopy=off" if owns_all else "userxattr"
        options = f"lowerdir=/proc/self/fd/{lower[folder]},upperdir={place}/up,workdir={place}/work,{how}"
        mount("overlay", folder, "overlay", options=options)
        for point, opened in inside[folder].items():
            mount(f"/proc/self/fd/{opened}", point, flags=MS_BIND | MS_REC)
    if SHARED_MEMORY not in chosen and os.path.isdir(SHARED_MEMORY):
        # No overlay: the C library looks for a file system in memory.
        os.mkdir(f"/proc/self/fd/{memory}/shared")
        os.chmod(f"/proc/self/fd/{memory}/shared", 0o1777)
        mount(f"/proc/self/fd/{memory}/shared", SHARED_MEMORY, flags=MS_BIND)
    return chosen, memory


def run_first(others: Sequence[int], command: Sequence[str], interrupt: Any) -> int:
    """Run the command as the first process of the process name space, and return its status.

    Args:
        others: Descriptors that can be read when one of the others has ended.
        command: What to run; nothing is run where it is empty.
        interrupt: What an interrupt does in it.
    """

    def end_with_them() -> None:
        select.select(others, [], [])
        os._exit(NOT_MADE)

    mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)
    if not command:
        return 0
    child = os.fork()
    if not child:
        # Python ignores these two, which programs that it starts would too.
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        signal.signal(signal.SIGINT, interrupt)
        try:
            os.execvp(command[0], list(command))
        except OSError as error:
            print(f"rlscope try: {command[0]} cannot be started: {error.strerror}", file=sys.stderr, flush=True)
            os._exit(NOT_STARTED)
    _thread.start_new_thread(end_with_them, ())
    while True:
        ended, status = os.wait()
        if ended == child:
            return status_of(status)


def status_of(status: int) -> int:
    """Return the status with which a process ends that stands for another, as shells do."""
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def main(address: str, folders: str, network: str, *command: str) -> int:
    """Make the trial, run its command, and return its status."""
    interrupt = signal.signal(signal.SIGINT, signal.SIG_IGN)  # the command's answer to Ctrl-C is all that counts
    working_folder = os.getcwd()
    with socket.socket(socket.AF_UNIX) as asker:
        asker.connect(f"\0{address}")
        take_name_spaces(network == "network")
        chosen, memory = lay_over(json.loads(folders))
        socket.send_fds(asker, [json.dumps(chosen).encode()], [memory])
        os.chdir(working_folder)  # where it was lies below the overlay
        starter_ended, starter_lives = os.pipe()
        first = os.fork()
        if first:
            return status_of(os.waitpid(first, 0)[1])
        os.close(starter_lives)
        os._exit(run_first((asker.fileno(), starter_ended), command, interrupt))


if __name__ == "__main__":
    try:
        sys.exit(main(*sys.argv[1:]))
    except OSError as failure:
        print(f"rlscope try: {failure.strerror or failure}", file=sys.stderr, flush=True)
        os._exit(NOT_MADE)
