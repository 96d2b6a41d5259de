"""Uses MuJoCo as programs with many environments do: compiles models, rolls states out, steps worlds together."""

import mujoco
import mujoco.batch
import mujoco.rollout
import numpy as np

XML = "<mujoco><worldbody><body><freejoint/><geom size='1'/></body></worldbody></mujoco>"

model = mujoco.MjModel.from_xml_string(XML)
spec = mujoco.MjSpec.from_string(XML)
spec.compile()
data = mujoco.MjData(model)
initial = np.zeros((2, mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS)))
for _ in range(3):
    mujoco.rollout.rollout(model, data, initial, nstep=5)
batch = mujoco.batch.Batch(model, nsim=2)
for _ in range(4):
    batch.step()
