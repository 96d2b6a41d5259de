// CartPole on a GPU: simulation alone, and fused with the policy that acts. Compiled at run time, behind
// cartpole.h and matrix_units.h.
//
// Every kernel keeps an environment's state in the registers of one thread for `count` steps. Random numbers depend on
// the seed, the environment and the step alone, so that ten launches of one step do what one launch of ten does.

namespace cartpole {

// What the instructions that are built into the chip give: about 2^-11 off for tanh, 2^-20 for sine and cosine.
struct Approximate {
  static CARTPOLE_INLINE void sine_cosine(float angle, float& sine, float& cosine) { __sincosf(angle, &sine, &cosine); }
  static CARTPOLE_INLINE float hyperbolic_tangent(float value) {
    return approximate_tanh(value);
  }
  static CARTPOLE_INLINE float logistic(float score) { return __fdividef(1, 1 + __expf(-score)); }
  static CARTPOLE_INLINE float log_of_logistic(float score) {
    return fminf(score, 0) - __logf(1 + __expf(-fabsf(score)));
  }
};

// The same functions as exact as single precision has them.
struct Exact : Accurate {
  static CARTPOLE_INLINE float hyperbolic_tangent(float value) { return tanhf(value); }
  static CARTPOLE_INLINE float logistic(float score) { return 1 / (1 + expf(-score)); }
  static CARTPOLE_INLINE float log_of_logistic(float score) { return fminf(score, 0) - log1pf(expf(-fabsf(score))); }
};

// What a trainer reads of each step of each environment: rows of steps, `environments` wide.
struct Data {
  State* states;  // before the step; one row more than the others, of the states after the last
  unsigned char* actions;
  float* log_probabilities;
  float* rewards;
  unsigned char* ends;
};

constexpr unsigned kHidden = 64;

// Makes the first states, drawn as every other start.
__global__ void begin(State* states, unsigned short* steps, unsigned environments, Key key) {
  unsigned environment = blockIdx.x * blockDim.x + threadIdx.x;
  if (environment >= environments) return;
  states[environment] = start(drawn(environment, 0, kFirst, key));
  steps[environment] = 0;
}

// Reads and writes state that no step needs, shared out among all threads of the launch: each number counts the steps.
CARTPOLE_INLINE void carry(float4* extra, unsigned long long size, unsigned count) {
  constexpr int kAtOnce = 4;  // loads on their way, before the first store
  unsigned long long threads = static_cast<unsigned long long>(gridDim.x) * blockDim.x;
  float passed = static_cast<float>(count);
  for (unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x; i < size; i += kAtOnce * threads) {
    float4 fours[kAtOnce];
#pragma unroll
    for (int j = 0; j < kAtOnce; j++) {
      if (i + j * threads < size) fours[j] = extra[i + j * threads];
    }
#pragma unroll
    for (int j = 0; j < kAtOnce; j++) {
      float4 four = fours[j];
      if (i + j * threads < size) {
        extra[i + j * threads] = {four.x + passed, four.y + passed, four.z + passed, four.w + passed};
      }
    }
  }
}

constexpr unsigned kSimulateThreads = 128;

// Steps with actions drawn evenly. `size` fours of extra state are read and written once a launch, as fast as memory is:
// what a simulator's state would cost that is that much larger. With one step per launch memory is the limit: few enough
// registers let as many threads run as the GPU can have, and wait for it at a time.
template <class Math, unsigned kParts>
__global__ void __launch_bounds__(kSimulateThreads, 16)
    simulate(State* states, unsigned short* steps, float4* extra, unsigned long long size, unsigned environments,
             unsigned count, unsigned long long first, Key key) {
  carry(extra, size, count);
  unsigned environment = blockIdx.x * blockDim.x + threadIdx.x;
  if (environment >= environments) return;
  State state = states[environment];
  unsigned lasted = steps[environment];

  for (unsigned row = 0; row < count;) {
    unsigned long long now = first + row;
    unsigned passed_of_window = now % kWindow;
    unsigned end_of_window = min(count, row + kWindow - passed_of_window);
    Random random = drawn(environment, now / kWindow, kWindows, key);
    unsigned actions = random.words[0] >> passed_of_window;
    State next_start = start(random);
    for (; row < end_of_window; row++, actions >>= 1) {
      if (step<Math, kParts>(state, lasted, actions & 1) != kGoesOn) {
        state = next_start;
        lasted = 0;
      }
    }
  }
  states[environment] = state;
  steps[environment] = static_cast<unsigned short>(lasted);
}

// One environment as the fused kernels step it: the numbers its actions are drawn with, and what they leave behind.
template <class Math, bool kWrites>
class Actor {
 public:
  CARTPOLE_INLINE Actor(State* states, unsigned short* steps, unsigned environments, unsigned environment, Key key)
      : states_(states), steps_(steps), environments_(environments), environment_(environment), key_(key) {
    // A thread beyond the last environment goes along with its warp, and leaves nothing behind.
    if (environment < environments) {
      state_ = states[environment];
      lasted_ = steps[environment];
    }
  }

  CARTPOLE_INLINE const State& state() const { return state_; }

  // Acts by `score`, how much more the policy speaks for action 1, in step `now` and row `row` of the data. Actions that
  // are `given` replace what is drawn.
  CARTPOLE_INLINE void act(float score, unsigned long long now, unsigned row, const Data& data,
                           const unsigned char* given) {
    if (now % 4 == 0 || row == 0) draws_ = drawn(environment_, now / 4, kDraws, key_);
    const unsigned* words = draws_.words;
    unsigned word = now % 4 < 2 ? (now % 2 ? words[1] : words[0]) : (now % 2 ? words[3] : words[2]);
    bool right = uniform(word) < Math::logistic(score);
    unsigned long long cell = static_cast<unsigned long long>(row) * environments_ + environment_;
    bool is_there = environment_ < environments_;
    if (kWrites && is_there) {
      if (given) right = given[cell];
      data.states[cell] = state_;
      data.actions[cell] = right;
      data.log_probabilities[cell] = Math::log_of_logistic(right ? score : -score);
      data.rewards[cell] = 1;  // CartPole's, for every step
    }
    End end = step<Math>(state_, lasted_, right);
    if (kWrites && is_there) data.ends[cell] = end;
    if (end != kGoesOn) {
      state_ = start(drawn(environment_, now / kWindow, kWindows, key_));
      lasted_ = 0;
    }
  }

  // Leaves the state for the next launch; `count` is the number of the row after the last.
  CARTPOLE_INLINE void leave(unsigned count, const Data& data) const {
    if (environment_ >= environments_) return;
    states_[environment_] = state_;
    steps_[environment_] = static_cast<unsigned short>(lasted_);
    if (kWrites) data.states[static_cast<unsigned long long>(count) * environments_ + environment_] = state_;
  }

 private:
  State* states_;
  unsigned short* steps_;
  unsigned environments_, environment_;
  Key key_;
  State state_{};
  unsigned lasted_ = 0;
  Random draws_{};
};

CARTPOLE_INLINE float4 fourth(const float* values, unsigned index) {
  return reinterpret_cast<const float4*>(values)[index];
}

// Eight numbers of two vectors.
struct Eight {
  float values[8];
  CARTPOLE_INLINE Eight(float4 a, float4 b) : values{a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w} {}
  CARTPOLE_INLINE float operator[](unsigned i) const { return values[i]; }
};

// The policy's parameters as the float32 kernel reads them from shared memory: `cuda.py` packs them so.
struct Parameters {
  float first[4][kHidden];        // [input][unit], units in the order 0 8 16 24, 1 9 17 25, …, 32 40 48 56, 33 …
  float first_bias[kHidden];      // in that order
  float second[kHidden][kHidden];  // [input][unit], units in their order
  float second_bias[kHidden];
  float third[kHidden];  // action 1's weights less action 0's
  float third_bias[4];   // likewise; one number and padding
};

// What a warp of the float32 kernel shares. Rows are padded so that the lanes' writes of a column meet different banks.
struct Exchange {
  static constexpr unsigned kRow = kWarp + 4;
  float states[4][kWarp];
  float hidden[kHidden][kRow];
};

constexpr unsigned kPlainThreads = 256;

struct PlainShared {
  Parameters parameters;
  Exchange exchanges[kPlainThreads / kWarp];
};
static_assert(sizeof(PlainShared) == 96016, "cuda.py asks for so much");

// Simulation and policy in float32. A warp has 32 environments. For the layers, a lane computes 8 units of 8 of them, an
// outer product per input: four 16-byte reads of shared memory for 64 multiply-adds. Lane 8g + o has the environments
// 4g … 4g + 3 and 16 + 4g … 16 + 4g + 3, of the first layer the units o, 8 + o, …, 56 + o (so that what neighbours
// write lies in neighbouring rows, whose banks differ), of the second 4o … 4o + 3 and 32 + 4o … 32 + 4o + 3.
template <class Math, bool kWrites>
__global__ void __launch_bounds__(kPlainThreads, 2)
    collect(State* states, unsigned short* steps, const Parameters* parameters, unsigned environments, unsigned count,
            unsigned long long first, Key key, const unsigned char* given, State* data_states, unsigned char* actions,
            float* log_probabilities, float* rewards, unsigned char* ends) {
  Data data{data_states, actions, log_probabilities, rewards, ends};
  extern __shared__ float4 memory[];
  PlainShared& shared = *reinterpret_cast<PlainShared*>(memory);
  for (unsigned i = threadIdx.x; i < sizeof(Parameters) / sizeof(float4); i += kPlainThreads) {
    memory[i] = reinterpret_cast<const float4*>(parameters)[i];
  }
  __syncthreads();

  unsigned lane = threadIdx.x % kWarp;
  unsigned group = lane / 8, o = lane % 8;
  const Parameters& p = shared.parameters;
  Exchange& mine = shared.exchanges[threadIdx.x / kWarp];
  Actor<Math, kWrites> actor(states, steps, environments, blockIdx.x * kPlainThreads + threadIdx.x, key);
  if (blockIdx.x * kPlainThreads + threadIdx.x - lane >= environments) return;

  for (unsigned row = 0; row < count; row++) {
    mine.states[0][lane] = actor.state().position;
    mine.states[1][lane] = actor.state().velocity;
    mine.states[2][lane] = actor.state().angle;
    mine.states[3][lane] = actor.state().angular_velocity;
    __syncwarp();

    float sums[8][8];  // [unit][environment]
    Eight bias(fourth(p.first_bias, o), fourth(p.first_bias, 8 + o));
#pragma unroll
    for (int i = 0; i < 8; i++) {
      for (int j = 0; j < 8; j++) sums[i][j] = bias[i];
    }
#pragma unroll
    for (int k = 0; k < 4; k++) {
      Eight weights(fourth(p.first[k], o), fourth(p.first[k], 8 + o));
      Eight inputs(fourth(mine.states[k], group), fourth(mine.states[k], 4 + group));
#pragma unroll
      for (int i = 0; i < 8; i++) {
        for (int j = 0; j < 8; j++) sums[i][j] += weights[i] * inputs[j];
      }
    }
#pragma unroll
    for (int i = 0; i < 8; i++) {
      float4* unit = reinterpret_cast<float4*>(mine.hidden[8 * i + o]);
      for (int half = 0; half < 2; half++) {
        const float* four = &sums[i][4 * half];
        unit[4 * half + group] = {Math::hyperbolic_tangent(four[0]), Math::hyperbolic_tangent(four[1]),
                                  Math::hyperbolic_tangent(four[2]), Math::hyperbolic_tangent(four[3])};
      }
    }
    __syncwarp();

    bias = Eight(fourth(p.second_bias, o), fourth(p.second_bias, 8 + o));
#pragma unroll
    for (int i = 0; i < 8; i++) {
      for (int j = 0; j < 8; j++) sums[i][j] = bias[i];
    }
#pragma unroll 4
    for (int k = 0; k < kHidden; k++) {
      Eight weights(fourth(p.second[k], o), fourth(p.second[k], 8 + o));
      Eight inputs(fourth(mine.hidden[k], group), fourth(mine.hidden[k], 4 + group));
#pragma unroll
      for (int i = 0; i < 8; i++) {
        for (int j = 0; j < 8; j++) sums[i][j] += weights[i] * inputs[j];
      }
    }

    Eight weights(fourth(p.third, o), fourth(p.third, 8 + o));
    float scores[8] = {};
#pragma unroll
    for (int i = 0; i < 8; i++) {
      for (int j = 0; j < 8; j++) scores[j] += weights[i] * Math::hyperbolic_tangent(sums[i][j]);
    }
    // Each of a group's eight lanes has a part of the scores of eight environments; each keeps the sum of one. In each
    // round a lane gives away the half of what it holds that its partner keeps.
#pragma unroll
    for (int width = 4; width >= 1; width /= 2) {
      bool is_upper = o & width;
      for (int j = 0; j < width; j++) {
        float kept = is_upper ? scores[j + width] : scores[j];
        float given_away = is_upper ? scores[j] : scores[j + width];
        scores[j] = kept + __shfl_xor_sync(0xffffffff, given_away, width);
      }
    }
    // Lane 8g + o now has the score of its group's o-th environment: of 4g + o, or of 16 + 4g + o - 4.
    unsigned owner_group = lane % 16 / 4, owner_o = lane / 16 * 4 + lane % 4;
    float score = __shfl_sync(0xffffffff, scores[0], 8 * owner_group + owner_o) + p.third_bias[0];
    actor.act(score, first + row, row, data, given);
  }
  actor.leave(count, data);
}

constexpr unsigned kMatrixThreads = 128;

// Sums that begin with a layer's biases: a product with ones, because copying biases to where sums are added up would
// take an instruction for each. `pair` is a column's bias in two parts, in rows 0 and 1 of otherwise empty ones.
CARTPOLE_INLINE Sums biases(unsigned ones, unsigned pair) {
  Sums result;
  asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %4}, {%5}, {%6, %6, %6, %6};"
      : "=f"(result.values[0]), "=f"(result.values[1]), "=f"(result.values[2]), "=f"(result.values[3])
      : "r"(ones), "r"(pair), "f"(0.0f));
  return result;
}

// Simulation and policy with the layers on the matrix units: half precision in, float32 sums. The weights stay in
// registers. A warp has 32 environments, two tiles of 16 rows; lane 4q + j has environment 8j + q.
template <bool kWrites>
__global__ void __launch_bounds__(kMatrixThreads, 3)
    collect_by_matrices(State* states, unsigned short* steps, const Parameters* parameters, unsigned environments,
                        unsigned count, unsigned long long first, Key key, const unsigned char* given,
                        State* data_states, unsigned char* actions, float* log_probabilities, float* rewards,
                        unsigned char* ends) {
  Data data{data_states, actions, log_probabilities, rewards, ends};
  unsigned lane = threadIdx.x % kWarp;
  unsigned q = lane / 4, j = lane % 4;
  unsigned warp_begin = blockIdx.x * kMatrixThreads + threadIdx.x - lane;
  if (warp_begin >= environments) return;
  Actor<Approximate, kWrites> actor(states, steps, environments, warp_begin + 8 * j + q, key);

  constexpr int kTiles = kHidden / 8, kDepth = kHidden / 16;
  const Parameters& p = *parameters;
  Columns first_layer[kTiles], second_layer[kTiles][kDepth], third_layer[kDepth];
  unsigned first_bias[kTiles], second_bias[kTiles];
  // A bias is there as its half-precision number and what that lacks.
  auto in_two_parts = [j](float bias) {
    float upper = rounded_to_half(bias);
    return j == 0 ? halves(upper, bias - upper) : 0;
  };
#pragma unroll
  for (int tile = 0; tile < kTiles; tile++) {
    // Unit u of the first layer lies where Parameters say that it does.
    auto place = [](unsigned u) { return u / 32 * 32 + u % 8 * 4 + u % 32 / 8; };
    unsigned unit = place(8 * tile + q);
    first_layer[tile] = {{halves(p.first[0][unit], p.first[1][unit]), halves(p.first[2][unit], p.first[3][unit])}};
    first_bias[tile] = in_two_parts(p.first_bias[unit]);
    unit = 8 * tile + q;
    for (int depth = 0; depth < kDepth; depth++) {
      unsigned k = 16 * depth + 2 * j;
      second_layer[tile][depth] = {{halves(p.second[k][unit], p.second[k + 1][unit]),
                                    halves(p.second[k + 8][unit], p.second[k + 9][unit])}};
    }
    second_bias[tile] = in_two_parts(p.second_bias[unit]);
  }
#pragma unroll
  for (int depth = 0; depth < kDepth; depth++) {
    // The same in every column: then every lane has the score of its rows.
    const float* weights = &p.third[16 * depth + 2 * j];
    third_layer[depth] = {{halves(weights[0], weights[1]), halves(weights[8], weights[9])}};
  }
  float third_bias = p.third_bias[0];
  unsigned ones = halves(1, 1);

  for (unsigned row = 0; row < count; row++) {
    // The first layer has four inputs where a product takes sixteen: a lane's own four places in the rows hold its own
    // environment's state, other lanes' places in that row are zero, and the weights are there four times.
    unsigned low = halves(actor.state().position, actor.state().velocity);
    unsigned high = halves(actor.state().angle, actor.state().angular_velocity);
    float score = 0;
#pragma unroll 1
    for (unsigned half = 0; half < 2; half++) {
      bool is_upper = j == 2 * half, is_lower = j == 2 * half + 1;
      Rows inputs{{is_upper ? low : 0, is_lower ? low : 0, is_upper ? high : 0, is_lower ? high : 0}};
      Rows hidden[kDepth];
#pragma unroll
      for (int depth = 0; depth < kDepth; depth++) {
        Sums left = biases(ones, first_bias[2 * depth]), right = biases(ones, first_bias[2 * depth + 1]);
        hidden[depth] = activated(product(inputs, first_layer[2 * depth], left),
                                  product(inputs, first_layer[2 * depth + 1], right));
      }
      Sums sums{};
#pragma unroll
      for (int pair = 0; pair < kDepth; pair++) {
        Sums left = biases(ones, second_bias[2 * pair]), right = biases(ones, second_bias[2 * pair + 1]);
#pragma unroll
        for (int depth = 0; depth < kDepth; depth++) {
          left = product(hidden[depth], second_layer[2 * pair][depth], left);
          right = product(hidden[depth], second_layer[2 * pair + 1][depth], right);
        }
        sums = product(activated(left, right), third_layer[pair], sums);
      }
      if (is_upper) score = sums.values[0];
      if (is_lower) score = sums.values[2];
    }
    actor.act(score + third_bias, first + row, row, data, given);
  }
  actor.leave(count, data);
}

}  // namespace cartpole
