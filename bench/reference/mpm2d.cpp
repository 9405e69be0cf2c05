// B6: the substeps of mpm88 (water) and mpm99 (water, jelly and snow) in 2-D. Variant 0 scatters
// with atomic additions; variant 1 keeps the particles in the order of slabs, which each step
// renews, and scatters slabs in two colours.
#include "reference.h"
#include "slabs.h"

#include <atomic>
#include <cmath>
#include <cstring>
#include <utility>

namespace {

struct Grid {
  int n;
  float dt;
  float inverse() const { return float(n); }
  float dx() const { return 1.0f / inverse(); }
  float mass() const { return 0.25f * dx() * dx(); } // and volume: the density is one
};

// What moves a particle of water by its volume; stressOf(grid) * identity is its share of the
// affine matrix.
struct Water {
  static constexpr float gravity = 9.8f;
  static constexpr bool fallsEmpty = true; // whether nodes without mass are moved, too
  float x[2], v[2], C[2][2], J;
  std::int32_t number; // in the order of the input

  Water() = default;
  Water(const void *const *inputs, std::int64_t p) : v{0, -1}, C{}, J(1), number(std::int32_t(p)) {
    std::memcpy(x, static_cast<const float *>(inputs[0]) + 2 * p, sizeof x);
  }

  void affine(const Grid &grid, float (*to)[2]) {
    float stress =
        -grid.dt * 4.0f * 400.0f * grid.mass() * (J - 1.0f) * grid.inverse() * grid.inverse();
    for (int d = 0; d < 2; ++d)
      for (int e = 0; e < 2; ++e)
        to[d][e] = (d == e ? stress : 0) + grid.mass() * C[d][e];
  }
  void moved(const Grid &grid) { J *= 1.0f + grid.dt * (C[0][0] + C[1][1]); }
};

// Water, jelly or snow, moved by its deformation F, which is turned into rotation times stretch in
// closed form.
struct Mixed {
  static constexpr float gravity = 50.0f;
  static constexpr bool fallsEmpty = false;
  float x[2], v[2], C[2][2], F[2][2], Jp;
  std::int32_t material, number;

  Mixed() = default;
  Mixed(const void *const *inputs, std::int64_t p)
      : v{}, C{}, F{{1, 0}, {0, 1}}, Jp(1),
        material(static_cast<const std::int32_t *>(inputs[1])[p]), number(std::int32_t(p)) {
    std::memcpy(x, static_cast<const float *>(inputs[0]) + 2 * p, sizeof x);
  }

  void affine(const Grid &grid, float (*to)[2]) {
    constexpr float hardness = 1000.0f, poisson = 0.2f;
    constexpr float mu0 = hardness / (2 * (1 + poisson));
    constexpr float lambda0 = hardness * poisson / ((1 + poisson) * (1 - 2 * poisson));
    float old[2][2];
    std::memcpy(old, F, sizeof old);
    for (int d = 0; d < 2; ++d)
      for (int e = 0; e < 2; ++e)
        F[d][e] = old[d][e] + grid.dt * (C[d][0] * old[0][e] + C[d][1] * old[1][e]);
    float h = material == 1 ? 0.3f : std::exp(10.0f * (1.0f - Jp));
    float mu = material == 0 ? 0.0f : mu0 * h, lambda = lambda0 * h;
    // The rotation nearest to F: (c, -s; s, c).
    float c = F[0][0] + F[1][1], s = F[1][0] - F[0][1], length = std::sqrt(c * c + s * s);
    c /= length, s /= length;
    // Its stretch, symmetric: mean +- radius are the singular values, (k, l; l, -k) its direction.
    float s00 = c * F[0][0] + s * F[1][0], s01 = c * F[0][1] + s * F[1][1];
    float s11 = c * F[1][1] - s * F[0][1], mean = 0.5f * (s00 + s11), k = 0.5f * (s00 - s11),
          l = s01;
    float radius = std::sqrt(k * k + l * l), low = mean - radius, high = mean + radius;
    if (material == 2) {
      float newLow = clamp(low), newHigh = clamp(high);
      Jp *= low * high / (newLow * newHigh);
      float by = radius > 1e-12f ? 0.5f * (newHigh - newLow) / radius : 0.0f;
      low = newLow, high = newHigh, mean = 0.5f * (low + high), k *= by, l *= by;
      rotate(c, s, mean + k, l, mean - k);
    }
    float J = low * high;
    if (material == 0)
      F[0][0] = F[1][1] = std::sqrt(J), F[0][1] = F[1][0] = 0;
    // 2 mu (F - R) F^T + lambda J (J - 1)
    float a[2][2] = {{F[0][0] - c, F[0][1] + s}, {F[1][0] - s, F[1][1] - c}};
    float scale = -grid.dt * grid.mass() * 4.0f * grid.inverse() * grid.inverse();
    for (int d = 0; d < 2; ++d)
      for (int e = 0; e < 2; ++e)
        to[d][e] = scale * (2.0f * mu * (a[d][0] * F[e][0] + a[d][1] * F[e][1]) +
                            (d == e ? lambda * J * (J - 1.0f) : 0)) +
                   grid.mass() * C[d][e];
  }
  void moved(const Grid &) {}

private:
  static float clamp(float value) {
    return value < 1.0f - 2.5e-2f   ? 1.0f - 2.5e-2f
           : value > 1.0f + 4.5e-3f ? 1.0f + 4.5e-3f
                                    : value;
  }
  // F = rotation times (s00, s01; s01, s11).
  void rotate(float c, float s, float s00, float s01, float s11) {
    F[0][0] = c * s00 - s * s01, F[0][1] = c * s01 - s * s11;
    F[1][0] = s * s00 + c * s01, F[1][1] = s * s01 + c * s11;
  }
};

struct Node {
  float v[2], m, unused;
};

void weightsOf(const float *x, float inverse, int *base, float *fx, float (*w)[2]) {
  for (int d = 0; d < 2; ++d) {
    base[d] = int(x[d] * inverse - 0.5f);
    fx[d] = x[d] * inverse - float(base[d]);
    w[0][d] = 0.5f * (1.5f - fx[d]) * (1.5f - fx[d]);
    w[1][d] = 0.75f - (fx[d] - 1.0f) * (fx[d] - 1.0f);
    w[2][d] = 0.5f * (fx[d] - 0.5f) * (fx[d] - 0.5f);
  }
}

template <bool atomic> void add(float &to, float value) {
  if constexpr (atomic)
    std::atomic_ref<float>(to).fetch_add(value, std::memory_order_relaxed);
  else
    to += value;
}

template <typename Particle> class Mpm : public Reference {
public:
  explicit Mpm(const Setup &setup)
      : variant(setup.variant), count(std::int64_t(setup.numbers[0])),
        grid{int(setup.numbers[1]), float(setup.numbers[2])},
        inputs(setup.inputs, setup.inputs + 2), particles(count, nullptr), sorted(count, nullptr),
        nodes(std::size_t(grid.n) * grid.n, nullptr), slabs(count, grid.n) {
    reset();
  }

  void reset() override {
    for (std::int64_t p = 0; p < count; ++p)
      particles[p] = Particle(inputs.data(), p);
  }

  void step() override {
    parallelParts(std::int64_t(nodes.size()), [&](std::int64_t begin, std::int64_t end, int) {
      std::memset(static_cast<void *>(&nodes[begin]), 0, sizeof(Node) * (end - begin));
    });
    if (variant == 0)
      each([&](Particle &p) { scatter<true>(p); });
    else {
      slabs.sort([&](std::int64_t p) { return int(particles[p].x[0] * grid.inverse() - 0.5f); },
                 [&](std::int64_t p, std::int64_t k) { sorted[k] = particles[p]; });
      std::swap(particles, sorted);
      slabs.forEach([&](std::int64_t p) { scatter<false>(particles[p]); });
    }
    parallelParts(grid.n, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t i = begin; i < end; ++i)
        move(int(i));
    });
    each([&](Particle &p) { gather(p); });
  }

  void read(void *const *outputs) override {
    for (std::int64_t p = 0; p < count; ++p) {
      std::int64_t at = 2 * std::int64_t(particles[p].number);
      std::memcpy(static_cast<float *>(outputs[0]) + at, particles[p].x, 8);
      std::memcpy(static_cast<float *>(outputs[1]) + at, particles[p].v, 8);
    }
  }

private:
  template <typename Body> void each(Body body) {
    parallelParts(count, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t p = begin; p < end; ++p)
        body(particles[p]);
    });
  }

  Node &node(const int *base, int i, int j) {
    return nodes[std::size_t(base[0] + i) * grid.n + base[1] + j];
  }

  template <bool atomic> void scatter(Particle &p) {
    float dx = grid.dx(), mass = grid.mass(), fx[2], w[3][2], affine[2][2];
    int base[2];
    weightsOf(p.x, grid.inverse(), base, fx, w);
    p.affine(grid, affine);
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) {
        float at[2] = {(float(i) - fx[0]) * dx, (float(j) - fx[1]) * dx},
              weight = w[i][0] * w[j][1];
        Node &to = node(base, i, j);
        for (int d = 0; d < 2; ++d)
          add<atomic>(to.v[d],
                      weight * (mass * p.v[d] + affine[d][0] * at[0] + affine[d][1] * at[1]));
        add<atomic>(to.m, weight * mass);
      }
  }

  void move(int i) {
    int n = grid.n;
    for (int j = 0; j < n; ++j) {
      Node &to = nodes[std::size_t(i) * n + j];
      if (to.m > 0)
        to.v[0] /= to.m, to.v[1] /= to.m;
      else if (!Particle::fallsEmpty)
        continue;
      to.v[1] -= grid.dt * Particle::gravity;
      if ((i < 3 && to.v[0] < 0) || (i > n - 3 && to.v[0] > 0))
        to.v[0] = 0;
      if ((j < 3 && to.v[1] < 0) || (j > n - 3 && to.v[1] > 0))
        to.v[1] = 0;
    }
  }

  void gather(Particle &p) {
    int base[2];
    float fx[2], w[3][2], v[2] = {}, C[2][2] = {};
    weightsOf(p.x, grid.inverse(), base, fx, w);
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) {
        float at[2] = {float(i) - fx[0], float(j) - fx[1]}, weight = w[i][0] * w[j][1];
        const Node &from = node(base, i, j);
        for (int d = 0; d < 2; ++d) {
          v[d] += weight * from.v[d];
          for (int e = 0; e < 2; ++e)
            C[d][e] += 4.0f * grid.inverse() * weight * from.v[d] * at[e];
        }
      }
    for (int d = 0; d < 2; ++d)
      p.x[d] += grid.dt * v[d];
    std::memcpy(p.v, v, sizeof v);
    std::memcpy(p.C, C, sizeof C);
    p.moved(grid);
  }

  int variant;
  std::int64_t count;
  Grid grid;
  std::vector<const void *> inputs; // mpm88 has one, and a null pointer
  Buffer<Particle> particles, sorted;
  Buffer<Node> nodes;
  Slabs slabs;
};

std::unique_ptr<Reference> make(const Setup &setup) {
  if (setup.variant > 1)
    return nullptr;
  if (named(setup, "mpm88"))
    return std::make_unique<Mpm<Water>>(setup);
  if (named(setup, "mpm99"))
    return std::make_unique<Mpm<Mixed>>(setup);
  return nullptr;
}

} // namespace

METATE_REFERENCES(make)
