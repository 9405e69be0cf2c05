// mesh_to_npy MESH VERTICES.npy FACES.npy: any mesh file that assimp reads, as f32[n, 3] and i32[m, 3].
//
// All parts of the scene become one mesh; corners at exactly the same place become one vertex (STL and
// OBJ files with normals repeat them), because the demo asks which triangles share an edge.
#include "npy.hpp"

#include <assimp/Importer.hpp>
#include <assimp/config.h>
#include <assimp/postprocess.h>
#include <assimp/scene.h>

#include <array>
#include <cstdio>
#include <map>

namespace {

struct Mesh {
  demo::Array<float> vertices{{0, 3}, {}};
  demo::Array<std::int32_t> faces{{0, 3}, {}};
};

Mesh weld(const aiScene &scene) {
  Mesh mesh;
  std::map<std::array<float, 3>, std::int32_t> numbers;
  for (unsigned part = 0; part < scene.mNumMeshes; ++part) {
    const aiMesh &source = *scene.mMeshes[part];
    for (unsigned f = 0; f < source.mNumFaces; ++f) {
      std::array<std::int32_t, 3> corners;
      for (unsigned c = 0; c < 3; ++c) {
        const aiVector3D &p = source.mVertices[source.mFaces[f].mIndices[c]];
        auto [entry, isNew] =
            numbers.try_emplace({p.x + 0.0f, p.y + 0.0f, p.z + 0.0f}, std::int32_t(numbers.size()));
        if (isNew)
          mesh.vertices.data.insert(mesh.vertices.data.end(), {p.x, p.y, p.z});
        corners[c] = entry->second;
      }
      if (corners[0] != corners[1] && corners[1] != corners[2] && corners[2] != corners[0])
        mesh.faces.data.insert(mesh.faces.data.end(), corners.begin(), corners.end());
    }
  }
  mesh.vertices.shape[0] = mesh.vertices.data.size() / 3;
  mesh.faces.shape[0] = mesh.faces.data.size() / 3;
  return mesh;
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: mesh_to_npy MESH VERTICES.npy FACES.npy\n");
    return 2;
  }
  Assimp::Importer importer;
  importer.SetPropertyInteger(AI_CONFIG_PP_SBP_REMOVE,
                              aiPrimitiveType_POINT | aiPrimitiveType_LINE);
  const aiScene *scene = importer.ReadFile(argv[1], aiProcess_Triangulate | aiProcess_SortByPType |
                                                        aiProcess_PreTransformVertices);
  if (!scene) {
    std::fprintf(stderr, "mesh_to_npy: %s: %s\n", argv[1], importer.GetErrorString());
    return 1;
  }
  try {
    Mesh mesh = weld(*scene);
    if (mesh.faces.shape[0] == 0)
      throw std::runtime_error("expected at least one triangle, got none");
    demo::writeNpy(argv[2], mesh.vertices);
    demo::writeNpy(argv[3], mesh.faces);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "mesh_to_npy: %s: %s\n", argv[1], error.what());
    return 1;
  }
  return 0;
}
