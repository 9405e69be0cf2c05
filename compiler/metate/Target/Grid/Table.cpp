//===- Table.cpp - the launch table as attributes and as bytes --*- C++ -*-===//
#include "metate/Target/Grid/Table.h"

#include "mlir/IR/Builders.h"
#include "llvm/Support/MathExtras.h"

#include <cstring>

using namespace mlir;
using namespace metate::grid;

// Of the module: the dialect's own attributes are of kernels and what is in them.
static constexpr llvm::StringLiteral kernelsName = "metate_grid.kernels",
                                     printsName = "metate_grid.prints";

//===-- attributes ------------------------------------------------------------===//

static Attribute toAttribute(Builder &builder, const Task &task) {
  SmallVector<int64_t> steps;
  for (const Step &step : task.iterations)
    steps.append({int64_t(step.operation), step.value});
  return builder.getDictionaryAttr(
      {builder.getNamedAttr("name", builder.getStringAttr(task.name)),
       builder.getNamedAttr("group", builder.getI64IntegerAttr(task.group)),
       builder.getNamedAttr("most", builder.getI64IntegerAttr(task.mostInvocations)),
       builder.getNamedAttr("iterations", builder.getDenseI64ArrayAttr(steps))});
}

static Attribute toAttribute(Builder &builder, const Kernel &kernel) {
  SmallVector<Attribute> tasks;
  for (const Task &task : kernel.tasks)
    tasks.push_back(toAttribute(builder, task));
  return builder.getDictionaryAttr(
      {builder.getNamedAttr("entry", builder.getStringAttr(kernel.entry)),
       builder.getNamedAttr("frame", builder.getI64IntegerAttr(kernel.frameBytes)),
       builder.getNamedAttr("flags", builder.getI64IntegerAttr(kernel.flags)),
       builder.getNamedAttr("slots", builder.getI64IntegerAttr(kernel.slots)),
       builder.getNamedAttr("tasks", builder.getArrayAttr(tasks))});
}

void Table::setOn(ModuleOp module) const {
  Builder builder(module.getContext());
  SmallVector<Attribute> ofKernels, ofPrints;
  for (const Kernel &kernel : kernels)
    ofKernels.push_back(toAttribute(builder, kernel));
  for (const Print &print : prints) {
    SmallVector<Attribute> parts;
    for (const auto &[kind, text] : print) {
      parts.push_back(builder.getI64IntegerAttr(kind));
      parts.push_back(builder.getStringAttr(text));
    }
    ofPrints.push_back(builder.getArrayAttr(parts));
  }
  module->setAttr(kernelsName, builder.getArrayAttr(ofKernels));
  module->setAttr(printsName, builder.getArrayAttr(ofPrints));
}

static uint32_t numberOf(DictionaryAttr attribute, StringRef name) {
  return uint32_t(attribute.getAs<IntegerAttr>(name).getInt());
}

static Kernel readKernel(DictionaryAttr attribute) {
  Kernel kernel;
  kernel.entry = attribute.getAs<StringAttr>("entry").str();
  kernel.frameBytes = numberOf(attribute, "frame");
  kernel.flags = numberOf(attribute, "flags");
  kernel.slots = numberOf(attribute, "slots");
  for (auto one : attribute.getAs<ArrayAttr>("tasks").getAsRange<DictionaryAttr>()) {
    Task task;
    task.name = one.getAs<StringAttr>("name").str();
    task.group = numberOf(one, "group");
    task.mostInvocations = numberOf(one, "most");
    ArrayRef<int64_t> steps = one.getAs<DenseI64ArrayAttr>("iterations");
    for (; !steps.empty(); steps = steps.drop_front(2))
      task.iterations.push_back({metate_grid_operation(steps[0]), steps[1]});
    kernel.tasks.push_back(std::move(task));
  }
  return kernel;
}

Table Table::of(ModuleOp module) {
  Table table;
  if (auto kernels = module->getAttrOfType<ArrayAttr>(kernelsName))
    for (auto one : kernels.getAsRange<DictionaryAttr>())
      table.kernels.push_back(readKernel(one));
  if (auto prints = module->getAttrOfType<ArrayAttr>(printsName))
    for (auto one : prints.getAsRange<ArrayAttr>()) {
      Print &print = table.prints.emplace_back();
      for (size_t k = 0; k + 1 < one.size(); k += 2)
        print.push_back(
            {uint32_t(cast<IntegerAttr>(one[k]).getInt()), cast<StringAttr>(one[k + 1]).str()});
    }
  return table;
}

void Table::removeFrom(ModuleOp module) {
  module->removeAttr(kernelsName);
  module->removeAttr(printsName);
}

std::vector<std::string> Table::functions() const {
  std::vector<std::string> names;
  for (const Kernel &kernel : kernels)
    for (const Task &task : kernel.tasks)
      names.push_back(task.name);
  return names;
}

//===-- bytes -----------------------------------------------------------------===//

namespace {
/// Strings behind everything else; offsets count from their start until it is known.
struct Strings {
  uint32_t add(StringRef text) {
    uint32_t at = uint32_t(bytes.size());
    bytes.append(text.begin(), text.end()).push_back('\0');
    return at;
  }
  std::string bytes;
};

struct Records {
  std::vector<metate_grid_kernel> kernels;
  std::vector<metate_grid_task> tasks;
  std::vector<metate_grid_step> steps;
  std::vector<metate_grid_print> prints;
  std::vector<metate_grid_part> parts;
  std::vector<metate_grid_image> images;
  Strings strings;

  void add(const Kernel &kernel) {
    kernels.push_back({uint32_t(tasks.size()), uint32_t(kernel.tasks.size()), kernel.frameBytes,
                       kernel.flags, kernel.slots, 0});
    for (const Task &task : kernel.tasks) {
      tasks.push_back({strings.add(task.name), task.group, uint32_t(steps.size()),
                       uint32_t(task.iterations.size()), task.mostInvocations, 0});
      for (const Step &step : task.iterations)
        steps.push_back({uint32_t(step.operation), 0, step.value});
    }
  }

  void add(const Print &print) {
    prints.push_back({uint32_t(parts.size()), uint32_t(print.size())});
    for (const auto &[kind, text] : print) {
      bool hasText = kind == METATE_PRINT_TEXT || kind == METATE_PRINT_FORMAT;
      parts.push_back({kind, hasText ? strings.add(text) : METATE_NONE});
    }
  }

  void moveStrings(uint32_t base) {
    for (metate_grid_task &task : tasks)
      task.name += base;
    for (metate_grid_part &part : parts)
      part.text = part.text == METATE_NONE ? 0 : part.text + base;
  }
};
} // namespace

template <typename Record>
static metate_table place(uint64_t &end, const std::vector<Record> &records) {
  metate_table table = {uint32_t(end), uint32_t(records.size())};
  end = llvm::alignTo(end + records.size() * sizeof(Record), 8);
  return table;
}

template <typename Record>
static void put(std::string &bytes, metate_table table, const std::vector<Record> &records) {
  if (!records.empty())
    std::memcpy(bytes.data() + table.offset, records.data(), records.size() * sizeof(Record));
}

std::string metate::grid::sectionOf(const Table &table, ArrayRef<StringRef> entries,
                                    ArrayRef<Image> images, StringRef constants) {
  Records records;
  for (StringRef entry : entries)
    for (const Kernel &kernel : table.kernels)
      if (kernel.entry == entry)
        records.add(kernel);
  for (const Print &print : table.prints)
    records.add(print);
  for (const Image &image : images)
    records.images.push_back(
        {uint32_t(image.format), image.level, 0, uint32_t(image.bytes.size())});
  metate_grid head = {};
  uint64_t end = sizeof head;
  head.magic = METATE_GRID_MAGIC;
  head.abi_version = METATE_ABI_VERSION;
  head.kernels = place(end, records.kernels);
  head.tasks = place(end, records.tasks);
  head.expressions = place(end, records.steps);
  head.prints = place(end, records.prints);
  head.parts = place(end, records.parts);
  head.images = place(end, records.images);
  end = llvm::alignTo(end, 16);
  head.constants = {uint32_t(end), uint32_t(constants.size())};
  end = llvm::alignTo(end + constants.size(), 16);
  for (metate_grid_image &image : records.images) {
    image.offset = uint32_t(end);
    end = llvm::alignTo(end + image.bytes, 16);
  }
  records.moveStrings(uint32_t(end));
  head.bytes = uint32_t(end + records.strings.bytes.size());
  std::string bytes(head.bytes, '\0');
  std::memcpy(bytes.data(), &head, sizeof head);
  put(bytes, head.kernels, records.kernels);
  put(bytes, head.tasks, records.tasks);
  put(bytes, head.expressions, records.steps);
  put(bytes, head.prints, records.prints);
  put(bytes, head.parts, records.parts);
  put(bytes, head.images, records.images);
  std::memcpy(bytes.data() + head.constants.offset, constants.data(), constants.size());
  for (auto [image, record] : llvm::zip_equal(images, records.images))
    std::memcpy(bytes.data() + record.offset, image.bytes.data(), image.bytes.size());
  std::memcpy(bytes.data() + end, records.strings.bytes.data(), records.strings.bytes.size());
  return bytes;
}

std::string metate::grid::withHash(StringRef section, const uint64_t (&hash)[2]) {
  std::string bytes = section.str();
  std::memcpy(bytes.data() + offsetof(metate_grid, descriptor_hash), hash, sizeof hash);
  return bytes;
}

llvm::Error metate::grid::checkSection(StringRef section, size_t kernels) {
  metate_grid head;
  if (section.size() < sizeof head)
    return llvm::createStringError("a grid's payload is too short");
  std::memcpy(&head, section.data(), sizeof head);
  if (head.magic != METATE_GRID_MAGIC || head.bytes != section.size())
    return llvm::createStringError("a grid's payload does not begin as one");
  if (head.kernels.count != kernels)
    return llvm::createStringError("a grid's payload has " + Twine(head.kernels.count) +
                                   " kernels, expected " + Twine(kernels));
  return llvm::Error::success();
}
