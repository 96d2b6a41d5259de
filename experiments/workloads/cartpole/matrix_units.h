// Products on a GPU's matrix units, with half precision in and sums in float32, as layers of a policy need them.
#ifndef MATRIX_UNITS_H
#define MATRIX_UNITS_H

namespace cartpole {

constexpr unsigned kWarp = 32;

// What the instruction that is built into the chip gives, about 2^-11 off.
CARTPOLE_INLINE float approximate_tanh(float value) {
  float result;
  asm("tanh.approx.f32 %0, %1;" : "=f"(result) : "f"(value));
  return result;
}

// Two numbers in half precision, the first in the lower half.
CARTPOLE_INLINE unsigned halves(float low, float high) {
  unsigned result;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(result) : "f"(high), "f"(low));
  return result;
}

// A number as half precision has it.
CARTPOLE_INLINE float rounded_to_half(float value) {
  float result;
  asm("{.reg .b16 low, high; mov.b32 {low, high}, %1; cvt.f32.f16 %0, low;}" : "=f"(result) : "r"(halves(value, 0)));
  return result;
}

// A fragment of a 16 x 8 matrix in float32 as a warp's lanes hold it: of lane 4q + j, row q and row q + 8, each with the
// columns 2j and 2j + 1.
struct Sums {
  float values[4];
};

// A fragment of a 16 x 16 matrix in half precision: row q and row q + 8 with the columns 2j, 2j + 1; then with those
// eight further on.
struct Rows {
  unsigned pairs[4];
};

// A fragment of a 16 x 8 matrix in half precision: of column q, the rows 2j, 2j + 1; then those eight further on.
struct Columns {
  unsigned pairs[2];
};

// sums + rows * columns, on the matrix units.
CARTPOLE_INLINE Sums product(const Rows& rows, const Columns& columns, const Sums& sums) {
  Sums result;
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%10, %11, %12, %13};"
      : "=f"(result.values[0]), "=f"(result.values[1]), "=f"(result.values[2]), "=f"(result.values[3])
      : "r"(rows.pairs[0]), "r"(rows.pairs[1]), "r"(rows.pairs[2]), "r"(rows.pairs[3]), "r"(columns.pairs[0]),
        "r"(columns.pairs[1]), "f"(sums.values[0]), "f"(sums.values[1]), "f"(sums.values[2]), "f"(sums.values[3]));
  return result;
}

// The tanh of two neighbouring tiles of a layer's sums, as the next layer's input. The lanes hold sums where they need
// inputs, so that nothing is exchanged between layers.
CARTPOLE_INLINE Rows activated(const Sums& left, const Sums& right) {
  auto pair = [](const Sums& sums, int i) {
    return halves(approximate_tanh(sums.values[i]), approximate_tanh(sums.values[i + 1]));
  };
  return {{pair(left, 0), pair(left, 2), pair(right, 0), pair(right, 2)}};
}

}  // namespace cartpole

#endif
