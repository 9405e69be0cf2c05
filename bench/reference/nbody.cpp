// B4: gravity of every body on every other. Variant 0 as one writes it, over an array of points;
// variant 1 over one array a coordinate; variant 2 keeps 64 bodies in vector registers and passes
// all others by, with the machine's estimate of a root's inverse and one step of Newton's.
#include "reference.h"

#include <cmath>
#include <immintrin.h>

namespace {

constexpr float softening = 1e-4f;
constexpr int width = 16;
typedef float Vector __attribute__((vector_size(4 * width)));

Vector inverseRoot(Vector value) {
#ifdef __AVX512F__
  // Without a mask, g++ 12 warns of its own header.
  Vector s = _mm512_maskz_rsqrt14_ps(0xffff, value);
  return s * (1.5f - 0.5f * value * s * s);
#else
  Vector s;
  for (int l = 0; l < width; ++l)
    s[l] = 1.0f / std::sqrt(value[l]);
  return s;
#endif
}

class NBody : public Reference {
public:
  explicit NBody(const Setup &setup)
      : variant(setup.variant), n(std::int64_t(setup.numbers[0])), pos(3 * n, setup.inputs[0]),
        x(n), y(n), z(n), acc(3 * n, nullptr) {
    for (std::int64_t i = 0; i < n; ++i)
      x[i] = pos[3 * i], y[i] = pos[3 * i + 1], z[i] = pos[3 * i + 2];
  }

  void step() override {
    parallelBlocks(n, lanes, [&](std::int64_t begin, std::int64_t end) {
      if (variant == 0)
        points(begin, end);
      else if (variant == 1)
        coordinates(begin, end);
      else
        inLanes(begin);
    });
  }

  void read(void *const *outputs) override { acc.copyTo(outputs[0]); }

private:
  static constexpr int vectors = 4, lanes = vectors * width;

  void points(std::int64_t begin, std::int64_t end) {
    struct Point {
      float x, y, z;
    };
    const Point *all = reinterpret_cast<const Point *>(pos.get());
    for (std::int64_t i = begin; i < end; ++i) {
      Point p = all[i], a = {0, 0, 0};
      for (std::int64_t j = 0; j < n; ++j) {
        float dx = all[j].x - p.x, dy = all[j].y - p.y, dz = all[j].z - p.z;
        float s = 1.0f / std::sqrt(dx * dx + dy * dy + dz * dz + softening), cube = s * s * s;
        a.x += dx * cube, a.y += dy * cube, a.z += dz * cube;
      }
      acc[3 * i] = a.x, acc[3 * i + 1] = a.y, acc[3 * i + 2] = a.z;
    }
  }

  void coordinates(std::int64_t begin, std::int64_t end) {
    const float *__restrict px = x.get(), *__restrict py = y.get(), *__restrict pz = z.get();
    for (std::int64_t i = begin; i < end; ++i) {
      float ax = 0, ay = 0, az = 0;
      for (std::int64_t j = 0; j < n; ++j) {
        float dx = px[j] - px[i], dy = py[j] - py[i], dz = pz[j] - pz[i];
        float s = 1.0f / std::sqrt(dx * dx + dy * dy + dz * dz + softening), cube = s * s * s;
        ax += dx * cube, ay += dy * cube, az += dz * cube;
      }
      acc[3 * i] = ax, acc[3 * i + 1] = ay, acc[3 * i + 2] = az;
    }
  }

  void inLanes(std::int64_t first) {
    Vector px[vectors], py[vectors], pz[vectors], ax[vectors] = {}, ay[vectors] = {},
                                                  az[vectors] = {};
    for (int v = 0; v < vectors; ++v) {
      std::int64_t at = first + width * v;
      std::memcpy(&px[v], &x[at], sizeof(Vector));
      std::memcpy(&py[v], &y[at], sizeof(Vector));
      std::memcpy(&pz[v], &z[at], sizeof(Vector));
    }
    for (std::int64_t j = 0; j < n; ++j)
      for (int v = 0; v < vectors; ++v) {
        Vector dx = x[j] - px[v], dy = y[j] - py[v], dz = z[j] - pz[v];
        Vector s = inverseRoot(dx * dx + dy * dy + dz * dz + softening), cube = s * s * s;
        ax[v] += dx * cube, ay[v] += dy * cube, az[v] += dz * cube;
      }
    for (int l = 0; l < lanes; ++l) {
      float *to = &acc[3 * (first + l)];
      to[0] = ax[l / width][l % width], to[1] = ay[l / width][l % width],
      to[2] = az[l / width][l % width];
    }
  }

  int variant;
  std::int64_t n;
  Buffer<float> pos, x, y, z, acc;
};

std::unique_ptr<Reference> make(const Setup &setup) {
  return setup.variant <= 2 && named(setup, "accelerations") ? std::make_unique<NBody>(setup)
                                                             : nullptr;
}

} // namespace

METATE_REFERENCES(make)
