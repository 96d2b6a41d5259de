"""Makes two updates with the workload whose loops JAX compiles.

Its compiled loop draws batches from the buffer in JAX's memory: the update inside it is called here, with one batch.
"""

import jax
import jax.numpy as jnp
import jax_loop as workload
import numpy as np
from jax_update import Batch
from jax_weights import save, with_weights
from update_problem import UPDATES, Shape, noiseless, parse

arguments = parse()
problem = dict(np.load(arguments.problem))
algorithm = noiseless(arguments.algo)
agent = workload.make_agent(algorithm, Shape(problem), capacity=1, seed=0)
actor, critics = with_weights(agent.actor, agent.critics, problem)
batch = Batch(**{field: jnp.asarray(problem[field]) for field in Batch._fields})


@jax.jit
def two_updates(agent: workload.Agent) -> workload.Agent:
    return jax.lax.fori_loop(
        0, UPDATES, lambda _, agent: workload.one_update(algorithm, agent, batch, agent.key), agent
    )


agent = two_updates(agent._replace(actor=actor, critics=critics))
save(arguments.output, agent.actor, agent.critics, problem)
