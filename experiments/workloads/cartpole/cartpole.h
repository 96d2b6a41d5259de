// One step of Gymnasium's CartPole-v1, and the random numbers that it takes: for C++17 and for CUDA (NVRTC) alike.
#ifndef CARTPOLE_H
#define CARTPOLE_H

#ifdef __CUDACC__
#define CARTPOLE_INLINE __device__ __forceinline__
#else
#include <math.h>
#define CARTPOLE_INLINE inline
#endif

namespace cartpole {

constexpr unsigned kMostSteps = 500;
constexpr float kStart = 0.05f;
constexpr float kFarthest = 2.4f;
constexpr float kSteepest = 0.20943951f;  // 12 degrees

constexpr double kGravity = 9.8;
constexpr double kPoleMass = 0.1;
constexpr double kTotalMass = 1.0 + kPoleMass;
constexpr double kHalfPole = 0.5;
constexpr double kForce = 10.0;
constexpr double kSeconds = 0.02;  // of one step

// One new start is drawn for the steps of a window. No episode from within kStart of the origin ends sooner than after
// so many steps, with a constant push from the worst corner, so that an environment needs one at most.
constexpr unsigned kWindow = 8;

struct alignas(16) State {
  float position, velocity, angle, angular_velocity;
};

enum End : unsigned char { kGoesOn = 0, kTerminated = 1, kTruncated = 2 };

// Sine and cosine as exact as single precision has them.
struct Accurate {
  static CARTPOLE_INLINE void sine_cosine(float angle, float& sine, float& cosine) {
    sincosf(angle, &sine, &cosine);
  }
};

// A quotient whose divisor is neither tiny nor huge, within 2 units in the last place: on a GPU without the instructions
// that look out for such divisors, a tenth of a step.
CARTPOLE_INLINE float quotient(float dividend, float divisor) {
#ifdef __CUDACC__
  return __fdividef(dividend, divisor);
#else
  return dividend / divisor;
#endif
}

// The state after so many seconds in which a force pushes the cart, by one of Euler's steps as Gymnasium takes them.
template <class Math>
CARTPOLE_INLINE State moved(const State& state, float force, float seconds) {
  constexpr float kPoleOverTotal = static_cast<float>(kPoleMass * kHalfPole / kTotalMass);
  constexpr float kInverseMass = static_cast<float>(1.0 / kTotalMass);
  constexpr float kInertia = static_cast<float>(kHalfPole * 4.0 / 3.0);
  constexpr float kInertiaOfCosine = static_cast<float>(kHalfPole * kPoleMass / kTotalMass);

  float sine, cosine;
  Math::sine_cosine(state.angle, sine, cosine);
  float push = force * kInverseMass + kPoleOverTotal * state.angular_velocity * state.angular_velocity * sine;
  float turning =
      quotient(static_cast<float>(kGravity) * sine - cosine * push, kInertia - kInertiaOfCosine * cosine * cosine);
  float acceleration = push - kPoleOverTotal * turning * cosine;
  return {state.position + seconds * state.velocity, state.velocity + seconds * acceleration,
          state.angle + seconds * state.angular_velocity, state.angular_velocity + seconds * turning};
}

// Makes a step, in so many equal parts: Gymnasium's CartPole has one, more are a simulator that computes more. A state
// that is not a number ends nothing, as in Gymnasium, because it compares as false.
template <class Math, unsigned kParts = 1>
CARTPOLE_INLINE End step(State& state, unsigned& steps, bool right) {
  float force = static_cast<float>(right ? kForce : -kForce);
  for (unsigned part = 0; part < kParts; part++) {
    state = moved<Math>(state, force, static_cast<float>(kSeconds / kParts));
  }
  steps++;
  bool is_over = fabsf(state.position) > kFarthest || fabsf(state.angle) > kSteepest;
  return is_over ? kTerminated : steps >= kMostSteps ? kTruncated : kGoesOn;
}

// 128 random bits.
struct Random {
  unsigned words[4];
};

// Seeds the generator.
struct Key {
  unsigned low, high;
};

// What numbers are drawn for: their streams never meet.
enum Purpose : unsigned {
  kWindows = 0,  // per window of steps: a start in the upper 24 bits of each word, eight actions in the first's lower 8
  kDraws = 1,    // per four steps: one number to draw an action with in each word
  kFirst = 2,    // once: the start of the first episode
};

// Philox4x32 with ten rounds: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (SC 2011).
CARTPOLE_INLINE Random philox(Random counter, Key key) {
  unsigned* word = counter.words;
  for (int round = 0; round < 10; round++) {
    unsigned long long first = 0xD2511F53ull * word[0];
    unsigned long long second = 0xCD9E8D57ull * word[2];
    unsigned zero = static_cast<unsigned>(second >> 32) ^ word[1] ^ key.low;
    unsigned two = static_cast<unsigned>(first >> 32) ^ word[3] ^ key.high;
    word[1] = static_cast<unsigned>(second);
    word[3] = static_cast<unsigned>(first);
    word[0] = zero;
    word[2] = two;
    key.low += 0x9E3779B9u;
    key.high += 0xBB67AE85u;
  }
  return counter;
}

// The numbers of an environment for a purpose; `when` counts windows, or fours of steps, since the first step.
CARTPOLE_INLINE Random drawn(unsigned environment, unsigned long long when, Purpose purpose, Key key) {
  return philox({{environment, static_cast<unsigned>(when), static_cast<unsigned>(when >> 32), purpose}}, key);
}

// Evenly from [0, 1), in multiples of 2^-24.
CARTPOLE_INLINE float uniform(unsigned word) { return static_cast<float>(word >> 8) * (1.0f / 16777216.0f); }

// A new start, from the upper 24 bits of each word.
CARTPOLE_INLINE State start(const Random& random) {
  auto coordinate = [](unsigned word) { return static_cast<float>(word >> 8) * (2 * kStart / 16777216) - kStart; };
  return {coordinate(random.words[0]), coordinate(random.words[1]), coordinate(random.words[2]),
          coordinate(random.words[3])};
}

}  // namespace cartpole

#endif
