//===- Table.cpp - the launch table as attributes and as bytes --*- C++ -*-===//
#include "metate/Target/Grid/Table.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MathExtras.h"

#include <cstring>

using namespace mlir;
using namespace metate::grid;

// Of the module: the dialect's own attributes are of kernels and what is in them.
static constexpr llvm::StringLiteral kernelsName = "metate_grid.kernels",
                                     printsName = "metate_grid.prints";

//===-- attributes ------------------------------------------------------------===//

static Attribute toAttribute(Builder &builder, ArrayRef<Step> expression) {
  SmallVector<int64_t> steps;
  for (const Step &step : expression)
    steps.append({int64_t(step.operation), step.value});
  return builder.getDenseI64ArrayAttr(steps);
}

static std::vector<Step> readSteps(Attribute attribute) {
  std::vector<Step> expression;
  ArrayRef<int64_t> steps = cast<DenseI64ArrayAttr>(attribute).asArrayRef();
  for (; !steps.empty(); steps = steps.drop_front(2))
    expression.push_back({metate_grid_operation(steps[0]), steps[1]});
  return expression;
}

static Attribute toAttribute(Builder &builder, const Node &node) {
  SmallVector<Attribute> operands;
  for (const std::vector<Step> &operand : node.operands)
    operands.push_back(toAttribute(builder, operand));
  return builder.getDictionaryAttr(
      {builder.getNamedAttr("kernel", builder.getStringAttr(node.kernel)),
       builder.getNamedAttr("operands", builder.getArrayAttr(operands)),
       builder.getNamedAttr("body", builder.getI64IntegerAttr(node.body))});
}

static Attribute toAttribute(Builder &builder, const Task &task) {
  SmallVector<NamedAttribute> parts = {
      builder.getNamedAttr("name", builder.getStringAttr(task.name)),
      builder.getNamedAttr("group", builder.getI64IntegerAttr(task.group)),
      builder.getNamedAttr("line", builder.getI64IntegerAttr(task.line)),
      builder.getNamedAttr("most", builder.getI64IntegerAttr(task.mostInvocations)),
      builder.getNamedAttr("iterations", toAttribute(builder, task.iterations))};
  if (task.sharedBytes)
    parts.push_back(builder.getNamedAttr("shared", builder.getI64IntegerAttr(task.sharedBytes)));
  return builder.getDictionaryAttr(parts);
}

static Attribute toAttribute(Builder &builder, const Kernel &kernel) {
  SmallVector<Attribute> tasks, nodes;
  for (const Task &task : kernel.tasks)
    tasks.push_back(toAttribute(builder, task));
  for (const Node &node : kernel.nodes)
    nodes.push_back(toAttribute(builder, node));
  return builder.getDictionaryAttr(
      {builder.getNamedAttr("entry", builder.getStringAttr(kernel.entry)),
       builder.getNamedAttr("frame", builder.getI64IntegerAttr(kernel.frameBytes)),
       builder.getNamedAttr("flags", builder.getI64IntegerAttr(kernel.flags)),
       builder.getNamedAttr("slots", builder.getI64IntegerAttr(kernel.slots)),
       builder.getNamedAttr("tasks", builder.getArrayAttr(tasks)),
       builder.getNamedAttr("nodes", builder.getArrayAttr(nodes))});
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
    task.sharedBytes = one.contains("shared") ? numberOf(one, "shared") : 0;
    task.line = numberOf(one, "line");
    task.iterations = readSteps(one.get("iterations"));
    kernel.tasks.push_back(std::move(task));
  }
  for (auto one : attribute.getAs<ArrayAttr>("nodes").getAsRange<DictionaryAttr>()) {
    Node &node = kernel.nodes.emplace_back();
    node.kernel = one.getAs<StringAttr>("kernel").str();
    node.body = numberOf(one, "body");
    for (Attribute operand : one.getAs<ArrayAttr>("operands"))
      node.operands.push_back(readSteps(operand));
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

const Kernel *Table::find(StringRef entry) const {
  for (const Kernel &kernel : kernels)
    if (kernel.entry == entry)
      return &kernel;
  return nullptr;
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
  std::vector<metate_grid_node> nodes;
  std::vector<metate_grid_operand> operands;
  Strings strings;

  void add(ArrayRef<Step> expression) {
    for (const Step &step : expression)
      steps.push_back({uint32_t(step.operation), 0, step.value});
  }

  /// `numbers`: of the kernels in the section, by their entries.
  void add(const Kernel &kernel, const llvm::StringMap<uint32_t> &numbers) {
    kernels.push_back({uint32_t(tasks.size()), uint32_t(kernel.tasks.size()), kernel.frameBytes,
                       kernel.flags, kernel.slots, uint32_t(nodes.size()),
                       uint32_t(kernel.nodes.size()), 0});
    for (const Task &task : kernel.tasks) {
      tasks.push_back({strings.add(task.name), task.group, uint32_t(steps.size()),
                       uint32_t(task.iterations.size()), task.mostInvocations, task.sharedBytes,
                       task.line, 0});
      add(task.iterations);
    }
    for (const Node &node : kernel.nodes) {
      uint32_t inner = node.kernel.empty() ? METATE_NONE : numbers.lookup(node.kernel);
      nodes.push_back({inner, uint32_t(operands.size()), node.body, 0});
      for (const std::vector<Step> &operand : node.operands) {
        operands.push_back({uint32_t(steps.size()), uint32_t(operand.size())});
        add(operand);
      }
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
  std::vector<const Kernel *> kernels;
  llvm::StringMap<uint32_t> numbers;
  auto append = [&](const Kernel *kernel) {
    if (kernel && numbers.try_emplace(kernel->entry, uint32_t(kernels.size())).second)
      kernels.push_back(kernel);
  };
  for (StringRef entry : entries)
    append(table.find(entry));
  for (size_t i = 0, count = kernels.size(); i < count; ++i)
    for (const Node &node : kernels[i]->nodes)
      append(table.find(node.kernel));
  for (const Kernel *kernel : kernels)
    records.add(*kernel, numbers);
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
  head.nodes = place(end, records.nodes);
  head.operands = place(end, records.operands);
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
  put(bytes, head.nodes, records.nodes);
  put(bytes, head.operands, records.operands);
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

template <typename Record>
static std::vector<Record> recordsOf(StringRef section, metate_table table) {
  std::vector<Record> records(table.count);
  if (!records.empty())
    std::memcpy(records.data(), section.data() + table.offset, records.size() * sizeof(Record));
  return records;
}

Contents metate::grid::contentsOf(StringRef section) {
  metate_grid head;
  std::memcpy(&head, section.data(), sizeof head);
  Contents contents;
  for (const metate_grid_task &task : recordsOf<metate_grid_task>(section, head.tasks))
    contents.functions.push_back(section.data() + task.name);
  for (const metate_grid_image &image : recordsOf<metate_grid_image>(section, head.images))
    contents.images.push_back({metate_grid_format(image.format), image.level,
                               section.substr(image.offset, image.bytes).str()});
  return contents;
}

llvm::Error metate::grid::checkSection(StringRef section, size_t kernels) {
  metate_grid head;
  if (section.size() < sizeof head)
    return llvm::createStringError("a grid's payload is too short");
  std::memcpy(&head, section.data(), sizeof head);
  if (head.magic != METATE_GRID_MAGIC || head.bytes != section.size())
    return llvm::createStringError("a grid's payload does not begin as one");
  if (head.kernels.count < kernels)
    return llvm::createStringError("a grid's payload has " + Twine(head.kernels.count) +
                                   " kernels, expected at least " + Twine(kernels));
  return llvm::Error::success();
}
