// Robots and the policy that acts, in one kernel: the policy by each thread alone in float32, or by a warp on the
// GPU's matrix units. Compiled behind what robots.cu is, policy.h, robots.cu and matrix_units.h.

namespace robots {

using cartpole::Columns;
using cartpole::halves;
using cartpole::kWarp;
using cartpole::Rows;
using cartpole::rounded_to_half;
using cartpole::Sums;

template <class Robot>
__global__ void __launch_bounds__(kMostThreads)
    collect(float* q, float* v, unsigned short* lasted, float* rewards, unsigned* ends, const Policy<Robot>* policy,
            float* observations, float* actions, float* log_probabilities, float* step_rewards,
            unsigned char* step_ends, unsigned count, unsigned steps, unsigned long long first, cartpole::Key key) {
  unsigned environment = blockIdx.x * blockDim.x + threadIdx.x;
  if (environment >= count) return;
  Environments all{q, v, lasted, rewards, ends, count};
  Data data{observations, actions, log_probabilities, step_rewards, step_ends};
  collect_one<Robot>(all, data, environment, steps, first, key, policy->log_deviations,
                     [&](const float* observation, float* means) { evaluate(*policy, observation, means); });
}

constexpr int kTiles = kHidden / 8, kDepths = kHidden / 16;

// The policy as the lanes of a warp multiply by it. Observations are as large as they are, and normalised by the first
// layer's weights: there a half-precision number alone would lose what matters of a height of 1.25 that varies by 0.05.
// So observations and first weights are sums of two.
template <class Robot>
struct Fragments {
  static constexpr int kInputDepths = (Robot::observations + 15) / 16;
  Columns first[kInputDepths][kTiles][kWarp], first_rest[kInputDepths][kTiles][kWarp];
  Columns second[kDepths][kTiles][kWarp];
  Columns third[kDepths][kWarp];
  float first_bias[kHidden], second_bias[kHidden], third_bias[8];
};

ROBOT_INLINE float rest_of_half(float value) { return value - rounded_to_half(value); }

// A lane's part of the columns from 8 * tile and rows from 16 * depth of a matrix that `at` has.
template <class At>
ROBOT_INLINE Columns columns_of(const At& at, int depth, int tile, unsigned lane) {
  int row = 16 * depth + 2 * static_cast<int>(lane % 4), column = 8 * tile + static_cast<int>(lane / 4);
  return {{halves(at(row, column), at(row + 1, column)), halves(at(row + 8, column), at(row + 9, column))}};
}

// Fills the fragments, each thread of the block some of them.
template <class Robot>
ROBOT_INLINE void fill(Fragments<Robot>& fragments, const Policy<Robot>& policy) {
  auto first = [&](int input, int unit) {
    return input < Robot::observations ? policy.first[input][unit / 4].of[unit % 4] : 0.0f;
  };
  auto first_rest = [&](int input, int unit) { return rest_of_half(first(input, unit)); };
  auto second = [&](int input, int unit) { return policy.second[input][unit / 4].of[unit % 4]; };
  auto third = [&](int input, int motor) {
    return motor < kMeans<Robot> ? policy.third[input][motor / 4].of[motor % 4] : 0.0f;
  };
  unsigned lane = threadIdx.x % kWarp;
  for (int tile = threadIdx.x / kWarp; tile < kTiles; tile += blockDim.x / kWarp) {
    for (int depth = 0; depth < Fragments<Robot>::kInputDepths; depth++) {
      fragments.first[depth][tile][lane] = columns_of(first, depth, tile, lane);
      fragments.first_rest[depth][tile][lane] = columns_of(first_rest, depth, tile, lane);
    }
    for (int depth = 0; depth < kDepths; depth++) {
      fragments.second[depth][tile][lane] = columns_of(second, depth, tile, lane);
    }
  }
  if (threadIdx.x < kWarp) {
    for (int depth = 0; depth < kDepths; depth++) fragments.third[depth][lane] = columns_of(third, depth, 0, lane);
  }
  for (int unit = threadIdx.x; unit < kHidden; unit += blockDim.x) {
    fragments.first_bias[unit] = policy.first_bias[unit];
    fragments.second_bias[unit] = policy.second_bias[unit];
  }
  if (threadIdx.x < 8) {
    fragments.third_bias[threadIdx.x] = threadIdx.x < kMeans<Robot> ? policy.third_bias[threadIdx.x] : 0;
  }
}

// What the lanes of a warp exchange: the observation of each, in rows of whole fragments, and its means.
template <class Robot>
struct Exchange {
  static constexpr int kWidth = 16 * Fragments<Robot>::kInputDepths + 2;  // so that few rows begin in one bank
  float observations[kWarp][kWidth];
  float means[kWarp][8];
};

// Sums that begin with the biases of a tile's columns.
ROBOT_INLINE Sums begun(const float* biases, int tile, unsigned lane) {
  const float* bias = biases + 8 * tile + 2 * (lane % 4);
  return {{bias[0], bias[1], bias[0], bias[1]}};
}

// The means of 16 environments' actions: those of the exchange's rows from `begin`. All lanes of the warp call it.
template <class Robot>
ROBOT_INLINE void evaluate_by_matrices(const Fragments<Robot>& layers, Exchange<Robot>& exchange, int begin,
                                       unsigned lane) {
  constexpr int kInputDepths = Fragments<Robot>::kInputDepths;
  int row = begin + lane / 4, column = 2 * (lane % 4);
  Rows inputs[kInputDepths], inputs_rest[kInputDepths];
  for (int depth = 0; depth < kInputDepths; depth++) {
    for (int i = 0; i < 4; i++) {
      const float* pair = &exchange.observations[row + i % 2 * 8][16 * depth + column + i / 2 * 8];
      inputs[depth].pairs[i] = halves(pair[0], pair[1]);
      inputs_rest[depth].pairs[i] = halves(rest_of_half(pair[0]), rest_of_half(pair[1]));
    }
  }
  auto first = [&](int tile) {
    Sums sums = begun(layers.first_bias, tile, lane);
    for (int depth = 0; depth < kInputDepths; depth++) {
      sums = product(inputs[depth], layers.first[depth][tile][lane], sums);
      sums = product(inputs_rest[depth], layers.first[depth][tile][lane], sums);
      sums = product(inputs[depth], layers.first_rest[depth][tile][lane], sums);
    }
    return sums;
  };
  Rows units[kDepths];
  ROBOT_UNROLLED for (int pair = 0; pair < kDepths; pair++) {
    units[pair] = cartpole::activated(first(2 * pair), first(2 * pair + 1));
  }
  auto second = [&](int tile) {
    Sums sums = begun(layers.second_bias, tile, lane);
    for (int depth = 0; depth < kDepths; depth++) sums = product(units[depth], layers.second[depth][tile][lane], sums);
    return sums;
  };
  Sums means = begun(layers.third_bias, 0, lane);
  ROBOT_UNROLLED for (int pair = 0; pair < kDepths; pair++) {
    means = product(cartpole::activated(second(2 * pair), second(2 * pair + 1)), layers.third[pair][lane], means);
  }
  for (int i = 0; i < 4; i++) exchange.means[row + i / 2 * 8][column + i % 2] = means.values[i];
}

template <class Robot>
__global__ void __launch_bounds__(kMostThreads)
    collect_by_matrices(float* q, float* v, unsigned short* lasted, float* rewards, unsigned* ends,
                        const Policy<Robot>* policy, float* observations, float* actions, float* log_probabilities,
                        float* step_rewards, unsigned char* step_ends, unsigned count, unsigned steps,
                        unsigned long long first, cartpole::Key key) {
  static_assert(Robot::motors <= 8, "one tile of columns has all means");
  __shared__ Fragments<Robot> layers;
  __shared__ Exchange<Robot> exchanges[kMostThreads / kWarp];
  fill(layers, *policy);
  __syncthreads();
  unsigned environment = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % kWarp;
  if (environment - lane >= count) return;
  Exchange<Robot>& exchange = exchanges[threadIdx.x / kWarp];
  for (int i = Robot::observations; i < Exchange<Robot>::kWidth; i++) exchange.observations[lane][i] = 0;
  Environments all{q, v, lasted, rewards, ends, count};
  Data data{observations, actions, log_probabilities, step_rewards, step_ends};
  auto evaluate_together = [&](const float* observation, float* means) {
    upwards<0, Robot::observations>([&](auto i) { exchange.observations[lane][i] = observation[i]; });
    __syncwarp();
    ROBOT_LOOP for (int begin = 0; begin < 32; begin += 16) evaluate_by_matrices(layers, exchange, begin, lane);
    __syncwarp();
    upwards<0, Robot::motors>([&](auto motor) { means[motor] = exchange.means[lane][motor]; });
  };
  collect_one<Robot>(all, data, environment, steps, first, key, policy->log_deviations, evaluate_together);
}

}  // namespace robots
