// A soft constraint as MuJoCo has it: how much a contact or a limit costs, and how that changes along a line.
#ifndef SOFT_H
#define SOFT_H

namespace robots {

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

// How soft a point's contact with the floor is, for a pyramid of four costs.
template <class Robot, int kPoint, class Real>
ROBOT_INLINE Soft<Real> softened_contact(Real gap) {
  constexpr double kSquare = Robot::point_friction(kPoint) * Robot::point_friction(kPoint);
  return softened(gap, Real(Robot::contact_stiffness), Real(Robot::contact_least), Real(Robot::contact_most),
                  Real(Robot::contact_width), Real(2 * kSquare * (1 + kSquare) * Robot::point_weight(kPoint)));
}

// How one-sided quadratic costs change along a line: their first and second derivative, and whether those count that
// counted where the line begins.
template <class Real>
struct Slope {
  Real first, second;
  bool is_same;

  // Adds weight / 2 * value² where the value is negative; `begin` is the value where the line begins, and `rate` is how
  // fast it grows.
  ROBOT_INLINE void add(Real weight, Real begin, Real rate, Real step) {
    Real value = begin + step * rate;
    is_same = is_same && (value < 0) == (begin < 0);
    if (value < 0) {
      first += weight * value * rate;
      second += weight * rate * rate;
    }
  }
};

}  // namespace robots

#endif
