// One step of a robot's environment as Gymnasium has it: some physics steps, a reward, an end, a new start.
//
// Random numbers depend on the seed, the environment and the step alone, so that ten launches of one step do what one
// launch of ten does. cartpole.h, which draws them, and planar.h come before.
#ifndef TASK_H
#define TASK_H

namespace robots {

constexpr unsigned kMostSteps = 1000;

// What numbers are drawn for: their streams never meet, nor those of CartPole.
enum Purpose : unsigned { kActions = 16, kNoise = 32, kStarts = 64 };

template <class Robot>
struct Environment {
  State<Robot, float> state;
  unsigned lasted;  // steps of this episode
  float rewards;    // sum over all steps
  unsigned ends;    // episodes so far
};

ROBOT_INLINE cartpole::Random drawn(unsigned environment, unsigned long long now, unsigned purpose, cartpole::Key key) {
  return cartpole::philox({{environment, static_cast<unsigned>(now), static_cast<unsigned>(now >> 32), purpose}}, key);
}

// In [-1, 1).
ROBOT_INLINE float evenly(unsigned word) { return 2 * cartpole::uniform(word) - 1; }

// Normally distributed, by Box and Muller's method.
ROBOT_INLINE float normal(unsigned radius, unsigned angle) {
  float sine, cosine;
  sine_cosine(6.2831853f * cartpole::uniform(angle), sine, cosine);
  return sqrtf(-2 * logf(1 - cartpole::uniform(radius))) * cosine;
}

template <class Robot>
ROBOT_INLINE void begin(State<Robot, float>& state, unsigned environment, unsigned long long now, cartpole::Key key) {
  upwards<0, Robot::positions>([&](auto place) {
    constexpr int i = place;
    constexpr float kStart = float(Robot::start(i));
    cartpole::Random random = drawn(environment, now, kStarts + i, key);
    const unsigned* words = random.words;
    state.q[i] = kStart + float(Robot::position_noise) * evenly(words[0]);
    if constexpr (i < Robot::dofs) {
      state.v[i] = float(Robot::speed_noise) *
                   (Robot::has_normal_speeds ? normal(words[1], words[2]) : evenly(words[1]));
    }
  });
  normalize<Robot>(state.q);
}

template <class Robot>
ROBOT_INLINE void random_actions(float* actions, unsigned environment, unsigned long long now, cartpole::Key key) {
  cartpole::Random random;
  upwards<0, Robot::motors>([&](auto motor) {
    constexpr int m = motor;
    if constexpr (m % 4 == 0) random = drawn(environment, now, kActions + m / 4, key);
    actions[m] = evenly(random.words[m % 4]);
  });
}

// What a step brings.
struct Outcome {
  float reward;
  cartpole::End end;
};

// Makes a step; an episode that ends begins again.
template <class Robot>
ROBOT_INLINE Outcome act(Environment<Robot>& at, const float* actions, unsigned environment, unsigned long long now,
                         cartpole::Key key) {
  constexpr float kSeconds = float(Robot::timestep);
  float distance = 0, squares = 0;
  ROBOT_LOOP for (int i = 0; i < Robot::physics_steps; i++) {
    step(at.state, actions);
    distance += kSeconds * at.state.v[kX];
  }
  upwards<0, Robot::motors>([&](auto motor) { squares += actions[motor] * actions[motor]; });
  const float *q = at.state.q, height = q[kZ], angle = tilt<Robot>(q);
  // A state that is not a number is not healthy.
  bool is_healthy = height > float(Robot::lowest) && height < float(Robot::highest) && fabsf(angle) < float(Robot::steepest);
  float reward = float(Robot::forward) * distance / (kSeconds * Robot::physics_steps) -
                 float(Robot::control) * squares + (is_healthy ? float(Robot::alive) : 0);
  at.rewards += reward;
  at.lasted++;
  cartpole::End end = !is_healthy               ? cartpole::kTerminated
                      : at.lasted >= kMostSteps ? cartpole::kTruncated
                                                : cartpole::kGoesOn;
  if (end != cartpole::kGoesOn) {
    begin(at.state, environment, now, key);
    at.lasted = 0;
    at.ends++;
  }
  return {reward, end};
}

// All environments, number by number: [position or degree of freedom][environment].
struct Environments {
  float *q, *v;
  unsigned short* lasted;
  float* rewards;
  unsigned* ends;
  unsigned count;
};

// Returns an environment as the last launch left it; before step 0 it begins.
template <class Robot>
ROBOT_INLINE Environment<Robot> resumed(const Environments& all, unsigned environment, unsigned long long now,
                                        cartpole::Key key) {
  Environment<Robot> at;
  if (now == 0) {
    begin(at.state, environment, ~0ull, key);
    at.lasted = at.ends = 0;
    at.rewards = 0;
    return at;
  }
  auto cell = [&](int row) { return static_cast<unsigned long long>(row) * all.count + environment; };
  upwards<0, Robot::positions>([&](auto i) { at.state.q[i] = all.q[cell(i)]; });
  upwards<0, Robot::dofs>([&](auto dof) { at.state.v[dof] = all.v[cell(dof)]; });
  at.lasted = all.lasted[environment];
  at.rewards = all.rewards[environment];
  at.ends = all.ends[environment];
  return at;
}

// Leaves it for the next launch.
template <class Robot>
ROBOT_INLINE void leave(const Environments& all, unsigned environment, const Environment<Robot>& at) {
  auto cell = [&](int row) { return static_cast<unsigned long long>(row) * all.count + environment; };
  upwards<0, Robot::positions>([&](auto i) { all.q[cell(i)] = at.state.q[i]; });
  upwards<0, Robot::dofs>([&](auto dof) { all.v[cell(dof)] = at.state.v[dof]; });
  all.lasted[environment] = static_cast<unsigned short>(at.lasted);
  all.rewards[environment] = at.rewards;
  all.ends[environment] = at.ends;
}

// Takes so many steps of one environment with random actions; `first` is the number of the first one.
template <class Robot>
ROBOT_INLINE void simulate_one(const Environments& all, unsigned environment, unsigned steps, unsigned long long first,
                               cartpole::Key key) {
  Environment<Robot> at = resumed<Robot>(all, environment, first, key);
  ROBOT_LOOP for (unsigned long long now = first; now < first + steps; now++) {
    float actions[Robot::motors];
    random_actions<Robot>(actions, environment, now, key);
    act(at, actions, environment, now, key);
  }
  leave(all, environment, at);
}

}  // namespace robots

#endif
