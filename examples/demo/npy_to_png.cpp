// npy_to_png IMAGE.npy IMAGE.png: a picture u8[height, width, 3] as a PNG file.
#include "png.hpp"

#include <cstdio>

int main(int argc, char **argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: npy_to_png IMAGE.npy IMAGE.png\n");
    return 2;
  }
  try {
    demo::writePng(argv[2], demo::readNpy<std::uint8_t>(argv[1], 3));
  } catch (const std::exception &error) {
    std::fprintf(stderr, "npy_to_png: %s\n", error.what());
    return 1;
  }
  return 0;
}
