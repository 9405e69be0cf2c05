// The inputs of `metate-run run`: made from their spelling and the kernel's argument.
#ifndef METATE_RUN_INPUTS_H
#define METATE_RUN_INPUTS_H

#include "common.h"
#include "npy.h"

#include <memory>
#include <optional>

namespace metate::tool {

// One named value; it owns what its metate_argument points to.
class Input {
public:
  Input(const metate_argument_description &argument, const std::string &spelling);
  Input(Input &&) = default;

  metate_argument get();
  uint32_t kind() const { return value.kind; }
  const Array &elements() const { return array; }
  Array &elements() { return array; }
  /// The elements end where a page begins that nobody may touch.
  void guard(const std::string &name) { array.guard(name); }
  const Tree &tree() const { return *bound; }

private:
  void makeScalars(const metate_argument_description &argument, const std::string &spelling);
  void makeArray(const metate_argument_description &argument, const std::string &spelling);
  void makeTree(const metate_argument_description &argument, const std::string &spelling);

  metate_argument value{};
  metate_array view{};
  Array array;
  std::optional<Tree> bound;
};

/// Numbers as users write them, as many as an array of the shape has, or one for all of them. `name` is for messages.
Array parseNumbers(const std::string &name, const std::string &text, uint32_t dtype,
                   const std::vector<int64_t> &shape);

/// A number of one kind as one of a scalar type, in memory.
void storeFloat(uint32_t dtype, double value, uint8_t *to);
void storeInteger(uint32_t dtype, uint64_t value, uint8_t *to);

// A scalar of memory as a double, for summaries; f16 and bf16 are widened.
double asDouble(uint32_t dtype, const uint8_t *from);

} // namespace metate::tool

#endif
