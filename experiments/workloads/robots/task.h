// One step of a robot's environment as Gymnasium has it: some physics steps, a reward, an end, a new start.
//
// Random numbers depend on the seed, the environment and the step alone, so that ten launches of one step do what one
// launch of ten does. cartpole.h, which draws them, and planar.h come before.
#ifndef TASK_H
#define TASK_H

namespace robots {

constexpr unsigned kMostSteps = 1000;

// What numbers are drawn for: their streams never meet, nor those of CartPole.
enum Purpose : unsigned { kActions = 16, kStarts = 64 };

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
  upwards<0, Robot::dofs>([&](auto dof) {
    constexpr int d = dof;
    constexpr float kStart = float(Robot::start(d));
    cartpole::Random random = drawn(environment, now, kStarts + d, key);
    const unsigned* words = random.words;
    state.q[d] = kStart + float(Robot::position_noise) * evenly(words[0]);
    state.v[d] = float(Robot::speed_noise) *
                 (Robot::has_normal_speeds ? normal(words[1], words[2]) : evenly(words[1]));
  });
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

// Makes a step; an episode that ends begins again.
template <class Robot>
ROBOT_INLINE void act(Environment<Robot>& at, const float* actions, unsigned environment, unsigned long long now,
                      cartpole::Key key) {
  constexpr float kSeconds = float(Robot::timestep);
  float distance = 0, squares = 0;
  ROBOT_LOOP for (int i = 0; i < Robot::physics_steps; i++) {
    step(at.state, actions);
    distance += kSeconds * at.state.v[kX];
  }
  upwards<0, Robot::motors>([&](auto motor) { squares += actions[motor] * actions[motor]; });
  const float *q = at.state.q, height = q[kZ], angle = q[kHinges];
  // A state that is not a number is not healthy.
  bool is_healthy = height > float(Robot::lowest) && height < float(Robot::highest) && fabsf(angle) < float(Robot::steepest);
  at.rewards += float(Robot::forward) * distance / (kSeconds * Robot::physics_steps) - float(Robot::control) * squares +
                (is_healthy ? float(Robot::alive) : 0);
  at.lasted++;
  if (!is_healthy || at.lasted >= kMostSteps) {
    begin(at.state, environment, now, key);
    at.lasted = 0;
    at.ends++;
  }
}

// All environments, number by number: [degree of freedom][environment].
struct Environments {
  float *q, *v;
  unsigned short* lasted;
  float* rewards;
  unsigned* ends;
  unsigned count;
};

// Takes so many steps of one environment with random actions; `first` is the number of the first one. Before step 0 it
// begins.
template <class Robot>
ROBOT_INLINE void simulate_one(const Environments& all, unsigned environment, unsigned steps, unsigned long long first,
                               cartpole::Key key) {
  Environment<Robot> at;
  auto cell = [&](int dof) { return static_cast<unsigned long long>(dof) * all.count + environment; };
  if (first == 0) {
    begin(at.state, environment, ~0ull, key);
    at.lasted = at.ends = 0;
    at.rewards = 0;
  } else {
    upwards<0, Robot::dofs>([&](auto dof) {
      at.state.q[dof] = all.q[cell(dof)];
      at.state.v[dof] = all.v[cell(dof)];
    });
    at.lasted = all.lasted[environment];
    at.rewards = all.rewards[environment];
    at.ends = all.ends[environment];
  }
  ROBOT_LOOP for (unsigned long long now = first; now < first + steps; now++) {
    float actions[Robot::motors];
    random_actions<Robot>(actions, environment, now, key);
    act(at, actions, environment, now, key);
  }
  upwards<0, Robot::dofs>([&](auto dof) {
    all.q[cell(dof)] = at.state.q[dof];
    all.v[cell(dof)] = at.state.v[dof];
  });
  all.lasted[environment] = static_cast<unsigned short>(at.lasted);
  all.rewards[environment] = at.rewards;
  all.ends[environment] = at.ends;
}

}  // namespace robots

#endif
