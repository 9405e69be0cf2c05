// Verification of payloads of grids: every table, string, image and expression is inside its bounds and agrees with the descriptor. It
// cannot be switched off. Whatever the bytes are, the work is bounded.
#include "driver/grid/section.h"

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
    if (head.kernels.count != whose.kernels.count)
      return corrupt("it has another number of kernels");
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
    if (kernel.slot_count != descriptor.kernels()[index].slot_count)
      return corrupt("kernel", index, "it has another number of slots than the descriptor says");
    if (kernel.frame_bytes < METATE_GRID_VALUES || kernel.frame_bytes % 64)
      return corrupt("kernel", index, "its frame is too small or no multiple of 64 bytes");
    if (!inRange(kernel.first_task, kernel.task_count, section.header().tasks.count))
      return corrupt("kernel", index, "its tasks are outside of the table");
    METATE_TRY(look(kernel.task_count));
    for (uint32_t i = 0; i < kernel.task_count; ++i) {
      const metate_grid_task &task = section.tasks()[kernel.first_task + i];
      METATE_TRY(look(task.step_count));
      if (const char *problem = expressionProblem(task, kernel.slot_count))
        return corrupt("task", kernel.first_task + i, problem);
    }
    return METATE_OK;
  }

  // What is wrong with the expression, or NULL.
  const char *expressionProblem(const metate_grid_task &task, uint32_t slotCount) const {
    uint32_t depth = 0;
    for (uint32_t i = 0; i < task.step_count; ++i) {
      const metate_grid_step &step = section.steps()[task.first_step + i];
      if (step.operation < METATE_GRID_CONSTANT || step.operation > METATE_GRID_CEIL_DIV ||
          step.reserved)
        return "its expression has an unknown step";
      if (step.operation > METATE_GRID_SLOT_I32) {
        if (depth < 2)
          return "its expression takes more than there is";
        --depth;
        continue;
      }
      bool isSlot = step.operation != METATE_GRID_CONSTANT;
      if (isSlot && (step.value < 0 || step.value >= slotCount))
        return "its expression reads a slot that the kernel does not have";
      if (++depth > METATE_GRID_MAX_DEPTH)
        return "its expression needs too deep a stack";
    }
    return task.step_count && depth != 1 ? "its expression leaves more than one value" : nullptr;
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
