// A robot in space: where its bodies are, its mass matrix, the forces on it, and its contacts with the floor.
//
// The torso is free: three positions and a quaternion, from the torso's axes to the world's. Every other body hangs on one
// hinge. MuJoCo has the torso's angular velocity in the torso's axes; here it is in the world's, so that a body's motion
// is a twist: the velocity of a point of it that is at the torso's origin, and its angular velocity. The forces on it are a
// wrench: their sum and their torque about that same place. All places are counted from there.
#ifndef SPATIAL_H
#define SPATIAL_H

namespace robots {

constexpr int kX = 0, kZ = 2, kQuaternion = 3, kTurns = 3;  // positions, and the torso's angular velocity

template <class Real>
struct Vector {
  Real x, y, z;
};
template <class Real>
ROBOT_INLINE Vector<Real> operator+(const Vector<Real>& a, const Vector<Real>& b) {
  return {a.x + b.x, a.y + b.y, a.z + b.z};
}
template <class Real>
ROBOT_INLINE Vector<Real> operator*(Real factor, const Vector<Real>& a) {
  return {factor * a.x, factor * a.y, factor * a.z};
}
template <class Real>
ROBOT_INLINE Real dot(const Vector<Real>& a, const Vector<Real>& b) {
  return a.x * b.x + a.y * b.y + a.z * b.z;
}
template <class Real>
ROBOT_INLINE Vector<Real> cross(const Vector<Real>& a, const Vector<Real>& b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

template <class Real>
struct Symmetric {
  Real xx, yy, zz, xy, xz, yz;
};
template <class Real>
ROBOT_INLINE Symmetric<Real> operator+(const Symmetric<Real>& a, const Symmetric<Real>& b) {
  return {a.xx + b.xx, a.yy + b.yy, a.zz + b.zz, a.xy + b.xy, a.xz + b.xz, a.yz + b.yz};
}
template <class Real>
ROBOT_INLINE Vector<Real> operator*(const Symmetric<Real>& m, const Vector<Real>& a) {
  return {m.xx * a.x + m.xy * a.y + m.xz * a.z, m.xy * a.x + m.yy * a.y + m.yz * a.z,
          m.xz * a.x + m.yz * a.y + m.zz * a.z};
}

// Where a body's axes point.
template <class Real>
struct Rotation {
  Vector<Real> x, y, z;

  ROBOT_INLINE Vector<Real> turned(const Vector<Real>& a) const { return a.x * x + a.y * y + a.z * z; }
  ROBOT_INLINE Vector<Real> turned_back(const Vector<Real>& a) const { return {dot(x, a), dot(y, a), dot(z, a)}; }
};

template <class Real>
struct Twist {
  Vector<Real> v, turn;
};
template <class Real>
struct Wrench {
  Vector<Real> force, torque;
};

// Where the bodies are.
template <class Robot, class Real>
struct Pose {
  Rotation<Real> axes[Robot::bodies];
  Vector<Real> place[Robot::bodies];  // of the hinge
  Twist<Real> hinge[Robot::bodies];   // of a body that turns about its hinge by 1; the torso has none
  Real height;                        // of the torso's origin above the floor

  template <int kBody>
  ROBOT_INLINE Vector<Real> at(double x, double y, double z) const {
    return place[kBody] + axes[kBody].turned({Real(x), Real(y), Real(z)});
  }
};

template <class Robot, class Real>
ROBOT_INLINE Pose<Robot, Real> pose_of(const Real* q) {
  Pose<Robot, Real> pose;
  pose.height = q[kZ];
  Real w = q[kQuaternion], x = q[kQuaternion + 1], y = q[kQuaternion + 2], z = q[kQuaternion + 3];
  pose.axes[0] = {{1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)},
                  {2 * (x * y - w * z), 1 - 2 * (x * x + z * z), 2 * (y * z + w * x)},
                  {2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)}};
  pose.place[0] = {0, 0, 0};
  upwards<1, Robot::bodies>([&](auto body) {
    constexpr int b = body, kParent = Robot::parent(b), kPlace = position<Robot>(Robot::hinges + b);
    const Rotation<Real>& above = pose.axes[kParent];
    Vector<Real> axis = above.turned({Real(Robot::axis_x(b)), Real(Robot::axis_y(b)), Real(Robot::axis_z(b))});
    Real sine, cosine;
    sine_cosine(q[kPlace] - Real(Robot::start(kPlace)), sine, cosine);
    auto turned = [&](const Vector<Real>& a) {
      return cosine * a + sine * cross(axis, a) + ((1 - cosine) * dot(axis, a)) * axis;
    };
    pose.axes[b].x = turned(above.x);
    pose.axes[b].y = turned(above.y);
    pose.axes[b].z = cross(pose.axes[b].x, pose.axes[b].y);
    pose.place[b] = pose.template at<kParent>(Robot::offset_x(b), Robot::offset_y(b), Robot::offset_z(b));
    pose.hinge[b] = {cross(pose.place[b], axis), axis};
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
  twists.of[0] = {{rates[0], rates[1], rates[2]}, {rates[kTurns], rates[kTurns + 1], rates[kTurns + 2]}};
  upwards<1, Robot::bodies>([&](auto body) {
    constexpr int b = body;
    const Twist<Real>&above = twists.of[Robot::parent(b)], &hinge = pose.hinge[b];
    Real rate = rates[Robot::hinges + b];
    twists.of[b] = {above.v + rate * hinge.v, above.turn + rate * hinge.turn};
  });
  return twists;
}

// The force of a wrench along a twist.
template <class Real>
ROBOT_INLINE Real along(const Twist<Real>& twist, const Wrench<Real>& wrench) {
  return dot(twist.v, wrench.force) + dot(twist.turn, wrench.torque);
}

// Calls a function with each of the torso's degrees of freedom and the force of a wrench along it.
template <class Real, class Function>
ROBOT_INLINE void along_torso(const Wrench<Real>& wrench, const Function& function) {
  const Vector<Real>&force = wrench.force, &torque = wrench.torque;
  function(0, force.x);
  function(1, force.y);
  function(2, force.z);
  function(kTurns, torque.x);
  function(kTurns + 1, torque.y);
  function(kTurns + 2, torque.z);
}

// The forces on the degrees of freedom that wrenches on the bodies amount to; adds the wrench of each body to its parent's.
template <class Robot, class Real>
ROBOT_INLINE void add_forces(const Pose<Robot, Real>& pose, Wrench<Real>* wrenches, Real* forces) {
  downwards<Robot::bodies - 1>([&](auto body) {
    constexpr int b = body;
    const Wrench<Real>& wrench = wrenches[b];
    if constexpr (b > 0) {
      forces[Robot::hinges + b] += along(pose.hinge[b], wrench);
      Wrench<Real>& above = wrenches[Robot::parent(b)];
      above = {above.force + wrench.force, above.torque + wrench.torque};
    } else {
      along_torso(wrench, [&](int dof, Real force) { forces[dof] += force; });
    }
  });
}

// A body's mass, and its first and second moment about the torso's origin.
template <class Real>
struct Inertia {
  Real mass;
  Vector<Real> first;
  Symmetric<Real> second;

  // The momentum of a twist.
  ROBOT_INLINE Wrench<Real> times(const Twist<Real>& t) const {
    return {mass * t.v + cross(t.turn, first), cross(first, t.v) + second * t.turn};
  }
};
template <int kBody, class Robot, class Real>
ROBOT_INLINE Inertia<Real> inertia_of(const Pose<Robot, Real>& pose) {
  constexpr int b = kBody;
  constexpr Symmetric<Real> kOwn{Real(Robot::inertia_xx(b)), Real(Robot::inertia_yy(b)), Real(Robot::inertia_zz(b)),
                                 Real(Robot::inertia_xy(b)), Real(Robot::inertia_xz(b)), Real(Robot::inertia_yz(b))};
  constexpr Real kMass = Real(Robot::mass(b));
  const Rotation<Real>& axes = pose.axes[b];
  Vector<Real> c = pose.template at<b>(Robot::centre_x(b), Robot::centre_y(b), Robot::centre_z(b));
  // The rows of the body's own second moment about its centre, in the axes of the world.
  auto row = [&](Real x, Real y, Real z) { return axes.turned(kOwn * Vector<Real>{x, y, z}); };
  Vector<Real> x = row(axes.x.x, axes.y.x, axes.z.x), y = row(axes.x.y, axes.y.y, axes.z.y);
  Vector<Real> z = row(axes.x.z, axes.y.z, axes.z.z);
  return {kMass,
          kMass * c,
          {x.x + kMass * (c.y * c.y + c.z * c.z), y.y + kMass * (c.x * c.x + c.z * c.z),
           z.z + kMass * (c.x * c.x + c.y * c.y), x.y - kMass * c.x * c.y, x.z - kMass * c.x * c.z,
           y.z - kMass * c.y * c.z}};
}

// The mass matrix, with the armature of the hinges: of each body with all that hangs on it, the momentum when it turns.
template <class Robot, class Real>
ROBOT_INLINE Matrix<Robot, Real> mass_matrix(const Pose<Robot, Real>& pose) {
  Matrix<Robot, Real> matrix;
  Inertia<Real> inertias[Robot::bodies];
  upwards<0, Robot::bodies>([&](auto body) { inertias[body] = inertia_of<body>(pose); });
  downwards<Robot::bodies - 1>([&](auto body) {
    constexpr int b = body, kHinge = Robot::hinges + b;
    const Inertia<Real>& own = inertias[b];
    if constexpr (b > 0) {
      Wrench<Real> momentum = own.times(pose.hinge[b]);
      matrix.at[kHinge][kHinge] = along(pose.hinge[b], momentum) + Real(Robot::armature(kHinge));
      ancestors<Robot, kHinge>([&](auto above) {
        if constexpr (above > Robot::hinges) matrix.at[kHinge][above] = along(pose.hinge[above - Robot::hinges], momentum);
      });
      along_torso(momentum, [&](int dof, Real part) { matrix.at[kHinge][dof] = part; });
      Inertia<Real>& above = inertias[Robot::parent(b)];
      above = {above.mass + own.mass, above.first + own.first, above.second + own.second};
    }
  });
  const Vector<Real>& first = inertias[0].first;
  const Symmetric<Real>& second = inertias[0].second;
  Real torso[6][6] = {{inertias[0].mass},
                      {0, inertias[0].mass},
                      {0, 0, inertias[0].mass},
                      {0, -first.z, first.y, second.xx},
                      {first.z, 0, -first.x, second.xy, second.yy},
                      {-first.y, first.x, 0, second.xz, second.yz, second.zz}};
  upwards<0, 6>([&](auto row) { upwards<0, row + 1>([&](auto column) { matrix.at[row][column] = torso[row][column]; }); });
  return matrix;
}

// The forces that keep the robot's accelerations zero, against gravity and what its turning bodies pull: MuJoCo's qfrc_bias.
// Nothing depends on how fast the torso moves as a whole, so its origin stands still here.
template <class Robot, class Real>
ROBOT_INLINE void bias_of(const Pose<Robot, Real>& pose, const Real* speeds, Real* bias) {
  Twist<Real> twists[Robot::bodies], pulls[Robot::bodies];  // pulls: accelerations
  Wrench<Real> wrenches[Robot::bodies];
  twists[0] = {{0, 0, 0}, {speeds[kTurns], speeds[kTurns + 1], speeds[kTurns + 2]}};
  pulls[0] = {{0, 0, Real(Robot::gravity)}, {0, 0, 0}};
  upwards<0, Robot::bodies>([&](auto body) {
    constexpr int b = body;
    if constexpr (b > 0) {
      const Twist<Real>&above = twists[Robot::parent(b)], &pull = pulls[Robot::parent(b)];
      Real speed = speeds[Robot::hinges + b];
      Vector<Real> v = speed * pose.hinge[b].v, turn = speed * pose.hinge[b].turn;
      twists[b] = {above.v + v, above.turn + turn};
      pulls[b] = {pull.v + cross(above.turn, v) + cross(above.v, turn), pull.turn + cross(above.turn, turn)};
    }
    Inertia<Real> inertia = inertia_of<b>(pose);
    Wrench<Real> momentum = inertia.times(twists[b]), force = inertia.times(pulls[b]);
    const Twist<Real>& t = twists[b];
    wrenches[b] = {force.force + cross(t.turn, momentum.force),
                   force.torque + cross(t.turn, momentum.torque) + cross(t.v, momentum.force)};
  });
  upwards<0, Robot::dofs>([&](auto dof) { bias[dof] = 0; });
  add_forces(pose, wrenches, bias);
}

// Second derivatives by a body's twist: by its velocity, by velocity (rows x, y, z) and turn, and by its turn.
template <class Real>
struct Curvature {
  Symmetric<Real> vv;
  Vector<Real> x, y, z;
  Symmetric<Real> tt;

  ROBOT_INLINE Wrench<Real> times(const Twist<Real>& t) const {
    return {vv * t.v + Vector<Real>{dot(x, t.turn), dot(y, t.turn), dot(z, t.turn)},
            t.v.x * x + t.v.y * y + t.v.z * z + tt * t.turn};
  }
};
template <class Real>
ROBOT_INLINE Curvature<Real> operator+(const Curvature<Real>& a, const Curvature<Real>& b) {
  return {a.vv + b.vv, a.x + b.x, a.y + b.y, a.z + b.z, a.tt + b.tt};
}

// Of a function of a place's velocity.
template <class Real>
ROBOT_INLINE Curvature<Real> curvature_at(const Vector<Real>& place, const Symmetric<Real>& by) {
  Vector<Real> x = cross(place, Vector<Real>{by.xx, by.xy, by.xz}), y = cross(place, Vector<Real>{by.xy, by.yy, by.yz});
  Vector<Real> z = cross(place, Vector<Real>{by.xz, by.yz, by.zz});
  Vector<Real> tx = cross(place, Vector<Real>{x.x, y.x, z.x}), ty = cross(place, Vector<Real>{x.y, y.y, z.y});
  Vector<Real> tz = cross(place, Vector<Real>{x.z, y.z, z.z});
  return {by, x, y, z, {tx.x, ty.y, tz.z, tx.y, tx.z, ty.z}};
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
    Curvature<Real> curvatures[Robot::bodies];
    upwards<0, Robot::bodies>([&](auto b) {
      wrenches[b] = {};
      curvatures[b] = {};
    });
    bool is_any = false;
    touching([&](auto point, const Contact& at) {
      constexpr int p = point, b = Robot::point_body(p);
      constexpr Real kFriction = Real(Robot::point_friction(p));
      Sliding now = at.template sliding<p>(twists.of[b]);
      Real normal = now.normal + at.soft.offset;
      auto weighed = [&](Real value) { return value < 0 ? at.soft.weight : Real(0); };
      Real ahead = weighed(normal + now.ahead), behind = weighed(normal - now.ahead);
      Real left = weighed(normal + now.left), right = weighed(normal - now.left);
      is_any = is_any || ahead + behind + left + right > 0;
      Real force_ahead = kFriction * (ahead * (normal + now.ahead) - behind * (normal - now.ahead));
      Real force_left = kFriction * (left * (normal + now.left) - right * (normal - now.left));
      Vector<Real> force{force_ahead * at.x - force_left * at.y, force_ahead * at.y + force_left * at.x,
                         ahead * (normal + now.ahead) + behind * (normal - now.ahead) + left * (normal + now.left) +
                             right * (normal - now.left)};
      Wrench<Real>& wrench = wrenches[b];
      wrench = {wrench.force + force, wrench.torque + cross(at.place, force)};
      // Of the velocity ahead, to the left and upwards; then in the axes of the world.
      Real aa = kFriction * kFriction * (ahead + behind), ll = kFriction * kFriction * (left + right);
      Real an = kFriction * (ahead - behind), ln = kFriction * (left - right);
      Symmetric<Real> by{aa * at.x * at.x + ll * at.y * at.y,
                         aa * at.y * at.y + ll * at.x * at.x,
                         ahead + behind + left + right,
                         (aa - ll) * at.x * at.y,
                         an * at.x - ln * at.y,
                         an * at.y + ln * at.x};
      curvatures[b] = curvatures[b] + curvature_at(at.place, by);
    });
    add_forces(pose_, wrenches, gradient);
    add_curvatures(curvatures, hessian);
    return is_any;
  }

  // Adds the costs' slope at `rates + step * direction`, along the direction.
  ROBOT_INLINE void add_slope(const Real* rates, const Real* direction, Real step, Slope<Real>& slope) const {
    Twists<Robot, Real> twists = twists_of(pose_, rates), directions = twists_of(pose_, direction);
    touching([&](auto point, const Contact& at) {
      constexpr int p = point, b = Robot::point_body(p);
      Sliding now = at.template sliding<p>(twists.of[b]), faster = at.template sliding<p>(directions.of[b]);
      Real normal = now.normal + at.soft.offset;
      slope.add(at.soft.weight, normal + now.ahead, faster.normal + faster.ahead, step);
      slope.add(at.soft.weight, normal - now.ahead, faster.normal - faster.ahead, step);
      slope.add(at.soft.weight, normal + now.left, faster.normal + faster.left, step);
      slope.add(at.soft.weight, normal - now.left, faster.normal - faster.left, step);
    });
  }

 private:
  struct Sliding {
    Real normal, ahead, left;  // upwards, and friction times the speed in both directions
  };

  // Four costs make a pyramid, whose sides face ahead, behind, left and right.
  struct Contact {
    Vector<Real> place;
    Real x, y;  // where ahead is, along the floor
    Soft<Real> soft;

    template <int kPoint>
    ROBOT_INLINE Sliding sliding(const Twist<Real>& body) const {
      constexpr Real kFriction = Real(Robot::point_friction(kPoint));
      Vector<Real> v = body.v + cross(body.turn, place);
      return {v.z, kFriction * (v.x * x + v.y * y), kFriction * (v.y * x - v.x * y)};
    }
  };

  // Calls a function with each point that touches the floor. MuJoCo has a contact halfway between the floor and the sphere
  // or the end of a capsule. Of a capsule, ahead is where its axis points.
  template <class Function>
  ROBOT_INLINE void touching(const Function& function) const {
    upwards<0, Robot::points>([&](auto point) {
      constexpr int p = point, b = Robot::point_body(p);
      Vector<Real> place = pose_.template at<b>(Robot::point_x(p), Robot::point_y(p), Robot::point_z(p));
      place.z -= Real(Robot::point_radius(p));
      Real gap = pose_.height + place.z;
      if (gap < 0) {
        Vector<Real> ahead{0, 1, 0};
        if constexpr (Robot::is_capsule(p)) {
          ahead = pose_.axes[b].turned({Real(Robot::ahead_x(p)), Real(Robot::ahead_y(p)), Real(Robot::ahead_z(p))});
        }
        Real square = ahead.x * ahead.x + ahead.y * ahead.y, shrink = square > 0 ? 1 / sqrt(square) : Real(0);
        place.z -= gap / 2;
        function(point, Contact{place, shrink * ahead.x, shrink * ahead.y, softened_contact<Robot, p>(gap)});
      }
    });
  }

  // Adds second derivatives by the degrees of freedom; adds those of each body to its parent's.
  ROBOT_INLINE void add_curvatures(Curvature<Real>* curvatures, Matrix<Robot, Real>& hessian) const {
    downwards<Robot::bodies - 1>([&](auto body) {
      constexpr int b = body, kHinge = Robot::hinges + b;
      if constexpr (b > 0) {
        Wrench<Real> by_hinge = curvatures[b].times(pose_.hinge[b]);
        hessian.at[kHinge][kHinge] += along(pose_.hinge[b], by_hinge);
        ancestors<Robot, kHinge>([&](auto above) {
          if constexpr (above > Robot::hinges) {
            hessian.at[kHinge][above] += along(pose_.hinge[above - Robot::hinges], by_hinge);
          }
        });
        along_torso(by_hinge, [&](int dof, Real part) { hessian.at[kHinge][dof] += part; });
        Curvature<Real>& above = curvatures[Robot::parent(b)];
        above = above + curvatures[b];
      }
    });
    const Curvature<Real>& of = curvatures[0];
    const Symmetric<Real>&v = of.vv, &t = of.tt;
    Real torso[6][6] = {{v.xx},
                        {v.xy, v.yy},
                        {v.xz, v.yz, v.zz},
                        {of.x.x, of.y.x, of.z.x, t.xx},
                        {of.x.y, of.y.y, of.z.y, t.xy, t.yy},
                        {of.x.z, of.y.z, of.z.z, t.xz, t.yz, t.zz}};
    upwards<0, 6>(
        [&](auto row) { upwards<0, row + 1>([&](auto column) { hessian.at[row][column] += torso[row][column]; }); });
  }

  const Pose<Robot, Real>& pose_;
};

// Speeds as the equations here have them: the torso turns about the world's axes.
template <class Robot, class Real>
ROBOT_INLINE void speeds_of(const Pose<Robot, Real>& pose, const Real* v, Real* speeds) {
  upwards<0, Robot::dofs>([&](auto dof) { speeds[dof] = v[dof]; });
  Vector<Real> turn = pose.axes[0].turned({v[kTurns], v[kTurns + 1], v[kTurns + 2]});
  speeds[kTurns] = turn.x;
  speeds[kTurns + 1] = turn.y;
  speeds[kTurns + 2] = turn.z;
}

// Makes positions valid: a quaternion of length 1.
template <class Robot, class Real>
ROBOT_INLINE void normalize(Real* q) {
  Real square = 0;
  upwards<0, 4>([&](auto i) { square += q[kQuaternion + i] * q[kQuaternion + i]; });
  Real shrink = 1 / sqrt(square);
  upwards<0, 4>([&](auto i) { q[kQuaternion + i] *= shrink; });
}

// Moves the robot for `seconds` at these speeds; the torso turns about an axis that stays.
template <class Robot, class Real>
ROBOT_INLINE void move(State<Robot, Real>& state, const Pose<Robot, Real>& pose, const Real* speeds, Real seconds) {
  upwards<0, Robot::dofs>([&](auto dof) { state.v[dof] = speeds[dof]; });
  Vector<Real> turn = pose.axes[0].turned_back({speeds[kTurns], speeds[kTurns + 1], speeds[kTurns + 2]});
  state.v[kTurns] = turn.x;
  state.v[kTurns + 1] = turn.y;
  state.v[kTurns + 2] = turn.z;
  upwards<0, kTurns>([&](auto dof) { state.q[dof] += seconds * speeds[dof]; });
  upwards<Robot::hinges + 1, Robot::dofs>([&](auto dof) { state.q[position<Robot>(dof)] += seconds * speeds[dof]; });

  Real rate = sqrt(dot(turn, turn)), sine, cosine;
  sine_cosine(seconds * rate / 2, sine, cosine);
  Vector<Real> by = (rate > 0 ? sine / rate : Real(0)) * turn;
  Real* q = state.q + kQuaternion;
  Real w = q[0];
  Vector<Real> u{q[1], q[2], q[3]}, crossed = cross(u, by);
  q[0] = w * cosine - dot(u, by);
  q[1] = w * by.x + cosine * u.x + crossed.x;
  q[2] = w * by.y + cosine * u.y + crossed.y;
  q[3] = w * by.z + cosine * u.z + crossed.z;
  normalize<Robot>(state.q);
}

// The angle between the torso's upward axis and the world's.
template <class Robot, class Real>
ROBOT_INLINE Real tilt(const Real* q) {
  return acos(1 - 2 * (q[kQuaternion + 1] * q[kQuaternion + 1] + q[kQuaternion + 2] * q[kQuaternion + 2]));
}

}  // namespace robots

#endif
