// B6: mpm3d's transfers, particles to grid and back. P2G's variant 0 scatters with atomic
// additions; variant 1 first copies the particles in the order of slabs, as part of the step, and
// scatters slabs in two colours.
#include "reference.h"
#include "slabs.h"

#include <atomic>

namespace {

constexpr float dt = 1e-4f;
typedef float Vector __attribute__((vector_size(16)));

struct Weights {
  int base[3];
  float fx[3], w[3][3]; // w[node][axis]

  Weights(const float *x, float inverse) {
    for (int d = 0; d < 3; ++d) {
      float at = x[d] * inverse;
      base[d] = int(at - 0.5f);
      fx[d] = at - float(base[d]);
      w[0][d] = 0.5f * (1.5f - fx[d]) * (1.5f - fx[d]);
      w[1][d] = 0.75f - (fx[d] - 1.0f) * (fx[d] - 1.0f);
      w[2][d] = 0.5f * (fx[d] - 0.5f) * (fx[d] - 0.5f);
    }
  }
};

template <bool atomic> void add(Vector &to, Vector value) {
  if constexpr (atomic)
    for (int d = 0; d < 4; ++d)
      std::atomic_ref<float>(reinterpret_cast<float *>(&to)[d])
          .fetch_add(value[d], std::memory_order_relaxed);
  else
    to += value;
}

class P2G : public Reference {
public:
  explicit P2G(const Setup &setup)
      : variant(setup.variant), count(std::int64_t(setup.numbers[0])), n(int(setup.numbers[1])),
        x(3 * count, setup.inputs[0]), v(3 * count, setup.inputs[1]), C(9 * count, setup.inputs[2]),
        J(count, setup.inputs[3]), sorted(variant ? count : 0, nullptr),
        nodes(std::size_t(n) * n * n, nullptr), slabs(count, n) {}

  void step() override {
    parallelParts(std::int64_t(n) * n * n, [&](std::int64_t begin, std::int64_t end, int) {
      std::memset(static_cast<void *>(&nodes[begin]), 0, sizeof(Vector) * (end - begin));
    });
    if (variant == 0)
      parallelParts(count, [&](std::int64_t begin, std::int64_t end, int) {
        for (std::int64_t p = begin; p < end; ++p)
          scatter<true>(particle(p));
      });
    else {
      slabs.sort([&](std::int64_t p) { return int(x[3 * p] * float(n) - 0.5f); },
                 [&](std::int64_t p, std::int64_t k) { sorted[k] = particle(p); });
      slabs.forEach([&](std::int64_t k) { scatter<false>(sorted[k]); });
    }
  }

  void read(void *const *outputs) override {
    float *mass = static_cast<float *>(outputs[0]), *velocity = static_cast<float *>(outputs[1]);
    for (std::size_t at = 0; at < nodes.size(); ++at) {
      mass[at] = nodes[at][3] / nodeMass();
      for (int d = 0; d < 3; ++d)
        velocity[3 * at + d] = nodes[at][d] / nodeMass();
    }
  }

private:
  float nodeMass() const { return 0.25f / (float(n) * float(n)); }

  struct alignas(64) Particle {
    float x[3], v[3], J, C[9];
  };

  Particle particle(std::int64_t p) const {
    Particle made;
    std::memcpy(made.x, &x[3 * p], sizeof made.x);
    std::memcpy(made.v, &v[3 * p], sizeof made.v);
    std::memcpy(made.C, &C[9 * p], sizeof made.C);
    made.J = J[p];
    return made;
  }

  template <bool atomic> void scatter(const Particle &p) {
    float inverse = float(n), dx = 1.0f / inverse, mass = nodeMass();
    Weights at(p.x, inverse);
    float stress = -dt * 4.0f * 400.0f * mass * (p.J - 1.0f) * inverse * inverse;
    const float *c = p.C;
    // Columns of the affine matrix times dx, with the mass in the fourth place of what is carried.
    Vector column[3], moved = {mass * p.v[0], mass * p.v[1], mass * p.v[2], mass};
    for (int d = 0; d < 3; ++d) {
      column[d] = Vector{mass * c[d], mass * c[3 + d], mass * c[6 + d], 0} * dx;
      column[d][d] += stress * dx;
      moved -= column[d] * at.fx[d];
    }
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) {
        Vector row = moved + column[0] * float(i) + column[1] * float(j);
        float weight = at.w[i][0] * at.w[j][1];
        Vector *to = &nodes[(std::size_t(at.base[0] + i) * n + at.base[1] + j) * n + at.base[2]];
        for (int k = 0; k < 3; ++k)
          add<atomic>(to[k], (weight * at.w[k][2]) * (row + column[2] * float(k)));
      }
  }

  int variant;
  std::int64_t count;
  int n;
  Buffer<float> x, v, C, J;
  Buffer<Particle> sorted;
  Buffer<Vector> nodes;
  Slabs slabs;
};

class G2P : public Reference {
public:
  explicit G2P(const Setup &setup)
      : count(std::int64_t(setup.numbers[0])), n(int(setup.numbers[1])),
        x(3 * count, setup.inputs[0]), v(3 * count, nullptr), C(9 * count, nullptr),
        nodes(std::size_t(n) * n * n) {
    const float *from = static_cast<const float *>(setup.inputs[1]);
    for (std::size_t at = 0; at < nodes.size(); ++at)
      nodes[at] = Vector{from[3 * at], from[3 * at + 1], from[3 * at + 2], 0};
  }

  void step() override {
    parallelParts(count, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t p = begin; p < end; ++p)
        gather(p);
    });
  }

  void read(void *const *outputs) override {
    v.copyTo(outputs[0]);
    float *to = static_cast<float *>(outputs[1]);
    for (std::size_t at = 0; at < C.size(); ++at)
      to[at] = C[at] / float(n);
  }

private:
  void gather(std::int64_t p) {
    Weights at(&x[3 * p], float(n));
    Vector sum = {}, columns[3] = {};
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) {
        const Vector *from =
            &nodes[(std::size_t(at.base[0] + i) * n + at.base[1] + j) * n + at.base[2]];
        float weight = at.w[i][0] * at.w[j][1];
        for (int k = 0; k < 3; ++k) {
          Vector value = (weight * at.w[k][2]) * from[k];
          sum += value;
          columns[0] += value * (float(i) - at.fx[0]);
          columns[1] += value * (float(j) - at.fx[1]);
          columns[2] += value * (float(k) - at.fx[2]);
        }
      }
    for (int d = 0; d < 3; ++d) {
      v[3 * p + d] = sum[d];
      for (int e = 0; e < 3; ++e)
        C[9 * p + 3 * d + e] = 4.0f * float(n) * columns[e][d];
    }
  }

  std::int64_t count;
  int n;
  Buffer<float> x, v, C;
  Buffer<Vector> nodes;
};

std::unique_ptr<Reference> make(const Setup &setup) {
  if (setup.variant <= 1 && named(setup, "p2g"))
    return std::make_unique<P2G>(setup);
  if (setup.variant == 0 && named(setup, "g2p"))
    return std::make_unique<G2P>(setup);
  return nullptr;
}

} // namespace

METATE_REFERENCES(make)
