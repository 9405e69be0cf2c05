// Writes a picture with libpng. Every picture of the demo goes through here, so that equal pixels are
// equal files.
#ifndef METATE_DEMO_PNG_HPP
#define METATE_DEMO_PNG_HPP

#include "npy.hpp"

#include <png.h>

namespace demo {

// image: u8[height, width, 3].
inline void writePng(const std::string &path, const Array<std::uint8_t> &image) {
  if (image.shape.size() != 3 || image.shape[2] != 3)
    throw std::runtime_error(path + ": expected an image of shape (height, width, 3)");
  png_image picture{};
  picture.version = PNG_IMAGE_VERSION;
  picture.height = image.shape[0];
  picture.width = image.shape[1];
  picture.format = PNG_FORMAT_RGB;
  if (!png_image_write_to_file(&picture, path.c_str(), 0, image.data.data(), 0, nullptr))
    throw std::runtime_error(path + ": " + picture.message);
}

} // namespace demo
#endif
