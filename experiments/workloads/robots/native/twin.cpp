// A robot's equations as functions for ctypes, in single and in double precision, and the steps of environments as the
// CUDA kernels make them. Compiled behind the headers and the robot's struct that source.py puts together.

namespace {

using namespace robots;

// Mass matrices and bias forces, in the axes of the world.
template <class Real>
void matrices(const Real* q, const Real* v, int count, Real* masses, Real* biases) {
  constexpr int n = ROBOT::dofs;
  for (int i = 0; i < count; i++, q += ROBOT::positions, v += n, masses += n * n, biases += n) {
    Pose<ROBOT, Real> pose = pose_of<ROBOT>(q);
    Matrix<ROBOT, Real> mass = mass_matrix(pose);
    upwards<0, n>([&](auto dof) {
      constexpr int d = dof;
      masses[d * n + d] = mass.at[d][d];
      ancestors<ROBOT, d>([&](auto above) { masses[d * n + above] = masses[above * n + d] = mass.at[d][above]; });
    });
    Real speeds[n];
    speeds_of(pose, v, speeds);
    bias_of(pose, speeds, biases);
  }
}

template <class Real>
void steps(Real* q, Real* v, const Real* actions, int count, int* iterations) {
  for (int i = 0; i < count; i++, q += ROBOT::positions, v += ROBOT::dofs, actions += ROBOT::motors) {
    State<ROBOT, Real> state;
    upwards<0, ROBOT::positions>([&](auto place) { state.q[place] = q[place]; });
    upwards<0, ROBOT::dofs>([&](auto dof) { state.v[dof] = v[dof]; });
    iterations[i] = step(state, actions);
    upwards<0, ROBOT::positions>([&](auto place) { q[place] = state.q[place]; });
    upwards<0, ROBOT::dofs>([&](auto dof) { v[dof] = state.v[dof]; });
  }
}

}  // namespace

extern "C" {

void matrices_float(const float* q, const float* v, int count, float* masses, float* biases) {
  matrices(q, v, count, masses, biases);
}
void matrices_double(const double* q, const double* v, int count, double* masses, double* biases) {
  matrices(q, v, count, masses, biases);
}
// Takes one step of each state in place, with the actions of each.
void steps_float(float* q, float* v, const float* actions, int count, int* iterations) {
  steps(q, v, actions, count, iterations);
}
void steps_double(double* q, double* v, const double* actions, int count, int* iterations) {
  steps(q, v, actions, count, iterations);
}
// Takes `steps` steps of all environments with random actions.
void simulate(float* q, float* v, unsigned short* lasted, float* rewards, unsigned* ends, unsigned count, unsigned steps,
              unsigned long long first, unsigned long long seed) {
  Environments all{q, v, lasted, rewards, ends, count};
  cartpole::Key key{static_cast<unsigned>(seed), static_cast<unsigned>(seed >> 32)};
  for (unsigned i = 0; i < count; i++) simulate_one<ROBOT>(all, i, steps, first, key);
}
// Takes `steps` steps of all environments by a policy.
void collect(float* q, float* v, unsigned short* lasted, float* rewards, unsigned* ends,
             const Policy<ROBOT>* policy, float* observations, float* actions, float* log_probabilities, float* step_rewards, unsigned char* step_ends,
             unsigned count, unsigned steps, unsigned long long first, unsigned long long seed) {
  Environments all{q, v, lasted, rewards, ends, count};
  Data data{observations, actions, log_probabilities, step_rewards, step_ends};
  cartpole::Key key{static_cast<unsigned>(seed), static_cast<unsigned>(seed >> 32)};
  for (unsigned i = 0; i < count; i++) {
    collect_one<ROBOT>(all, data, i, steps, first, key, policy->log_deviations,
                       [&](const float* observation, float* means) { evaluate(*policy, observation, means); });
  }
}
}
