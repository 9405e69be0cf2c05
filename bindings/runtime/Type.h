// Tree types of libmetate as Python objects; `TreeType` of metate/tree_type.py
// holds one.
#ifndef METATE_BINDINGS_RUNTIME_TYPE_H
#define METATE_BINDINGS_RUNTIME_TYPE_H

#include "Device.h"
#include "Values.h"

#include <vector>

namespace metate::python {

/// Capacities as a C API value: a dict of level names to slots, or None.
class Capacities {
public:
  explicit Capacities(nb::handle given);
  const metate_capacities *get() const { return &value; }

private:
  std::vector<std::string> names;
  std::vector<metate_capacity> entries;
  metate_capacities value{};
};

/// What host access to a level needs.
struct LevelInfo {
  uint32_t index;
  uint32_t kind;
  uint32_t pathRank;
  std::string name;
  ElementType element; // a member's
  uint64_t cellBytes;
  std::vector<int64_t> shape;   // along the path's axes
  uint32_t group = METATE_NONE; // the first of the members with which it shares an exponent
};

class Type {
public:
  /// Opens a type from its blob.
  Type(std::shared_ptr<Device> device, const void *blob, size_t bytes);
  /// Borrows a type of a module, which `owner` keeps open.
  Type(std::shared_ptr<Device> device, const metate_type *type, std::shared_ptr<void> owner);
  ~Type();
  Type(const Type &) = delete;
  Type &operator=(const Type &) = delete;

  const metate_type *get() const { return type; }
  const std::shared_ptr<Device> &getDevice() const { return device; }
  const metate_type_description &description() const { return info; }
  const std::vector<LevelInfo> &levels() const { return levelInfos; }
  /// The level of that index; throws RuntimeIndexError_.
  const LevelInfo &level(uint32_t index) const;
  bool sameAs(const uint64_t *hash) const {
    return hash[0] == info.hash[0] && hash[1] == info.hash[1];
  }

private:
  void describe();

  std::shared_ptr<Device> device;
  std::shared_ptr<void> owner;
  metate_type *owned = nullptr;
  const metate_type *type = nullptr;
  metate_type_description info{};
  std::vector<LevelInfo> levelInfos;
};

void bindType(nb::module_ &module);

} // namespace metate::python

#endif
