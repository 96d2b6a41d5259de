// One step of a planar robot as MuJoCo takes it: for C++17 and for CUDA (NVRTC) alike, in single or double precision.
//
// Positions and speeds are those of two slides, x and z, and of a hinge for each body. The robot's numbers are constants
// of a struct that model.py writes, which comes behind this file, and every loop over bodies is unrolled, so that all that a step needs has a fixed
// place: in a register, if there are enough. Bodies are numbered so that parents come first.
//
// A body's motion is a twist: the velocity of a point of it that is at the torso's hinge, and its angular velocity. The
// forces on it are a wrench: their sum and their torque about that same place. x does not matter to a robot on a floor,
// so that place is the origin of all coordinates but the height.
#ifndef PLANAR_H
#define PLANAR_H

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

constexpr int kX = 0, kZ = 1, kHinges = 2;  // degrees of freedom; body b's hinge is kHinges + b

template <class Robot, class Real>
struct State {
  Real q[Robot::dofs];
  Real v[Robot::dofs];
};

// A symmetric matrix over the degrees of freedom, or its factors: [row][column] below and on the diagonal, of which only
// those of a body and its ancestors are not zero.
template <class Robot, class Real>
struct Matrix {
  Real at[Robot::dofs][Robot::dofs];
};

// Calls a function with each degree of freedom above another, nearest first: its ancestors' hinges, then z and x.
template <class Robot, int kDof, class Function>
ROBOT_INLINE void ancestors(const Function& function) {
  if constexpr (kDof > kHinges) {
    constexpr int kParent = kHinges + Robot::parent(kDof - kHinges);
    function(Index<kParent>{});
    ancestors<Robot, kParent>(function);
  } else if constexpr (kDof > kX) {
    function(Index<kDof - 1>{});
    ancestors<Robot, kDof - 1>(function);
  }
}

template <class Real>
struct Twist {
  Real x, z, turn;
};
template <class Real>
struct Wrench {
  Real x, z, torque;
};

// Where the bodies are.
template <class Robot, class Real>
struct Pose {
  Real sine[Robot::bodies], cosine[Robot::bodies];
  Real x[Robot::bodies], z[Robot::bodies];  // of the hinge, from the torso's
  Real height;                              // of the torso's hinge above the floor

  // From a body's hinge to a place of it.
  template <int kBody>
  ROBOT_INLINE Real along_x(Real x, Real z) const { return cosine[kBody] * x + sine[kBody] * z; }
  template <int kBody>
  ROBOT_INLINE Real along_z(Real x, Real z) const { return cosine[kBody] * z - sine[kBody] * x; }
};

template <class Robot, class Real>
ROBOT_INLINE Pose<Robot, Real> pose_of(const Real* q) {
  Pose<Robot, Real> pose;
  Real angle[Robot::bodies];
  pose.height = Real(Robot::offset_z(0)) + (q[kZ] - Real(Robot::start(kZ)));
  upwards<0, Robot::bodies>([&](auto body) {
    constexpr int b = body, kParent = Robot::parent(b);
    angle[b] = Real(Robot::sign(b)) * (q[kHinges + b] - Real(Robot::start(kHinges + b)));
    pose.x[b] = pose.z[b] = 0;
    if constexpr (kParent >= 0) {
      constexpr Real kOffsetX = Real(Robot::offset_x(b)), kOffsetZ = Real(Robot::offset_z(b));
      angle[b] += angle[kParent];
      pose.x[b] = pose.x[kParent] + pose.template along_x<kParent>(kOffsetX, kOffsetZ);
      pose.z[b] = pose.z[kParent] + pose.template along_z<kParent>(kOffsetX, kOffsetZ);
    }
    sine_cosine(angle[b], pose.sine[b], pose.cosine[b]);
  });
  return pose;
}

// The twist of every body, if the degrees of freedom move as given.
template <class Robot, class Real>
struct Twists {
  Twist<Real> of[Robot::bodies];
};
template <class Robot, class Real>
ROBOT_INLINE Twists<Robot, Real> twists_of(const Pose<Robot, Real>& pose, const Real* rates) {
  Twists<Robot, Real> twists;
  upwards<0, Robot::bodies>([&](auto body) {
    constexpr int b = body, kParent = Robot::parent(b);
    Real turn = Real(Robot::sign(b)) * rates[kHinges + b];
    Twist<Real> above{rates[kX], rates[kZ], 0};
    if constexpr (kParent >= 0) above = twists.of[kParent];
    twists.of[b] = {above.x - turn * pose.z[b], above.z + turn * pose.x[b], above.turn + turn};
  });
  return twists;
}

// The forces on the degrees of freedom that wrenches on the bodies amount to; adds the wrench of each body to its parent's.
template <class Robot, class Real>
ROBOT_INLINE void add_forces(const Pose<Robot, Real>& pose, Wrench<Real>* wrenches, Real* forces) {
  downwards<Robot::bodies - 1>([&](auto body) {
    constexpr int b = body, kParent = Robot::parent(b);
    const Wrench<Real>& w = wrenches[b];
    forces[kHinges + b] += Real(Robot::sign(b)) * (w.torque - pose.z[b] * w.x + pose.x[b] * w.z);
    if constexpr (kParent >= 0) {
      Wrench<Real>& above = wrenches[kParent];
      above = {above.x + w.x, above.z + w.z, above.torque + w.torque};
    }
  });
  forces[kX] += wrenches[0].x;
  forces[kZ] += wrenches[0].z;
}

// The mass matrix, with the armature: of each body with all that hangs on it, the mass and its first and second moment
// about the body's hinge.
template <class Robot, class Real>
ROBOT_INLINE Matrix<Robot, Real> mass_matrix(const Pose<Robot, Real>& pose) {
  Matrix<Robot, Real> matrix;
  Real mass[Robot::bodies], first_x[Robot::bodies], first_z[Robot::bodies], second[Robot::bodies];
  upwards<0, Robot::bodies>([&](auto body) {
    constexpr int b = body;
    constexpr double kX = Robot::centre_x(b), kZ = Robot::centre_z(b), kMass = Robot::mass(b);
    mass[b] = Real(kMass);
    first_x[b] = Real(kMass) * pose.template along_x<b>(Real(kX), Real(kZ));
    first_z[b] = Real(kMass) * pose.template along_z<b>(Real(kX), Real(kZ));
    second[b] = Real(Robot::inertia(b) + kMass * (kX * kX + kZ * kZ));
  });
  downwards<Robot::bodies - 1>([&](auto body) {
    constexpr int b = body, kParent = Robot::parent(b), kHinge = kHinges + b;
    constexpr Real kSign = Real(Robot::sign(b));
    matrix.at[kHinge][kHinge] = second[b] + Real(Robot::armature(kHinge));
    ancestors<Robot, kHinge>([&](auto above) {
      constexpr int a = above;
      if constexpr (a == kX) {
        matrix.at[kHinge][a] = kSign * first_z[b];
      } else if constexpr (a == kZ) {
        matrix.at[kHinge][a] = -kSign * first_x[b];
      } else {
        Real x = pose.x[b] - pose.x[a - kHinges], z = pose.z[b] - pose.z[a - kHinges];
        matrix.at[kHinge][a] =
            kSign * Real(Robot::sign(a - kHinges)) * (second[b] + first_x[b] * x + first_z[b] * z);
      }
    });
    if constexpr (kParent >= 0) {
      Real x = pose.x[b] - pose.x[kParent], z = pose.z[b] - pose.z[kParent];
      second[kParent] += second[b] + 2 * (x * first_x[b] + z * first_z[b]) + mass[b] * (x * x + z * z);
      first_x[kParent] += first_x[b] + mass[b] * x;
      first_z[kParent] += first_z[b] + mass[b] * z;
      mass[kParent] += mass[b];
    }
  });
  matrix.at[kZ][kZ] = mass[0] + Real(Robot::armature(kZ));
  matrix.at[kX][kX] = mass[0] + Real(Robot::armature(kX));
  matrix.at[kZ][kX] = 0;
  return matrix;
}

// The forces that keep the robot's accelerations zero, against gravity and what its turning bodies pull: MuJoCo's qfrc_bias.
template <class Robot, class Real>
ROBOT_INLINE void bias_of(const Pose<Robot, Real>& pose, const Real* v, Real* bias) {
  Wrench<Real> wrenches[Robot::bodies];
  Real pull_x[Robot::bodies], pull_z[Robot::bodies], turn[Robot::bodies];  // accelerations of the hinges
  upwards<0, Robot::bodies>([&](auto body) {
    constexpr int b = body, kParent = Robot::parent(b);
    turn[b] = Real(Robot::sign(b)) * v[kHinges + b];
    pull_x[b] = 0;
    pull_z[b] = Real(Robot::gravity);
    if constexpr (kParent >= 0) {
      Real square = turn[kParent] * turn[kParent];
      turn[b] += turn[kParent];
      pull_x[b] = pull_x[kParent] - square * (pose.x[b] - pose.x[kParent]);
      pull_z[b] = pull_z[kParent] - square * (pose.z[b] - pose.z[kParent]);
    }
    Real x = pose.template along_x<b>(Real(Robot::centre_x(b)), Real(Robot::centre_z(b)));
    Real z = pose.template along_z<b>(Real(Robot::centre_x(b)), Real(Robot::centre_z(b)));
    Real force_x = Real(Robot::mass(b)) * (pull_x[b] - turn[b] * turn[b] * x);
    Real force_z = Real(Robot::mass(b)) * (pull_z[b] - turn[b] * turn[b] * z);
    wrenches[b] = {force_x, force_z, (pose.z[b] + z) * force_x - (pose.x[b] + x) * force_z};
  });
  upwards<0, Robot::dofs>([&](auto dof) { bias[dof] = 0; });
  add_forces(pose, wrenches, bias);
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

// MuJoCo's impedance, from `least` to `most` along two parabolas, at so much of its width.
template <class Real>
ROBOT_INLINE Real impedance(Real share, Real least, Real most) {
  share = share < 1 ? share : Real(1);
  Real rest = 1 - share;
  Real blend = share < Real(0.5) ? 2 * share * share : 1 - 2 * rest * rest;
  return least + blend * (most - least);
}

// A soft constraint: as long as y + offset is negative, y being the acceleration that is constrained plus damping times
// its velocity, it costs weight / 2 * (y + offset)².
template <class Real>
struct Soft {
  Real weight, offset;
};
template <class Real>
ROBOT_INLINE Soft<Real> softened(Real distance, Real stiffness, Real least, Real most, Real width, Real inverse_mass) {
  Real strength = impedance(-distance / width, least, most);
  return {strength / ((1 - strength) * inverse_mass), stiffness * strength * distance};
}

// How one-sided quadratic costs change along a line: their first and second derivative, and which of them count, a bit
// for each.
template <class Real>
struct Slope {
  Real first, second;
  unsigned long long active;
};

// The contacts and limits of a robot in one position.
template <class Robot, class Real>
class Constraints {
 public:
  ROBOT_INLINE Constraints(const Pose<Robot, Real>& pose, const Real* q, const Real* v) : pose_(pose), q_(q), v_(v) {}

  // The velocities of the constraints' reference are added to accelerations here, so that y is linear in what is returned.
  ROBOT_INLINE void damped(const Real* accelerations, Real* result) const {
    upwards<0, Robot::dofs>(
        [&](auto dof) { result[dof] = accelerations[dof] + Real(Robot::contact_damping) * v_[dof]; });
  }

  // Adds the costs' gradient and second derivatives at these accelerations; returns which costs count.
  ROBOT_INLINE unsigned long long add_derivatives(const Real* accelerations, Real* gradient,
                                                  Matrix<Robot, Real>& hessian) const {
    Real rates[Robot::dofs];
    damped(accelerations, rates);
    Twists<Robot, Real> twists = twists_of(pose_, rates);
    Wrench<Real> wrenches[Robot::bodies];
    Real xx[Robot::bodies], zz[Robot::bodies], tt[Robot::bodies];  // second derivatives by a body's twist
    Real xz[Robot::bodies], xt[Robot::bodies], zt[Robot::bodies];
    upwards<0, Robot::bodies>([&](auto b) {
      wrenches[b] = {0, 0, 0};
      xx[b] = zz[b] = tt[b] = xz[b] = xt[b] = zt[b] = 0;
    });
    unsigned long long active = 0;
    contacts([&](auto point, Real x, Real z, const Soft<Real>& soft) {
      constexpr int p = point, b = Robot::point_body(p);
      constexpr Real kFriction = Real(Robot::point_friction(p));
      const Twist<Real>& t = twists.of[b];
      Real normal = t.z - t.turn * x + soft.offset, sliding = kFriction * (t.x + t.turn * z);
      Real middle = normal < 0 ? 2 * soft.weight : Real(0);
      Real right = normal + sliding < 0 ? soft.weight : Real(0);
      Real left = normal - sliding < 0 ? soft.weight : Real(0);
      active |= bits(normal, sliding) << (3 * p);
      // Forces and second derivatives at the point, then of its body's twist.
      Real right_force = right * (normal + sliding), left_force = left * (normal - sliding);
      Real force_z = middle * normal + right_force + left_force, force_x = kFriction * (right_force - left_force);
      Real pp = kFriction * kFriction * (right + left), pn = kFriction * (right - left), nn = middle + right + left;
      wrenches[b].x += force_x;
      wrenches[b].z += force_z;
      wrenches[b].torque += z * force_x - x * force_z;
      Real turn_p = z * pp - x * pn, turn_n = z * pn - x * nn;
      xx[b] += pp;
      xz[b] += pn;
      zz[b] += nn;
      xt[b] += turn_p;
      zt[b] += turn_n;
      tt[b] += z * turn_p - x * turn_n;
    });
    add_forces(pose_, wrenches, gradient);
    downwards<Robot::bodies - 1>([&](auto body) {
      constexpr int b = body, kParent = Robot::parent(b), kHinge = kHinges + b;
      constexpr Real kSign = Real(Robot::sign(b));
      // The derivative by the hinge: of x, z and turn.
      Real by_x = kSign * (xt[b] - pose_.z[b] * xx[b] + pose_.x[b] * xz[b]);
      Real by_z = kSign * (zt[b] - pose_.z[b] * xz[b] + pose_.x[b] * zz[b]);
      Real by_turn = kSign * (tt[b] - pose_.z[b] * xt[b] + pose_.x[b] * zt[b]);
      auto by_hinge = [&](auto other) {
        return Real(Robot::sign(other)) * (by_turn - pose_.z[other] * by_x + pose_.x[other] * by_z);
      };
      hessian.at[kHinge][kHinge] += by_hinge(body);
      ancestors<Robot, kHinge>([&](auto above) {
        constexpr int a = above;
        if constexpr (a >= kHinges) hessian.at[kHinge][a] += by_hinge(Index<a - kHinges>{});
        if constexpr (a == kZ) hessian.at[kHinge][a] += by_z;
        if constexpr (a == kX) hessian.at[kHinge][a] += by_x;
      });
      if constexpr (kParent >= 0) {
        xx[kParent] += xx[b];
        xz[kParent] += xz[b];
        zz[kParent] += zz[b];
        xt[kParent] += xt[b];
        zt[kParent] += zt[b];
        tt[kParent] += tt[b];
      }
    });
    hessian.at[kX][kX] += xx[0];
    hessian.at[kZ][kX] += xz[0];
    hessian.at[kZ][kZ] += zz[0];
    limits([&](auto dof, Real direction, const Soft<Real>& soft) {
      Real value = direction * (accelerations[dof] + Real(Robot::limit_damping) * v_[dof]) + soft.offset;
      if (value < 0) {
        active |= 1ull << (3 * Robot::points + dof);
        gradient[dof] += direction * soft.weight * value;
        hessian.at[dof][dof] += soft.weight;
      }
    });
    return active;
  }

  // The costs' slope at `accelerations + step * direction`, along the direction.
  ROBOT_INLINE Slope<Real> slope(const Real* accelerations, const Real* direction, Real step) const {
    Real rates[Robot::dofs];
    damped(accelerations, rates);
    Twists<Robot, Real> twists = twists_of(pose_, rates), along = twists_of(pose_, direction);
    Slope<Real> slope{0, 0, 0};
    contacts([&](auto point, Real x, Real z, const Soft<Real>& soft) {
      constexpr int p = point, b = Robot::point_body(p);
      constexpr Real kFriction = Real(Robot::point_friction(p));
      const Twist<Real>&t = twists.of[b], &d = along.of[b];
      Real faster = d.z - d.turn * x, faster_sliding = kFriction * (d.x + d.turn * z);
      Real normal = t.z - t.turn * x + soft.offset + step * faster;
      Real sliding = kFriction * (t.x + t.turn * z) + step * faster_sliding;
      auto add = [&](Real weight, Real value, Real rate) {
        if (value < 0) {
          slope.first += weight * value * rate;
          slope.second += weight * rate * rate;
        }
      };
      add(2 * soft.weight, normal, faster);
      add(soft.weight, normal + sliding, faster + faster_sliding);
      add(soft.weight, normal - sliding, faster - faster_sliding);
      slope.active |= bits(normal, sliding) << (3 * p);
    });
    limits([&](auto dof, Real sign, const Soft<Real>& soft) {
      Real rate = sign * direction[dof];
      Real value =
          sign * (accelerations[dof] + Real(Robot::limit_damping) * v_[dof]) + soft.offset + step * rate;
      if (value < 0) {
        slope.first += soft.weight * value * rate;
        slope.second += soft.weight * rate * rate;
        slope.active |= 1ull << (3 * Robot::points + dof);
      }
    });
    return slope;
  }

  // Calls a function with each point that touches the floor, where that is, and how soft.
  template <class Function>
  ROBOT_INLINE void contacts(const Function& function) const {
    upwards<0, Robot::points>([&](auto point) {
      constexpr int p = point, b = Robot::point_body(p);
      constexpr Real kAlongX = Real(Robot::point_x(p)), kAlongZ = Real(Robot::point_z(p));
      Real lowest = pose_.z[b] + pose_.template along_z<b>(kAlongX, kAlongZ) - Real(Robot::point_radius(p));
      Real gap = pose_.height + lowest;
      if (gap < 0) {
        // MuJoCo has a contact halfway between the floor and the capsule. Four costs make a pyramid: two of them are the
        // normal, as nothing moves sideways.
        constexpr double kSquare = Robot::point_friction(p) * Robot::point_friction(p);
        Soft<Real> soft = softened(gap, Real(Robot::contact_stiffness),
                                   Real(Robot::contact_least), Real(Robot::contact_most), Real(Robot::contact_width),
                                   Real(2 * kSquare * (1 + kSquare) * Robot::point_weight(p)));
        function(point, pose_.x[b] + pose_.template along_x<b>(kAlongX, kAlongZ), lowest - gap / 2, soft);
      }
    });
  }

 private:
  static ROBOT_INLINE unsigned long long bits(Real normal, Real sliding) {
    return (normal < 0) | (normal + sliding < 0) << 1 | (normal - sliding < 0) << 2;
  }

  // Calls a function with each degree of freedom beyond a limit, in which direction it is pushed back, and how softly.
  template <class Function>
  ROBOT_INLINE void limits(const Function& function) const {
    upwards<0, Robot::dofs>([&](auto dof) {
      constexpr int d = dof;
      if constexpr (Robot::is_limited(d)) {
        Real above = q_[d] - Real(Robot::low(d)), below = Real(Robot::high(d)) - q_[d];
        bool is_low = above < 0;
        Real distance = is_low ? above : below;
        if (distance < 0) {
          function(dof, is_low ? Real(1) : Real(-1),
                   softened(distance, Real(Robot::limit_stiffness), Real(Robot::limit_least), Real(Robot::limit_most),
                            Real(Robot::limit_width), Real(Robot::limit_weight(d))));
        }
      }
    });
  }

  const Pose<Robot, Real>& pose_;
  const Real *q_, *v_;
};

constexpr int kMostIterations = 20, kMostSearches = 8;

// Finds the accelerations that cost least: half the square of how far they are from the given ones, which the robot would
// have without constraints, by the mass matrix, and what the constraints cost. By Newton's method with an exact search
// along each direction. Where the same costs count before and after a whole step, that step is exact. Returns how many
// steps it took.
template <class Robot, class Real>
ROBOT_INLINE int constrain(const Matrix<Robot, Real>& mass, const Constraints<Robot, Real>& constraints, Real* accelerations) {
  constexpr int n = Robot::dofs;
  Real change[n], gradient[n], direction[n], along[n];  // change: from the given accelerations
  upwards<0, n>([&](auto dof) { change[dof] = 0; });
  ROBOT_LOOP for (int iteration = 0; iteration < kMostIterations; iteration++) {
    Matrix<Robot, Real> hessian = mass;
    multiply(mass, change, gradient);
    unsigned long long active = constraints.add_derivatives(accelerations, gradient, hessian);
    if (active == 0 && iteration == 0) return 0;
    factor(hessian);
    upwards<0, n>([&](auto dof) { direction[dof] = -gradient[dof]; });
    solve(hessian, direction);
    multiply(mass, direction, along);
    Real begin = 0, linear = 0, square = 0;
    upwards<0, n>([&](auto dof) {
      begin += gradient[dof] * direction[dof];
      linear += change[dof] * along[dof];
      square += direction[dof] * along[dof];
    });
    Real step = 1, low = 0, high = -1;  // high: unknown
    Slope<Real> slope = constraints.slope(accelerations, direction, step);
    bool is_exact = slope.active == active;
    ROBOT_LOOP for (int search = 0; !is_exact && search < kMostSearches; search++) {
      Real first = linear + step * square + slope.first;
      if (first < Real(1e-3) * -begin && first > Real(1e-3) * begin) break;
      (first < 0 ? low : high) = step;
      step -= first / (square + slope.second);
      if (high >= 0 && (step <= low || step >= high)) step = (low + high) / 2;
      slope = constraints.slope(accelerations, direction, step);
    }
    upwards<0, n>([&](auto dof) {
      change[dof] += step * direction[dof];
      accelerations[dof] += step * direction[dof];
    });
    if (is_exact) return iteration + 1;
  }
  return kMostIterations;
}

// Takes one physics step, Euler's, implicit in the joints' damping. Returns Newton's iterations.
template <class Robot, class Real>
ROBOT_INLINE int step(State<Robot, Real>& state, const Real* actions) {
  constexpr int n = Robot::dofs;
  constexpr Real kSeconds = Real(Robot::timestep);
  Pose<Robot, Real> pose = pose_of<Robot>(state.q);
  Matrix<Robot, Real> mass = mass_matrix(pose);
  Real forces[n], accelerations[n];
  bias_of(pose, state.v, forces);
  upwards<0, n>([&](auto dof) {
    constexpr int d = dof;
    forces[d] = -forces[d] - Real(Robot::damping(d)) * state.v[d] -
                Real(Robot::stiffness(d)) * (state.q[d] - Real(Robot::rest(d)));
  });
  upwards<0, Robot::motors>([&](auto motor) {
    Real action = actions[motor] < -1 ? Real(-1) : actions[motor] > 1 ? Real(1) : actions[motor];
    forces[Robot::motor(motor)] += Real(Robot::gear(motor)) * action;
  });
  Matrix<Robot, Real> factored = mass;
  factor(factored);
  upwards<0, n>([&](auto dof) { accelerations[dof] = forces[dof]; });
  solve(factored, accelerations);
  int iterations = constrain(mass, Constraints<Robot, Real>(pose, state.q, state.v), accelerations);

  multiply(mass, accelerations, forces);
  upwards<0, n>([&](auto dof) { mass.at[dof][dof] += kSeconds * Real(Robot::damping(dof)); });
  factor(mass);
  solve(mass, forces);
  upwards<0, n>([&](auto dof) {
    state.v[dof] += kSeconds * forces[dof];
    state.q[dof] += kSeconds * state.v[dof];
  });
  return iterations;
}

}  // namespace robots

#endif
