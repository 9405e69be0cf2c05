// TreeType for Python: what libmetate says about a type, read once when it is
// opened.
#include "Type.h"

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

namespace metate::python {

Capacities::Capacities(nb::handle given) {
  value.struct_size = sizeof(value);
  if (given.is_none())
    return;
  nb::dict levels = nb::cast<nb::dict>(given);
  names.reserve(levels.size());
  for (auto [level, slots] : levels) {
    names.push_back(nb::cast<std::string>(level));
    entries.push_back({names.back().c_str(), nb::cast<uint64_t>(slots)});
  }
  value.count = uint32_t(entries.size());
  value.entries = entries.data();
}

Type::Type(std::shared_ptr<Device> onDevice, const void *blob, size_t bytes)
    : device(std::move(onDevice)) {
  check(metate_type_open_blob(device->get(), blob, bytes, nullptr, &owned), Subject::Tree);
  type = owned;
  try {
    describe();
  } catch (...) {
    metate_type_close(owned);
    throw;
  }
}

Type::Type(std::shared_ptr<Device> onDevice, const metate_type *borrowed,
           std::shared_ptr<void> keep)
    : device(std::move(onDevice)), owner(std::move(keep)), type(borrowed) {
  describe();
}

Type::~Type() {
  if (owned)
    metate_type_close(owned);
}

void Type::describe() {
  info.struct_size = sizeof(info);
  check(metate_type_describe(type, &info), Subject::Tree);
  levelInfos.reserve(info.level_count);
  for (uint32_t index = 0; index < info.level_count; ++index) {
    metate_level_description level{};
    level.struct_size = sizeof(level);
    check(metate_type_level(type, index, &level), Subject::Tree);
    LevelInfo entry{
        index, level.kind, level.path_rank, level.name ? level.name : "", {}, level.cell_bytes, {}};
    entry.element = {level.dtype, level.rows, level.columns, level.element_rank};
    entry.shape.assign(level.shape, level.shape + level.path_rank);
    if (level.quant.kind && level.quant.flags & METATE_QUANT_SHARED)
      entry.group = level.quant.group;
    levelInfos.push_back(std::move(entry));
  }
}

const LevelInfo &Type::level(uint32_t index) const {
  if (index >= levelInfos.size())
    throwNamed("RuntimeIndexError_",
               "level: expected an index below " + std::to_string(levelInfos.size()) + ", got " +
                   std::to_string(index),
               METATE_E_OUT_OF_RANGE);
  return levelInfos[index];
}

static nb::tuple size(const Type &type, nb::handle capacities) {
  uint64_t bytes = 0, align = 0;
  check(metate_type_size(type.get(), Capacities(capacities).get(), &bytes, &align), Subject::Tree);
  return nb::make_tuple(bytes, align);
}

void bindType(nb::module_ &module) {
  nb::class_<Type>(module, "TreeType", "A tree type that libmetate has read and checked.")
      .def(
          "__init__",
          [](Type *self, std::shared_ptr<Device> device, nb::bytes blob) {
            new (self) Type(std::move(device), blob.c_str(), blob.size());
          },
          nb::arg("device"), nb::arg("blob"))
      .def_prop_ro("blob",
                   [](const Type &self) {
                     return nb::bytes(static_cast<const char *>(self.description().blob),
                                      self.description().blob_bytes);
                   })
      .def_prop_ro("name", [](const Type &self) { return std::string(self.description().name); })
      .def_prop_ro("text", [](const Type &self) { return std::string(self.description().text); })
      .def_prop_ro("device", &Type::getDevice)
      .def_prop_ro("pool_count", [](const Type &self) { return self.description().pool_count; })
      .def_prop_ro(
          "levels",
          [](const Type &self) {
            nb::list found;
            for (const LevelInfo &level : self.levels())
              found.append(
                  nb::make_tuple(level.index, level.kind, level.name, level.pathRank, level.shape));
            return found;
          },
          "(index, kind, name, path rank, shape) of each level record; members "
          "have kind 4.")
      .def("size", &size, nb::arg("capacities").none(),
           "(bytes, alignment) of a block with these capacities: a dict of "
           "level names, or None.");
}

} // namespace metate::python
