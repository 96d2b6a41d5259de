// A planar robot: where its bodies are, its mass matrix, the forces on it, and its contacts with the floor.
//
// Positions and speeds are those of two slides, x and z, and of a hinge for each body. A body's motion is a twist: the
// velocity of a point of it that is at the torso's hinge, and its angular velocity. The forces on it are a wrench: their
// sum and their torque about that same place. x does not matter to a robot on a floor, so that place is the origin of all
// coordinates but the height.
#ifndef PLANAR_H
#define PLANAR_H

namespace robots {

constexpr int kX = 0, kZ = 1, kHinges = 2;  // degrees of freedom; body b's hinge is kHinges + b

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
// The contacts of a robot in one position. `rates` are accelerations, to each of which contact_damping times its speed was
// added, so that what is constrained is linear in them.
template <class Robot, class Real>
class Contacts {
 public:
  ROBOT_INLINE explicit Contacts(const Pose<Robot, Real>& pose) : pose_(pose) {}

  // Adds the costs' gradient and second derivatives; returns whether any cost counts.
  ROBOT_INLINE bool add_derivatives(const Real* rates, Real* gradient, Matrix<Robot, Real>& hessian) const {
    Twists<Robot, Real> twists = twists_of(pose_, rates);
    Wrench<Real> wrenches[Robot::bodies];
    Real xx[Robot::bodies], zz[Robot::bodies], tt[Robot::bodies];  // second derivatives by a body's twist
    Real xz[Robot::bodies], xt[Robot::bodies], zt[Robot::bodies];
    upwards<0, Robot::bodies>([&](auto b) {
      wrenches[b] = {0, 0, 0};
      xx[b] = zz[b] = tt[b] = xz[b] = xt[b] = zt[b] = 0;
    });
    bool is_any = false;
    touching([&](auto point, Real x, Real z, const Soft<Real>& soft) {
      constexpr int p = point, b = Robot::point_body(p);
      constexpr Real kFriction = Real(Robot::point_friction(p));
      const Twist<Real>& t = twists.of[b];
      Real normal = t.z - t.turn * x + soft.offset, sliding = kFriction * (t.x + t.turn * z);
      Real middle = normal < 0 ? 2 * soft.weight : Real(0);
      Real right = normal + sliding < 0 ? soft.weight : Real(0);
      Real left = normal - sliding < 0 ? soft.weight : Real(0);
      is_any = is_any || middle + right + left > 0;
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
    return is_any;
  }

  // Adds the costs' slope at `rates + step * direction`, along the direction.
  ROBOT_INLINE void add_slope(const Real* rates, const Real* direction, Real step, Slope<Real>& slope) const {
    Twists<Robot, Real> twists = twists_of(pose_, rates), along = twists_of(pose_, direction);
    touching([&](auto point, Real x, Real z, const Soft<Real>& soft) {
      constexpr int p = point, b = Robot::point_body(p);
      constexpr Real kFriction = Real(Robot::point_friction(p));
      const Twist<Real>&t = twists.of[b], &d = along.of[b];
      Real faster = d.z - d.turn * x, faster_sliding = kFriction * (d.x + d.turn * z);
      Real normal = t.z - t.turn * x + soft.offset, sliding = kFriction * (t.x + t.turn * z);
      slope.add(2 * soft.weight, normal, faster, step);
      slope.add(soft.weight, normal + sliding, faster + faster_sliding, step);
      slope.add(soft.weight, normal - sliding, faster - faster_sliding, step);
    });
  }

 private:
  // Calls a function with each point that touches the floor, where that is, and how soft. MuJoCo has a contact halfway
  // between the floor and the capsule. Four costs make a pyramid: two of them are the normal, as nothing moves sideways.
  template <class Function>
  ROBOT_INLINE void touching(const Function& function) const {
    upwards<0, Robot::points>([&](auto point) {
      constexpr int p = point, b = Robot::point_body(p);
      constexpr Real kAlongX = Real(Robot::point_x(p)), kAlongZ = Real(Robot::point_z(p));
      Real lowest = pose_.z[b] + pose_.template along_z<b>(kAlongX, kAlongZ) - Real(Robot::point_radius(p));
      Real gap = pose_.height + lowest;
      if (gap < 0) {
        function(point, pose_.x[b] + pose_.template along_x<b>(kAlongX, kAlongZ), lowest - gap / 2,
                 softened_contact<Robot, p>(gap));
      }
    });
  }

  const Pose<Robot, Real>& pose_;
};

// Speeds as the equations here have them, which are those of the state.
template <class Robot, class Real>
ROBOT_INLINE void speeds_of(const Pose<Robot, Real>&, const Real* v, Real* speeds) {
  upwards<0, Robot::dofs>([&](auto dof) { speeds[dof] = v[dof]; });
}

// Moves the robot for `seconds` at these speeds.
template <class Robot, class Real>
ROBOT_INLINE void move(State<Robot, Real>& state, const Pose<Robot, Real>&, const Real* speeds, Real seconds) {
  upwards<0, Robot::dofs>([&](auto dof) {
    state.v[dof] = speeds[dof];
    state.q[dof] += seconds * speeds[dof];
  });
}

// Makes positions valid; these always are.
template <class Robot, class Real>
ROBOT_INLINE void normalize(Real*) {}

// The angle of the torso.
template <class Robot, class Real>
ROBOT_INLINE Real tilt(const Real* q) {
  return q[kHinges];
}

}  // namespace robots

#endif
