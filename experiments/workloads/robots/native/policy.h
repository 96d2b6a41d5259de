// A Gaussian policy that acts in a robot's environment, and what a trainer reads of its steps. cartpole.h, planar.h,
// model.py's struct and task.h come before.
//
// A network has two layers of tanh units and gives a mean for each motor; the standard deviations are numbers of their
// own. Who evaluates the network is left open: a thread alone does below, a warp on the GPU's matrix units in collect.cu.
#ifndef POLICY_H
#define POLICY_H

#ifdef __CUDACC__
#define ROBOT_UNROLLED _Pragma("unroll")  // so that its array is in registers
#else
#define ROBOT_UNROLLED
#endif

namespace robots {

constexpr int kHidden = 64;

// Weights that a GPU loads at once.
struct alignas(16) Four {
  float of[4];
};

// The means in whole fours; there are no motors for the last ones.
template <class Robot>
constexpr int kMeans = (Robot::motors + 3) / 4 * 4;

// policy.py packs the parameters so.
template <class Robot>
struct Policy {
  Four first[Robot::observations][kHidden / 4];  // [input][units]
  float first_bias[kHidden];
  Four second[kHidden][kHidden / 4];
  float second_bias[kHidden];
  Four third[kHidden][kMeans<Robot> / 4];
  float third_bias[kMeans<Robot>];
  float log_deviations[kMeans<Robot>];
};

// What a trainer reads, row by row of steps: [row][environment][number].
struct Data {
  float* observations;  // before the step; one row more than the others, of what is seen after the last
  float* actions;       // as drawn; the robot's motors give at most 1
  float* log_probabilities;
  float* rewards;
  unsigned char* ends;
};

// Gymnasium's observation: positions but for those that do not matter to the robot, then speeds up to a limit.
template <class Robot>
ROBOT_INLINE void observe(const State<Robot, float>& state, float* observation) {
  constexpr int kShown = Robot::positions - Robot::hidden_positions;
  constexpr float kMost = float(Robot::fastest_seen);
  upwards<0, kShown>([&](auto i) { observation[i] = state.q[Robot::hidden_positions + i]; });
  upwards<0, Robot::dofs>([&](auto dof) { observation[kShown + dof] = fminf(fmaxf(state.v[dof], -kMost), kMost); });
}

// The sums of a layer's units, whose weights are [input][units]; they may replace the inputs.
template <int kInputs, int kFours>
ROBOT_INLINE void layer(const Four (*weights)[kFours], const float* biases, const float* inputs, float* outputs) {
  float sums[4 * kFours];
  ROBOT_UNROLLED for (int unit = 0; unit < 4 * kFours; unit++) sums[unit] = biases[unit];
  ROBOT_LOOP for (int i = 0; i < kInputs; i++) {
    float input = inputs[i];
    ROBOT_UNROLLED for (int four = 0; four < kFours; four++) {
      Four weight = weights[i][four];
      ROBOT_UNROLLED for (int j = 0; j < 4; j++) sums[4 * four + j] += weight.of[j] * input;
    }
  }
  ROBOT_UNROLLED for (int unit = 0; unit < 4 * kFours; unit++) outputs[unit] = sums[unit];
}

ROBOT_INLINE void activate(float* units) {
  ROBOT_LOOP for (int unit = 0; unit < kHidden; unit++) units[unit] = tanhf(units[unit]);
}

// The means of the actions, by one thread.
template <class Robot>
ROBOT_INLINE void evaluate(const Policy<Robot>& policy, const float* observation, float* means) {
  float units[kHidden];
  layer<Robot::observations>(policy.first, policy.first_bias, observation, units);
  activate(units);
  layer<kHidden>(policy.second, policy.second_bias, units, units);
  activate(units);
  layer<kHidden>(policy.third, policy.third_bias, units, means);
}

// Replaces the means by actions drawn around them; returns the logarithm of their probability density.
template <class Robot>
ROBOT_INLINE float draw(const float* log_deviations, float* actions, unsigned environment, unsigned long long now,
                        cartpole::Key key) {
  float log_probability = 0;
  cartpole::Random random;
  upwards<0, Robot::motors>([&](auto motor) {
    constexpr int m = motor;
    if constexpr (m % 2 == 0) random = drawn(environment, now, kNoise + m / 2, key);
    float noise = normal(random.words[m % 2 * 2], random.words[m % 2 * 2 + 1]);
    actions[m] += expf(log_deviations[m]) * noise;
    log_probability -= noise * noise / 2 + log_deviations[m] + 0.91893853f;  // half the logarithm of 2 pi
  });
  return log_probability;
}

// Takes so many steps of one environment by the policy; `first` is the number of the first one. `means` evaluates the
// network, with other environments' if it likes: a number beyond the last environment goes along, and leaves nothing.
template <class Robot, class Means>
ROBOT_INLINE void collect_one(const Environments& all, const Data& data, unsigned environment, unsigned steps,
                              unsigned long long first, cartpole::Key key, const float* log_deviations,
                              const Means& means) {
  bool is_there = environment < all.count;
  Environment<Robot> at = resumed<Robot>(all, environment, is_there ? first : 0, key);
  float observation[Robot::observations], actions[kMeans<Robot>];
  ROBOT_LOOP for (unsigned row = 0;; row++) {
    unsigned long long now = first + row, cell = static_cast<unsigned long long>(row) * all.count + environment;
    observe(at.state, observation);
    if (is_there) {
      upwards<0, Robot::observations>(
          [&](auto i) { data.observations[cell * Robot::observations + i] = observation[i]; });
    }
    if (row == steps) break;
    means(observation, actions);
    float log_probability = draw<Robot>(log_deviations, actions, environment, now, key);
    if (is_there) {
      data.log_probabilities[cell] = log_probability;
      upwards<0, Robot::motors>([&](auto motor) { data.actions[cell * Robot::motors + motor] = actions[motor]; });
    }
    upwards<0, Robot::motors>([&](auto motor) { actions[motor] = fminf(fmaxf(actions[motor], -1.0f), 1.0f); });
    Outcome outcome = act(at, actions, environment, now, key);
    if (is_there) {
      data.rewards[cell] = outcome.reward;
      data.ends[cell] = outcome.end;
    }
  }
  if (is_there) leave(all, environment, at);
}

}  // namespace robots

#endif
