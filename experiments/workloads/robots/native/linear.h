// Numbers of a robot's degrees of freedom, for C++17 and for CUDA (NVRTC) alike, in single or double precision: loops that
// are unrolled, and matrices that are zero but for a body's degrees of freedom and those of its ancestors.
//
// The robot's numbers are constants of a struct that source.py writes. As loops are unrolled, all that a step needs has a
// fixed place: in a register, if there are enough. Bodies are numbered so that parents come first. The torso's degrees of
// freedom come first too, up to Robot::hinges; body b's hinge is Robot::hinges + b.
#ifndef LINEAR_H
#define LINEAR_H

#ifdef __CUDACC__
#define ROBOT_INLINE __device__ __forceinline__
#define ROBOT_LOOP _Pragma("unroll 1")  // a loop that is to stay one
#else
#include <math.h>
#define ROBOT_INLINE inline __attribute__((always_inline))
#define ROBOT_LOOP
#endif

namespace robots {

ROBOT_INLINE void sine_cosine(float angle, float& sine, float& cosine) { sincosf(angle, &sine, &cosine); }
ROBOT_INLINE void sine_cosine(double angle, double& sine, double& cosine) { sincos(angle, &sine, &cosine); }

template <int kIndex>
struct Index {
  ROBOT_INLINE constexpr operator int() const { return kIndex; }
};

// Calls a function with each index as a constant, upwards or downwards.
template <int kBegin, int kEnd, class Function>
ROBOT_INLINE void upwards(const Function& function) {
  if constexpr (kBegin < kEnd) {
    function(Index<kBegin>{});
    upwards<kBegin + 1, kEnd>(function);
  }
}
template <int kLast, class Function>
ROBOT_INLINE void downwards(const Function& function) {
  if constexpr (kLast >= 0) {
    function(Index<kLast>{});
    downwards<kLast - 1>(function);
  }
}

// Positions are as many as the degrees of freedom, or one more if there is a quaternion among them.
template <class Robot, class Real>
struct State {
  Real q[Robot::positions];
  Real v[Robot::dofs];
};

// The position of a hinge.
template <class Robot>
ROBOT_INLINE constexpr int position(int dof) {
  return dof + Robot::positions - Robot::dofs;
}

// A symmetric matrix over the degrees of freedom, or its factors: [row][column] below and on the diagonal, of which only
// those of a body and its ancestors are not zero.
template <class Robot, class Real>
struct Matrix {
  Real at[Robot::dofs][Robot::dofs];
};

// Calls a function with each degree of freedom above another, nearest first: its ancestors' hinges, then the torso's.
template <class Robot, int kDof, class Function>
ROBOT_INLINE void ancestors(const Function& function) {
  if constexpr (kDof > Robot::hinges) {
    constexpr int kParent = Robot::hinges + Robot::parent(kDof - Robot::hinges);
    function(Index<kParent>{});
    ancestors<Robot, kParent>(function);
  } else if constexpr (kDof > 0) {
    function(Index<kDof - 1>{});
    ancestors<Robot, kDof - 1>(function);
  }
}

template <class Robot, class Real>
ROBOT_INLINE void multiply(const Matrix<Robot, Real>& matrix, const Real* vector, Real* product) {
  upwards<0, Robot::dofs>([&](auto dof) { product[dof] = matrix.at[dof][dof] * vector[dof]; });
  upwards<0, Robot::dofs>([&](auto dof) {
    constexpr int d = dof;
    ancestors<Robot, d>([&](auto above) {
      product[d] += matrix.at[d][above] * vector[above];
      product[above] += matrix.at[d][above] * vector[d];
    });
  });
}

// Factors a positive definite matrix in place, from the leaves on, so that no zero is filled: the diagonal becomes its
// inverse, the rest the factors.
template <class Robot, class Real>
ROBOT_INLINE void factor(Matrix<Robot, Real>& matrix) {
  downwards<Robot::dofs - 1>([&](auto dof) {
    constexpr int d = dof;
    matrix.at[d][d] = 1 / matrix.at[d][d];
    ancestors<Robot, d>([&](auto above) {
      constexpr int a = above;
      Real share = matrix.at[d][a] * matrix.at[d][d];
      matrix.at[a][a] -= share * matrix.at[d][a];
      ancestors<Robot, a>([&](auto further) { matrix.at[a][further] -= share * matrix.at[d][further]; });
    });
    ancestors<Robot, d>([&](auto above) { matrix.at[d][above] *= matrix.at[d][d]; });
  });
}

// Solves a system whose matrix was factored, in place.
template <class Robot, class Real>
ROBOT_INLINE void solve(const Matrix<Robot, Real>& factored, Real* vector) {
  downwards<Robot::dofs - 1>([&](auto dof) {
    constexpr int d = dof;
    ancestors<Robot, d>([&](auto above) { vector[above] -= factored.at[d][above] * vector[d]; });
  });
  upwards<0, Robot::dofs>([&](auto dof) {
    constexpr int d = dof;
    vector[d] *= factored.at[d][d];
    ancestors<Robot, d>([&](auto above) { vector[d] -= factored.at[d][above] * vector[above]; });
  });
}

}  // namespace robots

#endif
