"""Spends time in each boundary under an operation and times it itself: prints seconds per operation as JSON."""

import contextlib
import json
import sys
import threading
import time
from collections.abc import Callable

import rlscope

TIMES: dict[str, float] = {}
FEEDER = """
import os, sys, time
while True:
    time.sleep(0.02)
    for descriptor in map(int, sys.argv[1:]):
        os.write(descriptor, b"x")
"""


def timed(name: str, work: Callable[[], object], seconds: float = 0.4) -> None:
    """Repeats one native call; only the calls themselves are timed."""
    work()  # the first call waits for the disk, where the library's code is not in memory yet
    inside = 0
    with rlscope.operation(name):
        end = time.perf_counter_ns() + int(seconds * 1e9)
        while time.perf_counter_ns() < end:
            start = time.perf_counter_ns()
            work()
            inside += time.perf_counter_ns() - start
    TIMES[name] = inside / 1e9


def use_python() -> None:
    def spin() -> None:
        total = 0
        for number in range(100_000):
            total += number

    timed("python", spin)


def use_torch() -> None:
    import torch

    torch.set_num_threads(1)
    # Each call takes milliseconds: next to them the Python around it is nothing, also where it loses its core.
    x = torch.ones(600, 600)
    y = torch.ones(1400, 1400, requires_grad=True)
    timed("function", lambda: torch.matmul(x, x))
    timed("method", lambda: x.mm(x))
    timed("operator", lambda: x @ x)
    image, mask = torch.ones(3000, 3000), torch.zeros(3000, 3000, dtype=torch.bool)
    timed("indexing", lambda: image[mask])  # of nothing: giving memory back takes time, but in no call
    loss = (y @ torch.ones(1400, 1400)).sum()
    timed("engine", lambda: loss.backward(retain_graph=True))


def use_callback() -> None:
    import torch

    class Slow(torch.autograd.Function):
        """Its backward spins in Python, called by the engine."""

        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, gradient):
            spin()
            return gradient

    def spin() -> None:
        """Long against what the engine itself takes."""
        total = 0
        for number in range(1_000_000):
            total += number

    y = Slow.apply(torch.ones(1, requires_grad=True))
    y.backward(retain_graph=True)  # the first one starts the engine
    timed("function", lambda: y.backward(retain_graph=True))

    x = torch.ones(1, requires_grad=True)
    x.register_hook(lambda gradient: spin())
    z = x.clone()
    timed("tensor_hook", lambda: z.backward(retain_graph=True))

    layer = torch.nn.Linear(1, 1)
    layer.register_full_backward_hook(lambda module, given, received: spin())
    w = layer(torch.ones(1, requires_grad=True))
    timed("module_hook", lambda: w.backward(retain_graph=True))

    import mujoco

    model = mujoco.MjModel.from_xml_string(
        "<mujoco><worldbody><body><freejoint/><geom size='1'/></body></worldbody></mujoco>"
    )
    data = mujoco.MjData(model)
    mujoco.set_mjcb_passive(lambda model, data: spin())
    timed("simulator_callback", lambda: mujoco.mj_step(model, data))
    mujoco.set_mjcb_passive(None)

    def blow_up() -> None:
        """MuJoCo warns once of each reason until data is reset."""
        mujoco.mj_resetData(model, data)
        data.qvel[0] = float("nan")
        mujoco.mj_step(model, data)

    mujoco.set_mju_user_warning(lambda message: spin())
    timed("simulator_warning", blow_up)
    mujoco.set_mju_user_warning(None)

    import Box2D

    class Listener(Box2D.b2ContactListener):
        def BeginContact(self, contact):
            spin()

    world = Box2D.b2World(contactListener=Listener())
    world.CreateStaticBody(shapes=Box2D.b2PolygonShape(box=(50, 1)))
    ball = world.CreateDynamicBody(position=(0, 5))
    ball.CreatePolygonFixture(box=(0.4, 0.4), density=1)

    def fall() -> None:
        """Ends in a contact, each time anew."""
        ball.position, ball.linearVelocity = (0, 1.5), (0, -5)
        for _ in range(10):
            world.Step(1 / 60, 1, 1)
        ball.position = (0, 20)
        world.Step(1 / 60, 1, 1)

    timed("listener", fall)


def use_mujoco() -> None:
    import gymnasium
    import mujoco

    env = gymnasium.make("Humanoid-v5").unwrapped
    env.reset(seed=1)
    timed("step", lambda: mujoco.mj_step(env.model, env.data, 20))
    timed("forward", lambda: mujoco.mj_forward(env.model, env.data))


def use_pybullet() -> None:
    import gymnasium
    import pybullet
    import pybullet_envs_gymnasium  # noqa: F401

    env = gymnasium.make("HumanoidBulletEnv-v0")
    env.reset(seed=1)
    client = env.unwrapped._p._client
    timed("step", lambda: pybullet.stepSimulation(physicsClientId=client))


def use_ale() -> None:
    import ale_py

    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
    game = ale_py.ALEInterface()
    game.loadROM(ale_py.roms.get_rom_path("pong"))
    timed("reset", game.reset_game)

    def play() -> None:
        """Less than a game: after its end the emulator does nothing."""
        game.reset_game()
        for _ in range(200):
            game.act(0)

    timed("act", play)


def use_box2d() -> None:
    import Box2D

    world = Box2D.b2World()
    world.CreateStaticBody(shapes=Box2D.b2PolygonShape(box=(50, 1)))
    for number in range(200):
        world.CreateDynamicBody(position=(number % 20, 5 + number // 20)).CreatePolygonFixture(
            box=(0.4, 0.4), density=1
        )
    timed("step", lambda: world.Step(1 / 60, 10, 10))


def use_blocking() -> None:
    import multiprocessing
    import os
    import queue
    import select
    import socket
    import subprocess

    timed("sleep", lambda: time.sleep(0.02))
    timed("select", lambda: select.select([], [], [], 0.02))
    poll = select.poll()
    timed("poll", lambda: poll.poll(20))
    epoll = select.epoll()
    timed("epoll", lambda: epoll.poll(0.02))
    lock = threading.Lock()
    lock.acquire()
    timed("lock", lambda: lock.acquire(True, 0.02))
    reentrant, is_held = threading.RLock(), threading.Event()
    is_over = threading.Event()

    def hold() -> None:
        with reentrant:
            is_held.set()
            is_over.wait()

    holder = threading.Thread(target=hold)
    holder.start()
    is_held.wait()
    timed("reentrant_lock", lambda: reentrant.acquire(True, 0.02))
    is_over.set()
    holder.join()
    semaphore = multiprocessing.Semaphore(0)
    timed("semaphore", lambda: semaphore.acquire(True, 0.02))
    child_lock = multiprocessing.Lock()
    child_lock.acquire()
    timed("lock_of_processes", lambda: child_lock.acquire(True, 0.02))
    event = threading.Event()
    timed("event", lambda: event.wait(0.02))
    simple: queue.SimpleQueue[int] = queue.SimpleQueue()

    def get() -> None:
        with contextlib.suppress(queue.Empty):
            simple.get(timeout=0.02)

    timed("queue", get)
    # The other end is a process, so that nothing else runs in this one.
    reader, writer = os.pipe()
    here, there = socket.socketpair()
    feeder = subprocess.Popen(
        [sys.executable, "-S", "-c", FEEDER, str(writer), str(there.fileno())],
        pass_fds=(writer, there.fileno()),
        env={},
    )
    os.read(reader, 1)
    timed("pipe", lambda: os.read(reader, 1))
    here.recv(1)
    timed("socket", lambda: here.recv(1))
    feeder.kill()
    feeder.wait()


{
    "python": use_python,
    "torch": use_torch,
    "callback": use_callback,
    "mujoco": use_mujoco,
    "pybullet": use_pybullet,
    "ale": use_ale,
    "box2d": use_box2d,
    "blocking": use_blocking,
}[sys.argv[1]]()
print(json.dumps(TIMES))
