"""A vector of environments in processes that nobody closes: they are ended when the program does."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time

#: Open until the workers have been ended: one that is closed would let its worker end by itself.
ends = []


def serve(connection):
    import rlscope

    while True:
        number = connection.recv()
        with rlscope.operation("simulation"):
            connection.send(number)


def main():
    context = multiprocessing.get_context(sys.argv[1])
    for _ in range(2):
        mine, theirs = context.Pipe()
        context.Process(target=serve, args=(theirs,), daemon=True).start()
        ends.append(mine)
    for end in ends:
        for number in range(5):
            end.send(number)
            assert end.recv() == number
    if sys.argv[2] == "unknown":  # by a process that notes nothing
        for child in multiprocessing.active_children():
            subprocess.run(["kill", "-9", str(child.pid)], check=True)
            child.join()
    elif sys.argv[2] in ("killpg", "kill"):
        children = multiprocessing.active_children()
        group = children[0].pid
        for child in children:
            os.setpgid(child.pid, group)
        if sys.argv[2] == "killpg":
            os.killpg(group, signal.SIGTERM)
        else:
            os.kill(-group, signal.SIGKILL)
        for child in children:
            child.join()
    elif sys.argv[2] == "survived":
        child = subprocess.Popen([sys.executable, "-c", SURVIVE], stdout=subprocess.PIPE)
        child.stdout.readline()
        os.kill(child.pid, signal.SIGTERM)
        time.sleep(1.5)
        subprocess.run(["kill", "-9", str(child.pid)], check=True)
        child.wait()
    print("done")


SURVIVE = """
import rlscope, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("ready", flush=True)
while True:
    with rlscope.operation("goes on"):
        time.sleep(0.01)
"""

if __name__ == "__main__":
    main()
