// Robots on a GPU: one thread has an environment, whose state stays in its registers for all steps of a launch.
// Compiled at run time, behind the headers and the robot's struct that source.py puts together.

namespace robots {

constexpr unsigned kMostThreads = 128;

template <class Robot>
__global__ void __launch_bounds__(kMostThreads)
    simulate(float* q, float* v, unsigned short* lasted, float* rewards, unsigned* ends, unsigned count, unsigned steps,
             unsigned long long first, cartpole::Key key) {
  unsigned environment = blockIdx.x * blockDim.x + threadIdx.x;
  Environments all{q, v, lasted, rewards, ends, count};
  if (environment < count) simulate_one<Robot>(all, environment, steps, first, key);
}

// One physics step of each state in place, with the actions of each, and its iterations of Newton's method: for tests.
template <class Robot>
__global__ void __launch_bounds__(kMostThreads)
    take_steps(float* q, float* v, const float* actions, unsigned count, int* iterations) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  State<Robot, float> state;
  upwards<0, Robot::positions>([&](auto place) { state.q[place] = q[i * Robot::positions + place]; });
  upwards<0, Robot::dofs>([&](auto dof) { state.v[dof] = v[i * Robot::dofs + dof]; });
  iterations[i] = step(state, actions + i * Robot::motors);
  upwards<0, Robot::positions>([&](auto place) { q[i * Robot::positions + place] = state.q[place]; });
  upwards<0, Robot::dofs>([&](auto dof) { v[i * Robot::dofs + dof] = state.v[dof]; });
}

}  // namespace robots
