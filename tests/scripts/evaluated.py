"""A training that is tested meanwhile and afterwards, as by Stable-Baselines3, sb3-contrib, CleanRL or by itself."""

import sys
import time
from pathlib import Path

import gymnasium

import rlscope


def baselines() -> None:
    """Tested before the training, three times in a phase of its own, and in vain after it."""
    from stable_baselines3 import A2C
    from stable_baselines3.common.callbacks import EvalCallback
    from stable_baselines3.common.evaluation import evaluate_policy

    tested = gymnasium.make("CartPole-v1")
    model = A2C("MlpPolicy", "CartPole-v1", n_steps=5, device="cpu", seed=1)
    print(evaluate_policy(model, tested, n_eval_episodes=1, warn=False)[0] > 0)
    with rlscope.phase("mine"):
        model.learn(60, callback=EvalCallback(tested, eval_freq=20, n_eval_episodes=2, verbose=0, warn=False))
    try:
        evaluate_policy(model, None)
    except ValueError as error:
        print(Path(error.__traceback__.tb_next.tb_frame.f_code.co_filename).name)


def contrib() -> None:
    """Tested before the training and twice in it, with masks of actions."""
    from sb3_contrib import MaskablePPO
    from sb3_contrib.common.envs import InvalidActionEnvDiscrete
    from sb3_contrib.common.maskable.callbacks import MaskableEvalCallback
    from sb3_contrib.common.maskable.evaluation import evaluate_policy

    tested = InvalidActionEnvDiscrete(dim=20, n_invalid_actions=10)
    model = MaskablePPO(
        "MlpPolicy",
        InvalidActionEnvDiscrete(dim=20, n_invalid_actions=10),
        n_steps=16,
        batch_size=16,
        device="cpu",
        seed=1,
    )
    print(evaluate_policy(model, tested, n_eval_episodes=1, warn=False)[0] > 0)
    model.learn(32, callback=MaskableEvalCallback(tested, eval_freq=16, n_eval_episodes=1, verbose=0, warn=False))


def cleanrl() -> None:
    """Trains on steps of its own and tests with the function of CleanRL that is found first."""
    import torch

    environment = gymnasium.make("CartPole-v1")
    environment.reset(seed=1)
    network = torch.nn.Linear(4, 2)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
    for _ in range(20):
        observation, _, is_over, _, _ = environment.step(environment.action_space.sample())
        if is_over:
            environment.reset()
        optimizer.zero_grad()
        network(torch.from_numpy(observation)).sum().backward()
        optimizer.step()
    from cleanrl_utils.evals.dqn_eval import evaluate

    torch.save(network.state_dict(), "model")
    print(len(evaluate("model", make, "CartPole-v1", 2, "run", lambda environments: torch.nn.Linear(4, 2))))


def own() -> None:
    """Trains on two environments in turn, and tests by a function of its own; prints the seconds of all tests."""
    import torch

    torch.set_num_threads(1)
    network = torch.nn.Linear(4, 2)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1)

    def collect(environment: gymnasium.Env, steps: int) -> None:
        observation, _ = environment.reset()
        for _ in range(steps):
            with torch.no_grad():
                action = network(torch.from_numpy(observation)).argmax().item()
            observation, _, is_over, _, _ = environment.step(action)
            if is_over:
                observation, _ = environment.reset()

    def evaluate(environment: gymnasium.Env) -> float:
        start = time.perf_counter()
        collect(environment, 2000)
        return time.perf_counter() - start

    one, other, tested = (gymnasium.make("CartPole-v1") for _ in range(3))
    seconds = 0.0
    for _ in range(6):
        collect(one, 500)
        collect(other, 500)
        optimizer.zero_grad()
        network(torch.randn(256, 4)).pow(2).mean().backward()
        optimizer.step()
        seconds += evaluate(tested)
    print(seconds)


def make(name: str, *_: object) -> object:
    """As CleanRL's scripts have it."""
    return lambda: gymnasium.wrappers.RecordEpisodeStatistics(gymnasium.make(name))


{"baselines": baselines, "contrib": contrib, "cleanrl": cleanrl, "own": own}[sys.argv[1]]()
