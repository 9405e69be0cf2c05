// demo_host MODULE.metate VERTICES.npy FACES.npy STEPS SIZE OUT: the demo's whole job without Python and
// without a compiler. Writes OUT.png and OUT.npy and prints one JSON object of figures.
//
// The trees' memory is this program's: it asks each type for its size, allocates, binds, and answers an
// exhausted pool with a larger block. Links libmetate and libpng.
#include "host_hooks.hpp"
#include "png.hpp"

#include <chrono>
#include <cmath>
#include <cstdio>

namespace {

using Clock = std::chrono::steady_clock;
using demo::Array;

struct Mesh {
  Array<float> vertices;
  Array<std::int32_t> faces;
  std::vector<float> points, vertexNormals, edgeNormals;

  std::int64_t vertexCount() const { return vertices.shape[0]; }
  std::int64_t faceCount() const { return faces.shape[0]; }
};

template <typename T> metate::ArrayView<T> rows(std::vector<T> &data) {
  return {data.data(), {std::int64_t(data.size() / 3), 3}};
}

// A tree and its memory; the tree is unbound before the memory goes.
struct Instance {
  demo::TreeMemory memory;
  metate::Tree tree;

  Instance(demo::CountingAllocator &allocator, const metate::TreeType &type, std::uint64_t blocks)
      : memory(allocator, type.size({{"blocks", blocks}}), type.align()),
        tree(type.bind(memory, {{"blocks", blocks}})) {}
};

// The trees' extent along an axis, from the module's description of the type.
std::int64_t resolutionOf(const metate::TreeType &type) {
  std::uint32_t member;
  auto level = metate::sized<metate_level_description>();
  metate::unwrap(metate::Status::of(metate_type_find_member(type.get(), "phi", &member)));
  metate::unwrap(metate::Status::of(metate_type_level(type.get(), member, &level)));
  return level.shape[0];
}

void prepare(const metate::Module &module, Mesh &mesh, std::int64_t resolution) {
  const float infinity = INFINITY;
  std::vector<float> bounds = {infinity, infinity, infinity, -infinity, -infinity, -infinity};
  mesh.points.resize(mesh.vertices.data.size());
  mesh.vertexNormals.resize(mesh.vertices.data.size());
  mesh.edgeNormals.resize(9 * mesh.faceCount());
  std::vector<std::int32_t> starts(mesh.vertexCount() + 1), cursors(mesh.vertexCount()),
      incident(3 * mesh.faceCount());
  auto vertices = rows(mesh.vertices.data);
  auto points = rows(mesh.points);
  auto faces = rows(mesh.faces.data);
  module.kernel("find_bounds")(vertices, bounds);
  module.kernel("normalise")(vertices, bounds, std::int32_t(resolution), points);
  module.kernel("count_incident")(faces, starts);
  module.kernel("sum_starts")(starts, cursors);
  module.kernel("list_incident")(faces, cursors, incident);
  module.kernel("find_vertex_normals")(points, faces, starts, incident, rows(mesh.vertexNormals));
  module.kernel("find_edge_normals")(points, faces, starts, incident, rows(mesh.edgeNormals));
}

// Voxelises into a keys tree of this program's size, a larger one each time the pool is exhausted.
Instance voxelise(const metate::Module &module, Mesh &mesh, demo::CountingAllocator &allocator,
                  std::uint64_t blocks) {
  metate::TreeType type = module.tree_type("keys");
  for (;;) {
    Instance keys(allocator, type, blocks);
    metate::Status status =
        module.kernel("voxelise").try_launch(rows(mesh.points), rows(mesh.faces.data), keys.tree);
    if (status.code != METATE_E_CAPACITY) {
      metate::unwrap(status);
      return keys;
    }
    blocks *= 2;
  }
}

std::array<double, 2> measure(const metate::Module &module, const metate::Tree &phi) {
  std::vector<double> totals(2);
  module.kernel("measure")(phi, totals);
  return {totals[0], totals[1]};
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  std::size_t half = values.size() / 2;
  return values.empty()      ? 0
         : values.size() % 2 ? values[half]
                             : 0.5 * (values[half - 1] + values[half]);
}

void run(const char *path, Mesh &mesh, int steps, int size, const std::string &out) {
  demo::CountingAllocator allocator;
  metate_executor executor{};
  executor.parallel_for = demo::parallelFor;
  executor.worker_count = std::thread::hardware_concurrency();
  auto hooks = metate::sized<metate_device_hooks>();
  hooks.executor = &executor;
  metate::Device device = metate::Device::open(&hooks);
  metate::Module module = metate::Module::open(path, device);
  metate::TreeType type = module.tree_type("phi");
  std::int64_t resolution = resolutionOf(type);

  prepare(module, mesh, resolution);
  // What a closed surface of the grid's size needs; a guess that may be wrong.
  Instance keys =
      voxelise(module, mesh, allocator, std::max<std::int64_t>(resolution * resolution / 12, 64));
  std::uint64_t blocks = keys.tree.stats()[0].used;
  Instance front(allocator, type, blocks), back(allocator, type, blocks);
  module.kernel("sign")(rows(mesh.points), rows(mesh.faces.data), rows(mesh.vertexNormals),
                        rows(mesh.edgeNormals), keys.tree, front.tree);
  std::array<double, 2> initial = measure(module, front.tree);
  metate::Kernel smooth = module.kernel("smooth");
  std::vector<double> milliseconds;
  metate::Tree *from = &front.tree, *to = &back.tree;
  for (int step = 0; step < steps; ++step) {
    auto start = Clock::now();
    smooth(*from, *to);
    milliseconds.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
    std::swap(from, to);
  }
  std::array<double, 2> smoothed = measure(module, *from);
  Array<std::uint8_t> image{{size, size, 3},
                            std::vector<std::uint8_t>(3 * std::size_t(size) * size)};
  module.kernel("render")(*from, metate::ArrayView<std::uint8_t>{image.data.data(), image.shape});
  demo::writePng(out + ".png", image);
  demo::writeNpy(out + ".npy", image);

  std::size_t used =
      keys.tree.block().size() + front.tree.block().size() + back.tree.block().size();
  std::printf("{\"ms_per_step\": %.4f, \"active_voxels\": %llu, \"tree_bytes\": %zu, "
              "\"tree_memory_bytes\": %zu, "
              "\"allocated_bytes\": %zu, \"initial\": {\"area\": %.17g, \"volume\": %.17g}, "
              "\"smoothed\": {\"area\": %.17g, \"volume\": %.17g}}\n",
              median(milliseconds), static_cast<unsigned long long>(from->stats()[0].used * 512),
              from->block().size(), used, allocator.bytes(), initial[0], initial[1], smoothed[0],
              smoothed[1]);
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 7) {
    std::fprintf(stderr, "usage: demo_host MODULE.metate VERTICES.npy FACES.npy STEPS SIZE OUT\n");
    return 2;
  }
  try {
    Mesh mesh;
    mesh.vertices = demo::readNpy<float>(argv[2], 2);
    mesh.faces = demo::readNpy<std::int32_t>(argv[3], 2);
    run(argv[1], mesh, std::stoi(argv[4]), std::stoi(argv[5]), argv[6]);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "demo_host: %s\n", error.what());
    return 1;
  }
  return 0;
}
