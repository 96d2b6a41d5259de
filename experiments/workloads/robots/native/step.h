// One step of a robot as MuJoCo takes it. planar.h or spatial.h, which know its bodies and contacts, come before.
#ifndef STEP_H
#define STEP_H

namespace robots {

// The contacts and limits of a robot in one position.
template <class Robot, class Real>
class Constraints {
 public:
  ROBOT_INLINE Constraints(const Pose<Robot, Real>& pose, const Real* q, const Real* speeds)
      : contacts_(pose), q_(q), speeds_(speeds) {}

  // Adds the costs' gradient and second derivatives at these accelerations; returns whether any cost counts.
  ROBOT_INLINE bool add_derivatives(const Real* accelerations, Real* gradient, Matrix<Robot, Real>& hessian) const {
    Real rates[Robot::dofs];
    damped(accelerations, rates);
    bool is_any = contacts_.add_derivatives(rates, gradient, hessian);
    limits([&](auto dof, Real direction, const Soft<Real>& soft) {
      Real value = pushed(dof, accelerations, direction, soft);
      if (value < 0) {
        is_any = true;
        gradient[dof] += direction * soft.weight * value;
        hessian.at[dof][dof] += soft.weight;
      }
    });
    return is_any;
  }

  // The costs' slope at `accelerations + step * direction`, along the direction.
  ROBOT_INLINE Slope<Real> slope(const Real* accelerations, const Real* direction, Real step) const {
    Real rates[Robot::dofs];
    damped(accelerations, rates);
    Slope<Real> slope{0, 0, true};
    contacts_.add_slope(rates, direction, step, slope);
    limits([&](auto dof, Real sign, const Soft<Real>& soft) {
      slope.add(soft.weight, pushed(dof, accelerations, sign, soft), sign * direction[dof], step);
    });
    return slope;
  }

 private:
  ROBOT_INLINE void damped(const Real* accelerations, Real* rates) const {
    upwards<0, Robot::dofs>(
        [&](auto dof) { rates[dof] = accelerations[dof] + Real(Robot::contact_damping) * speeds_[dof]; });
  }

  ROBOT_INLINE Real pushed(int dof, const Real* accelerations, Real direction, const Soft<Real>& soft) const {
    return direction * (accelerations[dof] + Real(Robot::limit_damping) * speeds_[dof]) + soft.offset;
  }

  // Calls a function with each degree of freedom beyond a limit, in which direction it is pushed back, and how softly.
  template <class Function>
  ROBOT_INLINE void limits(const Function& function) const {
    upwards<0, Robot::dofs>([&](auto dof) {
      constexpr int d = dof;
      if constexpr (Robot::is_limited(d)) {
        Real at = q_[position<Robot>(d)], above = at - Real(Robot::low(d)), below = Real(Robot::high(d)) - at;
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

  const Contacts<Robot, Real> contacts_;
  const Real *q_, *speeds_;
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
    bool is_any = constraints.add_derivatives(accelerations, gradient, hessian);
    if (!is_any && iteration == 0) return 0;
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
    bool is_exact = slope.is_same;
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
  Real speeds[n], forces[n], accelerations[n];
  speeds_of(pose, state.v, speeds);
  bias_of(pose, speeds, forces);
  upwards<0, n>([&](auto dof) {
    constexpr int d = dof;
    forces[d] = -forces[d] - Real(Robot::damping(d)) * speeds[d];
    if constexpr (Robot::stiffness(d) != 0) {
      forces[d] -= Real(Robot::stiffness(d)) * (state.q[position<Robot>(d)] - Real(Robot::rest(d)));
    }
  });
  upwards<0, Robot::motors>([&](auto motor) {
    Real action = actions[motor] < -1 ? Real(-1) : actions[motor] > 1 ? Real(1) : actions[motor];
    forces[Robot::motor(motor)] += Real(Robot::gear(motor)) * action;
  });
  Matrix<Robot, Real> factored = mass;
  factor(factored);
  upwards<0, n>([&](auto dof) { accelerations[dof] = forces[dof]; });
  solve(factored, accelerations);
  int iterations = constrain(mass, Constraints<Robot, Real>(pose, state.q, speeds), accelerations);

  multiply(mass, accelerations, forces);
  upwards<0, n>([&](auto dof) { mass.at[dof][dof] += kSeconds * Real(Robot::damping(dof)); });
  factor(mass);
  solve(mass, forces);
  upwards<0, n>([&](auto dof) { speeds[dof] += kSeconds * forces[dof]; });
  move(state, pose, speeds, kSeconds);
  return iterations;
}

}  // namespace robots

#endif
