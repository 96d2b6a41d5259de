// The equations of planar.h as functions for ctypes, in single and in double precision, and the steps of environments as
// the CUDA kernel makes them. Compiled behind cartpole.h, planar.h, model.py's struct and task.h.

namespace {

using namespace robots;

template <class Real>
void matrices(const Real* q, const Real* v, int count, Real* masses, Real* biases) {
  constexpr int n = ROBOT::dofs;
  for (int i = 0; i < count; i++, q += n, v += n, masses += n * n, biases += n) {
    Pose<ROBOT, Real> pose = pose_of<ROBOT>(q);
    Matrix<ROBOT, Real> mass = mass_matrix(pose);
    upwards<0, n>([&](auto dof) {
      constexpr int d = dof;
      masses[d * n + d] = mass.at[d][d];
      ancestors<ROBOT, d>([&](auto above) { masses[d * n + above] = masses[above * n + d] = mass.at[d][above]; });
    });
    bias_of(pose, v, biases);
  }
}

template <class Real>
void steps(Real* q, Real* v, const Real* actions, int count, int* iterations) {
  for (int i = 0; i < count; i++, q += ROBOT::dofs, v += ROBOT::dofs, actions += ROBOT::motors) {
    State<ROBOT, Real> state;
    upwards<0, ROBOT::dofs>([&](auto dof) {
      state.q[dof] = q[dof];
      state.v[dof] = v[dof];
    });
    iterations[i] = step(state, actions);
    upwards<0, ROBOT::dofs>([&](auto dof) {
      q[dof] = state.q[dof];
      v[dof] = state.v[dof];
    });
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
}
