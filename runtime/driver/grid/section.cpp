// Verification of payloads of grids: every table, string, image and expression is inside its bounds and agrees with the descriptor. It
// cannot be switched off. Whatever the bytes are, the work is bounded.
#include "driver/grid/section.h"

#include "driver/grid/expression.h"
#include "support/checked.h"

namespace metate::grid {

namespace {

// Tables may share what they name: this is how much of it is looked at, all together.
constexpr uint64_t mostLooks = 1u << 24;
// More invocations than any device has in a workgroup.
constexpr uint32_t mostGroup = 1u << 16;

class SectionVerifier {
public:
  SectionVerifier(const Descriptor &descriptor, Span payload)
      : descriptor(descriptor), payload(payload), section(payload.data) {}

  metate_status run() {
    METATE_TRY(checkHead());
    METATE_TRY(checkTables());
    findLastZero();
    const metate_grid &head = section.header();
    for (uint32_t i = 0; i < head.tasks.count; ++i)
      METATE_TRY(checkTask(i));
    for (uint32_t i = 0; i < head.kernels.count; ++i)
      METATE_TRY(checkKernel(i));
    for (uint32_t i = 0; i < head.parts.count; ++i)
      METATE_TRY(checkPart(i));
    for (uint32_t i = 0; i < head.prints.count; ++i)
      METATE_TRY(checkPrint(i));
    for (uint32_t i = 0; i < head.images.count; ++i)
      METATE_TRY(checkImage(i));
    return METATE_OK;
  }

private:
  Descriptor descriptor;
  Span payload;
  Section section;
  uint64_t looks = 0;
  uint64_t lastZero = 0; // strings that begin before it or there end inside

  const char *module() const { return descriptor.text(descriptor.header().name); }
  metate_status corrupt(const char *problem) const {
    return fail(METATE_E_CORRUPT, "the code of module '%s': %s", module(), problem);
  }
  metate_status corrupt(const char *what, uint32_t index, const char *problem) const {
    return fail(METATE_E_CORRUPT, "the code of module '%s': %s %u: %s", module(), what, index,
                problem);
  }
  metate_status look(uint64_t count) {
    looks += count;
    return looks <= mostLooks ? METATE_OK : corrupt("it names more than any compiler writes");
  }

  metate_status checkHead() const {
    if (payload.bytes < sizeof(metate_grid))
      return corrupt("it is shorter than a grid's head");
    const metate_grid &head = section.header();
    const metate_descriptor &whose = descriptor.header();
    if (head.magic != METATE_GRID_MAGIC || head.abi_version != METATE_ABI_VERSION)
      return corrupt("it is no grid, or of another version");
    if (head.descriptor_hash[0] != whose.signature_hash[0] ||
        head.descriptor_hash[1] != whose.signature_hash[1])
      return corrupt("it was compiled for another descriptor");
    if (head.bytes != payload.bytes)
      return corrupt("its head says another size");
    if (head.reserved)
      return corrupt("a reserved field is not zero");
    if (head.kernels.count < whose.kernels.count)
      return corrupt("it has fewer kernels than the descriptor");
    return METATE_OK;
  }

  metate_status checkTables() const {
    const metate_grid &head = section.header();
    const struct {
      const metate_table &table;
      uint64_t record, align;
    } tables[] = {{head.kernels, sizeof(metate_grid_kernel), 8},
                  {head.tasks, sizeof(metate_grid_task), 8},
                  {head.expressions, sizeof(metate_grid_step), 8},
                  {head.prints, sizeof(metate_grid_print), 8},
                  {head.parts, sizeof(metate_grid_part), 8},
                  {head.images, sizeof(metate_grid_image), 8},
                  {head.nodes, sizeof(metate_grid_node), 8},
                  {head.operands, sizeof(metate_grid_operand), 8},
                  {head.constants, 1, 16}};
    for (const auto &[table, record, align] : tables)
      if (table.count && (table.offset % align || table.offset < sizeof(metate_grid) ||
                          !inRange(table.offset, table.count * record, payload.bytes)))
        return corrupt("a table is outside it or misaligned");
    return METATE_OK;
  }

  void findLastZero() {
    lastZero = payload.bytes - 1;
    while (lastZero && payload.data[lastZero])
      --lastZero;
  }
  bool isText(uint32_t offset) const { return offset >= sizeof(metate_grid) && offset <= lastZero; }

  metate_status checkTask(uint32_t index) const {
    const metate_grid_task &task = section.tasks()[index];
    if (!isText(task.name) || !*section.text(task.name))
      return corrupt("task", index, "its name is outside, or empty");
    if (task.group == 0 || task.group > mostGroup)
      return corrupt("task", index, "its workgroup has no invocations, or too many");
    if (!inRange(task.first_step, task.step_count, section.header().expressions.count))
      return corrupt("task", index, "its expression is outside of the table");
    return METATE_OK;
  }

  metate_status checkKernel(uint32_t index) {
    const metate_grid_kernel &kernel = section.kernels()[index];
    const uint32_t flags = METATE_GRID_MAY_FAIL | METATE_GRID_PRINTS | METATE_GRID_FRAME;
    if ((kernel.flags & ~flags) || kernel.reserved)
      return corrupt("kernel", index, "unknown flags, or a reserved field is not zero");
    if (index < descriptor.header().kernels.count &&
        kernel.slot_count != descriptor.kernels()[index].slot_count)
      return corrupt("kernel", index, "it has another number of slots than the descriptor says");
    if (kernel.frame_bytes < METATE_GRID_VALUES || kernel.frame_bytes % 64)
      return corrupt("kernel", index, "its frame is too small or no multiple of 64 bytes");
    if (kernel.node_count)
      return checkGraph(index);
    if (!inRange(kernel.first_task, kernel.task_count, section.header().tasks.count))
      return corrupt("kernel", index, "its tasks are outside of the table");
    METATE_TRY(look(kernel.task_count));
    for (uint32_t i = 0; i < kernel.task_count; ++i) {
      const metate_grid_task &task = section.tasks()[kernel.first_task + i];
      METATE_TRY(look(task.step_count));
      const char *problem =
          task.step_count ? expressionProblem(task.first_step, task.step_count, {kernel.slot_count})
                          : nullptr;
      if (problem)
        return corrupt("task", kernel.first_task + i, problem);
    }
    return METATE_OK;
  }

  // Loops lie in one another: `ends` are those of the ones around a node.
  metate_status checkGraph(uint32_t index) {
    const metate_grid_kernel &graph = section.kernels()[index];
    if (graph.task_count ||
        !inRange(graph.first_node, graph.node_count, section.header().nodes.count))
      return corrupt("kernel", index,
                     "it has tasks and nodes, or its nodes are outside of the table");
    METATE_TRY(look(graph.node_count));
    uint32_t ends[METATE_GRID_MAX_LOOPS], depth = 0;
    const uint32_t end = graph.first_node + graph.node_count;
    for (uint32_t i = graph.first_node; i < end; ++i) {
      while (depth && ends[depth - 1] == i)
        --depth;
      const metate_grid_node &node = section.nodes()[i];
      if (node.reserved)
        return corrupt("node", i, "a reserved field is not zero");
      if (node.kernel != METATE_NONE) {
        METATE_TRY(checkRun(graph, i, depth));
        continue;
      }
      if (depth == METATE_GRID_MAX_LOOPS)
        return corrupt("node", i, "too many loops are around it");
      const uint32_t rest = (depth ? ends[depth - 1] : end) - (i + 1);
      if (!node.node_count || node.node_count > rest)
        return corrupt("node", i, "its body is empty, or ends behind what is around it");
      METATE_TRY(checkOperands(graph, i, 1, depth));
      ends[depth++] = i + 1 + node.node_count;
    }
    return METATE_OK;
  }

  metate_status checkRun(const metate_grid_kernel &graph, uint32_t index, uint32_t depth) {
    const metate_grid_node &node = section.nodes()[index];
    if (node.kernel >= section.header().kernels.count)
      return corrupt("node", index, "it runs a kernel that is not there");
    const metate_grid_kernel &inner = section.kernels()[node.kernel];
    if (inner.node_count || node.node_count)
      return corrupt("node", index, "it runs a graph, or has a body");
    if (inner.frame_bytes > graph.frame_bytes || (inner.flags & ~graph.flags))
      return corrupt("node", index, "its kernel needs more than the graph");
    if (inner.slot_count > METATE_GRID_MAX_SLOTS)
      return corrupt("node", index, "its kernel has too many slots");
    return checkOperands(graph, index, inner.slot_count, depth);
  }

  metate_status checkOperands(const metate_grid_kernel &graph, uint32_t index, uint32_t count,
                              uint32_t depth) {
    const uint32_t first = section.nodes()[index].first_operand;
    if (!inRange(first, count, section.header().operands.count))
      return corrupt("node", index, "its operands are outside of the table");
    METATE_TRY(look(count));
    for (uint32_t i = 0; i < count; ++i) {
      const metate_grid_operand &operand = section.operands()[first + i];
      if (!operand.step_count ||
          !inRange(operand.first_step, operand.step_count, section.header().expressions.count))
        return corrupt("operand", first + i, "its expression is empty or outside of the table");
      METATE_TRY(look(operand.step_count));
      if (const char *problem = expressionProblem(
              operand.first_step, operand.step_count,
              {graph.slot_count, depth, graph.flags & METATE_GRID_FRAME ? graph.frame_bytes : 0}))
        return corrupt("operand", first + i, problem);
    }
    return METATE_OK;
  }

  // What an expression may read: slots, turns of so many loops, addresses in a frame.
  struct Readable {
    uint32_t slots, loops = 0, frameBytes = 0;
  };
  // What is wrong with the expression, or NULL.
  const char *expressionProblem(uint32_t first, uint32_t count, Readable readable) const {
    uint32_t depth = 0;
    for (uint32_t i = 0; i < count; ++i) {
      const metate_grid_step &step = section.steps()[first + i];
      const StepKind kind = kindOf(step.operation);
      if (kind == StepKind::unknown || step.reserved)
        return "its expression has an unknown step";
      if (kind == StepKind::slot && (step.value < 0 || step.value >= readable.slots))
        return "its expression reads a slot that the kernel does not have";
      if (kind == StepKind::turn && (step.value < 0 || step.value >= readable.loops))
        return "its expression reads a loop that is not around it";
      if (kind == StepKind::frame &&
          (step.value < METATE_GRID_VALUES || step.value >= readable.frameBytes))
        return "its expression gives an address outside of the frame";
      if (kind == StepKind::unary && (step.value < 1 || step.value > 63))
        return "its expression keeps no bits, or all";
      const uint32_t takes = kind == StepKind::binary ? 2 : kind == StepKind::unary;
      if (depth < takes)
        return "its expression takes more than there is";
      depth += 1 - takes;
      if (depth > METATE_GRID_MAX_DEPTH)
        return "its expression needs too deep a stack";
    }
    return depth != 1 ? "its expression leaves more than one value" : nullptr;
  }

  metate_status checkPart(uint32_t index) const {
    const metate_grid_part &part = section.parts()[index];
    if (part.kind > METATE_PRINT_FORMAT)
      return corrupt("part", index, "it is of an unknown kind");
    bool isText = part.kind == METATE_PRINT_TEXT || part.kind == METATE_PRINT_FORMAT;
    if (isText && !this->isText(part.text))
      return corrupt("part", index, "its text is outside");
    return METATE_OK;
  }

  metate_status checkPrint(uint32_t index) {
    const metate_grid_print &print = section.prints()[index];
    if (!inRange(print.first_part, print.part_count, section.header().parts.count))
      return corrupt("print", index, "its parts are outside of the table");
    METATE_TRY(look(print.part_count));
    const metate_grid_part *parts = section.parts() + print.first_part;
    for (uint32_t i = 0; i < print.part_count; ++i)
      if (parts[i].kind == METATE_PRINT_FORMAT &&
          (i + 1 == print.part_count || parts[i + 1].kind == METATE_PRINT_TEXT ||
           parts[i + 1].kind == METATE_PRINT_FORMAT))
        return corrupt("print", index, "a format has no value behind it");
    return METATE_OK;
  }

  metate_status checkImage(uint32_t index) const {
    const metate_grid_image &image = section.images()[index];
    if (image.format < METATE_GRID_PTX || image.format > METATE_GRID_OBJECT)
      return corrupt("image", index, "it is of an unknown format");
    if (image.offset % 16 || image.offset < sizeof(metate_grid) || !image.bytes ||
        !inRange(image.offset, image.bytes, payload.bytes))
      return corrupt("image", index, "it is empty, outside or misaligned");
    if (image.format == METATE_GRID_PTX && payload.data[image.offset + image.bytes - 1])
      return corrupt("image", index, "its text does not end");
    if (image.format == METATE_GRID_SPIRV && image.bytes % 4)
      return corrupt("image", index, "it is no sequence of words");
    return METATE_OK;
  }
};

} // namespace

metate_status verifySection(const Descriptor &descriptor, Span payload) {
  return SectionVerifier(descriptor, payload).run();
}

} // namespace metate::grid
