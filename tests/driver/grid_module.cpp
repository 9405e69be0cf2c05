// Writing payloads of grids.
#include "grid_module.h"

#include <cstddef>
#include <cstring>

namespace metate::test {

metate_grid_step constant(int64_t value) { return {METATE_GRID_CONSTANT, 0, value}; }
metate_grid_step slot(uint32_t number) { return {METATE_GRID_SLOT, 0, number}; }
metate_grid_step apply(uint32_t operation, int64_t value) { return {operation, 0, value}; }

Bytes gridPayload(const GridSpec &spec, const Bytes &descriptor) {
  std::vector<metate_grid_kernel> kernels;
  std::vector<metate_grid_task> tasks;
  std::vector<metate_grid_step> steps;
  std::vector<metate_grid_print> prints;
  std::vector<metate_grid_part> parts;
  std::vector<metate_grid_image> images;
  std::vector<metate_grid_node> nodes;
  std::vector<metate_grid_operand> operands;
  std::vector<uint32_t *> names;
  std::vector<std::string> texts;
  for (const GridKernelSpec &kernel : spec.kernels) {
    kernels.push_back({uint32_t(tasks.size()), uint32_t(kernel.tasks.size()), kernel.frameBytes,
                       kernel.flags, kernel.slots, uint32_t(nodes.size()),
                       uint32_t(kernel.nodes.size()), 0});
    for (const NodeSpec &node : kernel.nodes) {
      nodes.push_back({node.kernel, uint32_t(operands.size()), node.body, 0});
      for (const auto &operand : node.operands) {
        operands.push_back({uint32_t(steps.size()), uint32_t(operand.size())});
        steps.insert(steps.end(), operand.begin(), operand.end());
      }
    }
    for (const TaskSpec &task : kernel.tasks) {
      tasks.push_back({0, task.group, uint32_t(steps.size()), uint32_t(task.steps.size()),
                       task.most, task.shared, task.line, 0});
      steps.insert(steps.end(), task.steps.begin(), task.steps.end());
      texts.push_back(task.name);
    }
  }
  for (const auto &print : spec.prints) {
    prints.push_back({uint32_t(parts.size()), uint32_t(print.size())});
    for (const PartSpec &part : print)
      parts.push_back({part.kind, 0});
  }
  metate_grid head{};
  head.magic = METATE_GRID_MAGIC;
  head.abi_version = METATE_ABI_VERSION;
  std::memcpy(head.descriptor_hash, descriptor.data() + offsetof(metate_descriptor, signature_hash),
              16);
  Bytes out;
  out.append(&head, sizeof head);
  auto reserve = [&](auto &records, size_t count) {
    records.resize(count);
    return metate_table{uint32_t(out.append(records.data(), count * sizeof records[0], 8)),
                        uint32_t(count)};
  };
  head.kernels = reserve(kernels, kernels.size());
  head.tasks = reserve(tasks, tasks.size());
  head.expressions = reserve(steps, steps.size());
  head.prints = reserve(prints, prints.size());
  head.parts = reserve(parts, parts.size());
  head.images = reserve(images, spec.images.size());
  head.nodes = reserve(nodes, nodes.size());
  head.operands = reserve(operands, operands.size());
  for (size_t i = 0; i < images.size(); ++i) {
    const ImageSpec &image = spec.images[i];
    images[i] = {image.format, image.level,
                 uint32_t(out.append(image.bytes.data(), image.bytes.size(), 16)),
                 uint32_t(image.bytes.size())};
  }
  if (spec.constants.size())
    head.constants = {uint32_t(out.append(spec.constants.data(), spec.constants.size(), 16)),
                      uint32_t(spec.constants.size())};
  for (size_t i = 0; i < tasks.size(); ++i)
    tasks[i].name = uint32_t(out.append(texts[i]));
  size_t next = 0;
  for (const auto &print : spec.prints)
    for (const PartSpec &part : print) {
      if (part.kind == METATE_PRINT_TEXT || part.kind == METATE_PRINT_FORMAT)
        parts[next].text = uint32_t(out.append(part.text));
      ++next;
    }
  head.bytes = uint32_t(out.size());
  auto store = [&](const metate_table &table, const auto &records) {
    if (!records.empty())
      std::memcpy(out.data() + table.offset, records.data(), records.size() * sizeof records[0]);
  };
  std::memcpy(out.data(), &head, sizeof head);
  store(head.kernels, kernels);
  store(head.tasks, tasks);
  store(head.expressions, steps);
  store(head.prints, prints);
  store(head.parts, parts);
  store(head.images, images);
  store(head.nodes, nodes);
  store(head.operands, operands);
  return out;
}

ModuleSpec gridModuleSpec(uint32_t arch, uint32_t level) {
  auto array = [](const char *name, uint32_t dtype, uint32_t access) {
    ArgumentSpec spec{name, METATE_ARGUMENT_NDARRAY, dtype};
    spec.rank = 1;
    spec.access = access;
    return spec;
  };
  auto scalar = [](const char *name, uint32_t dtype) {
    return ArgumentSpec{name, METATE_ARGUMENT_SCALAR, dtype};
  };
  const uint32_t read = METATE_ACCESS_READ, write = METATE_ACCESS_WRITE;
  ModuleSpec spec;
  spec.name = "grid";
  spec.kernels = {
      {"fill", {array("x", METATE_I32, write), scalar("value", METATE_I32)}},
      {"check", {array("x", METATE_I32, read), array("y", METATE_I32, write)}},
      {"say", {array("x", METATE_I32, read)}},
      {"flood", {scalar("count", METATE_I32)}},
      {"total", {array("x", METATE_I32, read), array("out", METATE_I64, write)}},
      {"pooled",
       {array("out", METATE_U64, write)},
       0,
       METATE_NONE,
       {{"one", METATE_POOL_LAUNCH, 64, 64}, {"two", METATE_POOL_LAUNCH, 4096, 1024}}},
      {"count", {array("out", METATE_U64, read | write)}},
      {"stop", {scalar("word", METATE_U64)}},
      {"crash", {}},
      {"look", {array("out", METATE_U64, write)}},
      {"relay",
       {array("x", METATE_I32, read | write), scalar("turns", METATE_I64),
        array("out", METATE_I64, write)}},
  };
  spec.texts = {{"grid.py", 7, 3, "x must not be negative"}};
  spec.variants = {
      {arch, level, METATE_FORMAT_GRID, arch == METATE_ARCH_VULKAN ? "lavapipe" : "any", ""}};
  return spec;
}

GridSpec gridSpec(std::vector<ImageSpec> images) {
  GridSpec spec;
  const std::vector<metate_grid_step> extent = {slot(1)};
  spec.kernels = {
      {0, 4, {{"fill", 64, extent, 0, 0, 3}}},
      {METATE_GRID_MAY_FAIL, 6, {{"check", 64, extent}, {"check_copy", 64, extent}}},
      {METATE_GRID_PRINTS, 3, {{"say", 1}}},
      {METATE_GRID_PRINTS, 1, {{"flood", 1}}},
      {METATE_GRID_FRAME,
       6,
       {{"total", 1, {}, 0, 0, 4}, {"total_put", 1, {}, 0, 0, 5}},
       METATE_GRID_VALUES + 64},
      {METATE_GRID_FRAME, 3, {{"pooled", 1}}},
      {0, 3, {{"count", 32, {}, 100}}},
      {METATE_GRID_MAY_FAIL, 1, {{"stop", 1}, {"stop_ask", 1}}},
      {0, 0, {{"crash", 1}}},
      {0, 3, {{"look", 64, extent}}},
      // for i in range(turns): for j in range(2): fill(x, 10 * i + j), total(x, out)
      {METATE_GRID_FRAME, 7, {}, METATE_GRID_VALUES + 64},
      {0, 4, {{"fill", 64, extent}}},
  };
  const metate_grid_step turn = {METATE_GRID_TURN, 0, 0}, inner = {METATE_GRID_TURN, 0, 1};
  spec.kernels[GRID_RELAY].nodes = {
      {METATE_NONE, {{slot(3)}}, 3},
      {METATE_NONE, {{constant(2)}}, 2},
      {GRID_INNER,
       {{slot(0)},
        {slot(1)},
        {slot(2)},
        {turn, constant(10), apply(METATE_GRID_MUL), inner, apply(METATE_GRID_ADD)}}},
      {GRID_TOTAL, {{slot(0)}, {slot(1)}, {slot(2)}, {slot(4)}, {slot(5)}, {slot(6)}}},
  };
  spec.prints = {{{METATE_PRINT_TEXT, "x["},
                  {METATE_PRINT_I64},
                  {METATE_PRINT_TEXT, "] = "},
                  {METATE_PRINT_FORMAT, "+05"},
                  {METATE_PRINT_I64},
                  {METATE_PRINT_TEXT, "\n"}},
                 {{METATE_PRINT_I64}, {METATE_PRINT_TEXT, " in all\n"}}};
  spec.images = std::move(images);
  return spec;
}

ImageSpec gridText(const std::string &text, uint32_t level) {
  Bytes bytes;
  bytes.append(text);
  return {METATE_GRID_PTX, level, bytes};
}

Bytes gridFile(uint32_t arch, uint32_t level, const GridSpec &spec, const char *cpu) {
  ModuleSpec module = gridModuleSpec(arch, level);
  if (cpu)
    module.variants[0].cpu = cpu;
  Bytes head = descriptor(module);
  return carrier(head, {gridPayload(spec, head)});
}

} // namespace metate::test
