// What drivers of grids share, without a device: the verifier of payloads, iterations, frames, prints, ranges.
#include "fixture.h"
#include "grid_module.h"

#include "driver/grid/expression.h"
#include "driver/grid/frame.h"
#include "driver/grid/prints.h"
#include "driver/grid/ranges.h"
#include "driver/grid/runs.h"
#include "driver/grid/shape.h"
#include "driver/grid/times.h"

#include <random>

using namespace metate::test;
using metate::Descriptor;
namespace grid = metate::grid;

namespace {

metate_allocator heap() {
  return {nullptr,
          [](void *, size_t bytes, size_t align) {
            return std::aligned_alloc(align < 16 ? 16 : align, (bytes + 63) / 64 * 64);
          },
          [](void *, void *pointer, size_t, size_t) { std::free(pointer); }};
}

struct Written {
  Bytes head = descriptor(gridModuleSpec(METATE_ARCH_SIMT, 0));
  GridSpec spec = gridSpec({gridText("text", 80)});
  Bytes payload = gridPayload(spec, head);

  metate_status verify() {
    return grid::verifySection(Descriptor(head.data()), {payload.data(), payload.size()});
  }
  metate_grid &grid() { return *payload.at<metate_grid>(0); }
  template <typename T> T &at(const metate_table &table, size_t index) {
    return payload.at<T>(table.offset)[index];
  }
  metate_grid_kernel &kernel(size_t i) { return at<metate_grid_kernel>(grid().kernels, i); }
  metate_grid_task &task(size_t i) { return at<metate_grid_task>(grid().tasks, i); }
  metate_grid_step &step(size_t i) { return at<metate_grid_step>(grid().expressions, i); }
  metate_grid_image &image(size_t i) { return at<metate_grid_image>(grid().images, i); }
};

} // namespace

TEST(GridSection, soundOnesAreAccepted) {
  Written written;
  EXPECT_OK(written.verify());
  grid::Payload payload(heap());
  ASSERT_OK(payload.open(Descriptor(written.head.data()), 0,
                         {written.payload.data(), written.payload.size()}));
  EXPECT_EQ(payload.poolCount(GRID_POOLED), 2u);
  EXPECT_EQ(payload.poolCount(GRID_FILL), 0u);
  EXPECT_EQ(payload.mostParts(), 6u);
  EXPECT_STREQ(payload.section().name(payload.section().tasks()[1]), "check");
}

TEST(GridSection, whatIsWrongIsSaid) {
  auto expect = [](const char *text, auto damage) {
    Written written;
    damage(written);
    EXPECT_FAILS(METATE_E_CORRUPT, written.verify(), "module 'grid'", text);
  };
  using W = Written;
  expect("no grid", [](W &w) { w.grid().magic = 1; });
  expect("another version", [](W &w) { ++w.grid().abi_version; });
  expect("another descriptor", [](W &w) { ++w.grid().descriptor_hash[1]; });
  expect("another size", [](W &w) { ++w.grid().bytes; });
  expect("reserved", [](W &w) { w.grid().reserved = 1; });
  expect("fewer kernels", [](W &w) { w.grid().kernels.count -= 2; });
  expect("a table", [](W &w) { w.grid().tasks.count = 1u << 31; });
  expect("a table", [](W &w) { w.grid().parts.offset += 4; });
  expect("a table", [](W &w) { w.grid().images.offset = 0; });
  expect("a table", [](W &w) { w.grid().constants = {8, 16}; });
  expect("flags", [](W &w) { w.kernel(0).flags = 8; });
  expect("number of slots", [](W &w) { ++w.kernel(0).slot_count; });
  expect("frame", [](W &w) { w.kernel(0).frame_bytes = 448; });
  expect("frame", [](W &w) { w.kernel(0).frame_bytes = 513; });
  expect("its tasks", [](W &w) { w.kernel(0).first_task = ~0u; });
  expect("its name", [](W &w) { w.task(0).name = 0; });
  expect("its name", [](W &w) { w.task(0).name = uint32_t(w.payload.size()); });
  expect("workgroup", [](W &w) { w.task(0).group = 0; });
  expect("workgroup", [](W &w) { w.task(0).group = ~0u; });
  expect("expression is outside", [](W &w) { w.task(0).first_step = ~0u; });
  expect("unknown step", [](W &w) { w.step(0).operation = 19; });
  expect("unknown step", [](W &w) { w.step(0).reserved = 1; });
  expect("takes more", [](W &w) { w.step(0).operation = METATE_GRID_ADD; });
  expect("a slot", [](W &w) { w.step(0).value = 4; });
  expect("a slot", [](W &w) { w.step(0).value = -1; });
  expect("leaves more", [](W &w) { w.task(0).step_count = 2; });
  expect("unknown kind", [](W &w) { w.at<metate_grid_part>(w.grid().parts, 0).kind = 7; });
  expect("its text", [](W &w) { w.at<metate_grid_part>(w.grid().parts, 0).text = 8; });
  expect("no value", [](W &w) {
    w.at<metate_grid_part>(w.grid().parts, 4).kind = 0,
                                           w.at<metate_grid_part>(w.grid().parts, 4).text =
                                               w.task(0).name;
  });
  expect("its parts", [](W &w) { w.at<metate_grid_print>(w.grid().prints, 1).first_part = 7; });
  expect("unknown format", [](W &w) { w.image(0).format = 5; });
  expect("misaligned", [](W &w) { w.image(0).offset += 8; });
  expect("does not end", [](W &w) { --w.image(0).bytes; });
  expect("words", [](W &w) { w.image(0).format = METATE_GRID_SPIRV; });
  expect("keeps no bits", [](W &w) { w.step(0) = {METATE_GRID_SIGN_EXTEND, 0, 64}; });
  expect("of the frame", [](W &w) { w.step(0) = {METATE_GRID_FRAME_AT, 0, METATE_GRID_VALUES}; });
  expect("not around it", [](W &w) { w.step(0) = {METATE_GRID_TURN, 0, 0}; });
  const auto node = [](W &w, size_t i) -> metate_grid_node & {
    return w.at<metate_grid_node>(w.grid().nodes, i);
  };
  expect("tasks and nodes", [](W &w) { w.kernel(GRID_RELAY).task_count = 1; });
  expect("tasks and nodes", [](W &w) { w.kernel(GRID_RELAY).first_node = 1; });
  expect("not there", [=](W &w) { node(w, 2).kernel = GRID_INNER + 1; });
  expect("runs a graph", [=](W &w) { node(w, 2).kernel = GRID_RELAY; });
  expect("has a body", [=](W &w) { node(w, 2).node_count = 1; });
  expect("reserved", [=](W &w) { node(w, 1).reserved = 1; });
  expect("its body", [=](W &w) { node(w, 0).node_count = 0; });
  expect("its body", [=](W &w) { node(w, 0).node_count = 4; });
  expect("its body", [=](W &w) { node(w, 1).node_count = 3; });
  expect("its operands", [=](W &w) { node(w, 3).first_operand = ~0u; });
  expect("needs more", [](W &w) { w.kernel(GRID_RELAY).flags = 0; });
  expect("needs more", [](W &w) { w.kernel(GRID_RELAY).frame_bytes = METATE_GRID_VALUES; });
  expect("too many slots", [](W &w) { w.kernel(GRID_INNER).slot_count = 513; });
  expect("not around it", [](W &w) { w.kernel(GRID_RELAY) = {0, 0, 576, 4, 7, 1, 3, 0}; });
  expect("is empty", [](W &w) { w.at<metate_grid_operand>(w.grid().operands, 0).step_count = 0; });
  for (size_t bytes : {0, 8, 103}) {
    Written written;
    written.payload.resize(bytes);
    EXPECT_FAILS(METATE_E_CORRUPT, written.verify(), "shorter");
  }
}

// The stack is as deep as it may be, and not deeper.
TEST(GridSection, expressionsHaveADepth) {
  for (uint32_t depth : {uint32_t(METATE_GRID_MAX_DEPTH), METATE_GRID_MAX_DEPTH + 1u}) {
    Written written;
    auto &steps = written.spec.kernels[0].tasks[0].steps;
    steps.assign(depth, constant(1));
    steps.insert(steps.end(), depth - 1, apply(METATE_GRID_ADD));
    written.payload = gridPayload(written.spec, written.head);
    if (depth == METATE_GRID_MAX_DEPTH)
      EXPECT_OK(written.verify());
    else
      EXPECT_FAILS(METATE_E_CORRUPT, written.verify(), "too deep");
  }
}

// Each byte takes several other values: what is accepted can be read and evaluated without leaving the bytes.
TEST(GridSection, damagedBytesAreHarmless) {
  const Bytes sound = Written().payload;
  const Bytes head = Written().head;
  std::vector<metate_slot> slots(8);
  size_t accepted = 0;
  for (size_t i = 0; i < sound.size(); ++i)
    for (uint8_t flip : {0x01, 0x80, 0xff, 0x10, 0x08}) {
      Bytes damaged = sound;
      damaged.data()[i] ^= flip;
      grid::Payload payload(heap());
      metate_status status =
          payload.open(Descriptor(head.data()), 0, {damaged.data(), damaged.size()});
      if (status != METATE_OK) {
        ASSERT_EQ(status, METATE_E_CORRUPT) << i;
        continue;
      }
      ++accepted;
      const grid::Section &section = payload.section();
      for (uint32_t k = 0; k < section.header().kernels.count; ++k)
        for (uint32_t t = 0; t < section.kernels()[k].task_count; ++t) {
          const metate_grid_task &task = section.tasks()[section.kernels()[k].first_task + t];
          EXPECT_GT(strlen(section.name(task)), 0u);
          grid::shapeOf(section, task, slots.data(), {4096, 640});
        }
      for (uint32_t k = 0; k < section.header().kernels.count; ++k) {
        grid::Runs runs(section, section.kernels()[k], slots.data(), 0, nullptr);
        grid::Run run;
        for (int i = 0; i < 10 && runs.next(&run); ++i)
          EXPECT_LE(run.kernel->frame_bytes, section.kernels()[k].frame_bytes);
      }
    }
  EXPECT_GT(accepted, 0u);
  // So are those that end early.
  for (size_t bytes = 0; bytes < sound.size(); ++bytes) {
    Bytes damaged = sound;
    damaged.resize(bytes);
    if (bytes >= sizeof(metate_grid))
      damaged.at<metate_grid>(0)->bytes = uint32_t(bytes);
    grid::verifySection(Descriptor(head.data()), {damaged.data(), damaged.size()});
  }
}

TEST(GridShape, expressionsAreEvaluated) {
  const int64_t least = INT64_MIN, most = INT64_MAX;
  metate_slot slots[2];
  slots[0].u = 0xffffffff80000001;
  slots[1].i = -7;
  auto value = [&](std::vector<metate_grid_step> steps) {
    return grid::evaluate(steps.data(), uint32_t(steps.size()), slots);
  };
  auto both = [&](int64_t a, int64_t b, uint32_t operation) {
    return value({constant(a), constant(b), apply(operation)});
  };
  EXPECT_EQ(value({constant(5)}), 5);
  EXPECT_EQ(value({slot(1)}), -7);
  EXPECT_EQ(value({slot(0), apply(METATE_GRID_SIGN_EXTEND, 32)}), int32_t(0x80000001));
  EXPECT_EQ(value({slot(0), apply(METATE_GRID_ZERO_EXTEND, 32)}), int64_t(0x80000001));
  EXPECT_EQ(value({slot(0), apply(METATE_GRID_SIGN_EXTEND, 1)}), -1);
  EXPECT_EQ(value({slot(1), apply(METATE_GRID_ZERO_EXTEND, 63)}), most - 6);
  EXPECT_EQ(both(12, 10, METATE_GRID_AND), 8);
  EXPECT_EQ(both(12, 10, METATE_GRID_OR), 14);
  EXPECT_EQ(both(12, 10, METATE_GRID_XOR), 6);
  EXPECT_EQ(both(-1, 63, METATE_GRID_SHIFT_LEFT), least);
  EXPECT_EQ(both(-1, 1, METATE_GRID_SHIFT_RIGHT), most);
  for (int64_t far : {int64_t(64), int64_t(-1)}) {
    EXPECT_EQ(both(-1, far, METATE_GRID_SHIFT_LEFT), 0);
    EXPECT_EQ(both(-1, far, METATE_GRID_SHIFT_RIGHT), 0);
  }
  EXPECT_EQ(both(most, 1, METATE_GRID_ADD), least);
  EXPECT_EQ(both(least, 1, METATE_GRID_SUB), most);
  EXPECT_EQ(both(most, 2, METATE_GRID_MUL), -2);
  EXPECT_EQ(both(-3, 2, METATE_GRID_MIN), -3);
  EXPECT_EQ(both(-3, 2, METATE_GRID_MAX), 2);
  EXPECT_EQ(both(5, 0, METATE_GRID_DIV), 0);
  EXPECT_EQ(both(5, 0, METATE_GRID_CEIL_DIV), 0);
  EXPECT_EQ(both(least, -1, METATE_GRID_DIV), least);
  EXPECT_EQ(both(least, -1, METATE_GRID_CEIL_DIV), least);
  for (int64_t a = -9; a <= 9; ++a)
    for (int64_t b : {-4, -3, -1, 1, 2, 5}) {
      EXPECT_EQ(both(a, b, METATE_GRID_DIV), a / b);
      EXPECT_EQ(both(a, b, METATE_GRID_CEIL_DIV), int64_t(std::ceil(double(a) / double(b))))
          << a << " " << b;
    }
  EXPECT_EQ(
      value({constant(10), constant(3), apply(METATE_GRID_SUB), slot(1), apply(METATE_GRID_MUL)}),
      -49);
}

namespace {
// The runs of a kernel as texts: its number, and what is in its slot 3.
std::vector<std::string> runsOf(const Written &written, uint32_t kernel, const metate_slot *slots,
                                const uint32_t *interrupt = nullptr) {
  grid::Section section(written.payload.data());
  grid::Runs runs(section, section.kernels()[kernel], slots, 0, interrupt);
  std::vector<std::string> found;
  for (grid::Run run; runs.next(&run);)
    found.push_back(std::to_string(run.kernel - section.kernels()) + ":" +
                    std::to_string(run.slots[3].i));
  EXPECT_EQ(runs.wereInterrupted(), interrupt && *interrupt);
  return found;
}
} // namespace

TEST(GridRuns, graphsGoRound) {
  Written written;
  metate_slot slots[8] = {};
  slots[3].i = 3;
  slots[4].i = 44;
  const std::string fill = std::to_string(GRID_INNER) + ":",
                    total = std::to_string(GRID_TOTAL) + ":44";
  std::vector<std::string> expected;
  for (const char *value : {"0", "1", "10", "11", "20", "21"})
    expected.insert(expected.end(), {fill + value, total});
  EXPECT_EQ(runsOf(written, GRID_RELAY, slots), expected);
  const uint32_t stop = 1;
  expected.resize(2);
  EXPECT_EQ(runsOf(written, GRID_RELAY, slots, &stop), expected);
  slots[3].i = -1;
  EXPECT_EQ(runsOf(written, GRID_RELAY, slots), std::vector<std::string>());
  // Another kernel is one run, with its own slots.
  EXPECT_EQ(runsOf(written, GRID_FILL, slots),
            std::vector<std::string>{std::to_string(GRID_FILL) + ":-1"});
}

TEST(GridRuns, loopsHaveADepth) {
  for (uint32_t depth : {uint32_t(METATE_GRID_MAX_LOOPS), METATE_GRID_MAX_LOOPS + 1u}) {
    Written written;
    auto &nodes = written.spec.kernels[GRID_RELAY].nodes;
    const NodeSpec run = nodes.back();
    nodes.clear();
    for (uint32_t i = 0; i < depth; ++i)
      nodes.push_back({METATE_NONE, {{constant(i == 5 || i == 11 ? 3 : 1)}}, depth - i});
    nodes.push_back(run);
    written.payload = gridPayload(written.spec, written.head);
    if (depth > METATE_GRID_MAX_LOOPS) {
      EXPECT_FAILS(METATE_E_CORRUPT, written.verify(), "too many loops");
      continue;
    }
    ASSERT_OK(written.verify());
    metate_slot slots[8] = {};
    EXPECT_EQ(runsOf(written, GRID_RELAY, slots).size(), 9u);
  }
}

// Times are had of launches that a list can hold: counting tasks ends where there are none in many runs, or in no run at all.
TEST(GridTimes, countingEnds) {
  Written written;
  metate_slot slots[8] = {};
  uint32_t stop = 0;
  metate_host host{};
  host.interrupt = &stop;
  const metate::TaskTimes asked{};
  const metate::Launch launch{GRID_RELAY, 7, slots, nullptr, &host, &asked};
  auto count = [&](int64_t turns) {
    written.payload = gridPayload(written.spec, written.head);
    EXPECT_OK(written.verify());
    slots[3].i = turns;
    grid::Section section(written.payload.data());
    return grid::Times(heap(), launch).tasks(section, section.kernels()[GRID_RELAY]);
  };
  EXPECT_EQ(count(3), 18u);
  EXPECT_EQ(count(INT64_MAX), 0u);
  GridSpec sound = written.spec;
  written.spec.kernels[GRID_INNER].tasks.clear();
  written.spec.kernels[GRID_TOTAL].tasks.clear();
  EXPECT_EQ(count(3), 0u);
  EXPECT_EQ(count(INT64_MAX), 0u);
  written.spec = sound;
  written.spec.kernels[GRID_RELAY].nodes[1].operands = {{constant(0)}};
  stop = 1;
  EXPECT_EQ(count(INT64_MAX), 0u);
}

TEST(GridShape, workgroupsAreBounded) {
  Written written;
  grid::Section section(written.payload.data());
  metate_slot slots[8] = {};
  uint32_t sharedBytes = 0;
  auto shape = [&](uint32_t group, int64_t iterations, uint32_t mostInvocations, bool isKnown) {
    metate_grid_task task = section.tasks()[0];
    task.group = group;
    task.most_invocations = mostInvocations;
    task.step_count = isKnown;
    task.shared_bytes = sharedBytes;
    slots[1].i = iterations;
    grid::Shape found = grid::shapeOf(section, task, slots, {4096, 640});
    return std::pair(found.groups, found.group);
  };
  using Pair = std::pair<uint32_t, uint32_t>;
  EXPECT_EQ(shape(64, 1, 0, true), Pair(1, 64));
  EXPECT_EQ(shape(64, 65, 0, true), Pair(2, 64));
  EXPECT_EQ(shape(64, 0, 0, true), Pair(1, 64));
  EXPECT_EQ(shape(64, -5, 0, true), Pair(1, 64));
  EXPECT_EQ(shape(64, INT64_MAX, 0, true), Pair(64, 64));
  EXPECT_EQ(shape(100, INT64_MAX, 0, true), Pair(40, 100));
  EXPECT_EQ(shape(1, 1000, 0, true), Pair(1, 1));
  EXPECT_EQ(shape(64, 1000, 200, true), Pair(3, 64));
  EXPECT_EQ(shape(64, 1000, 20, true), Pair(1, 20));
  EXPECT_EQ(shape(64, 1000, 0, false), Pair(10, 64));
  EXPECT_EQ(shape(64, 1000, 128, false), Pair(2, 64));
  // An invocation has four iterations at least, and four for each number of the workgroup's memory that is its.
  sharedBytes = 4;
  EXPECT_EQ(shape(64, 1000, 0, true), Pair(4, 64));
  EXPECT_EQ(shape(64, 1, 0, true), Pair(1, 64));
  EXPECT_EQ(shape(64, INT64_MAX, 0, true), Pair(64, 64));
  sharedBytes = 1024;
  EXPECT_EQ(shape(64, 1025, 0, true), Pair(2, 64));
  EXPECT_EQ(shape(64, 1024, 0, true), Pair(1, 64));
  EXPECT_EQ(shape(64, 1000, 0, false), Pair(10, 64));
}

TEST(GridFrame, beginsAsTheHostSays) {
  auto head = std::make_unique<grid::Head>();
  std::memset(head.get(), 0xdb, sizeof *head);
  void *pools[] = {reinterpret_cast<void *>(0x10), reinterpret_cast<void *>(0x20)};
  uint64_t from = grid::writeHead(head.get(), {0x100000, 0x5000, 0x6000}, pools, 2);
  EXPECT_EQ(from, grid::frameOffset - 16);
  EXPECT_EQ(head->pools[grid::mostPools - 2], 0x10u);
  EXPECT_EQ(head->pools[grid::mostPools - 1], 0x20u);
  const metate_grid_frame &frame = head->frame;
  uint64_t address = 0x100000 + grid::frameOffset;
  EXPECT_EQ(frame.host, address + offsetof(metate_grid_frame, own));
  EXPECT_EQ(frame.pools, address - 16);
  EXPECT_EQ(frame.ring, 0x5000u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(frame.own.failure),
            address + offsetof(metate_grid_frame, failure));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(frame.own.interrupt), 0x6000u);
  EXPECT_EQ(frame.own.print, nullptr);
  EXPECT_EQ(frame.status, uint32_t(METATE_OK));
  EXPECT_EQ(frame.failure.code, uint32_t(METATE_OK));
  EXPECT_EQ(grid::writeHead(head.get(), {0x100000}, nullptr, 0), grid::frameOffset);
  EXPECT_EQ(frame.pools, 0u);
}

TEST(GridFrame, failuresReachTheHost) {
  metate_grid_frame frame{};
  metate_failure failure{};
  failure.code = 77;
  metate_host host{};
  host.failure = &failure;
  EXPECT_EQ(grid::outcomeOf(frame, &host), METATE_OK);
  EXPECT_EQ(failure.code, 77u);
  frame.status = METATE_E_CAPACITY; // without a record
  EXPECT_EQ(grid::outcomeOf(frame, &host), METATE_E_CAPACITY);
  EXPECT_EQ(failure.code, 77u);
  frame.failure.code = frame.status = METATE_E_OUT_OF_RANGE;
  frame.failure.rank = 99;
  frame.failure.detail = "on the device";
  frame.failure.index[3] = -4;
  EXPECT_EQ(grid::outcomeOf(frame, &host), METATE_E_OUT_OF_RANGE);
  EXPECT_EQ(failure.code, uint32_t(METATE_E_OUT_OF_RANGE));
  EXPECT_EQ(failure.rank, uint32_t(METATE_MAX_RANK));
  EXPECT_EQ(failure.detail, nullptr);
  EXPECT_EQ(failure.index[3], -4);
  EXPECT_EQ(grid::outcomeOf(frame, nullptr), METATE_E_OUT_OF_RANGE);
  frame.status = METATE_OK;
  EXPECT_EQ(grid::outcomeOf(frame, nullptr), METATE_E_OUT_OF_RANGE);
}

namespace {

// Statements that arrived, as text.
struct Heard {
  std::vector<std::string> statements;
  metate_host host{};
  Heard() {
    host.print_self = this;
    host.print = [](void *self, const metate_print_item *items, uint32_t count) {
      std::string text;
      for (uint32_t i = 0; i < count; ++i)
        text += items[i].kind == METATE_PRINT_TEXT ? items[i].value.text
                : items[i].kind == METATE_PRINT_FORMAT
                    ? "{" + std::string(items[i].value.text) + "}"
                    : std::to_string(items[i].value.i);
      static_cast<Heard *>(self)->statements.push_back(text);
    };
  }
};

std::vector<std::string> deliver(const std::vector<uint32_t> &words, uint32_t taken) {
  Written written;
  grid::Payload payload(heap());
  EXPECT_OK(payload.open(Descriptor(written.head.data()), 0,
                         {written.payload.data(), written.payload.size()}));
  grid::Prints prints(heap());
  EXPECT_OK(prints.allocate(taken));
  if (prints.bytes()) {
    std::memset(prints.data(), 0xff, prints.bytes());
    std::memcpy(prints.data(), words.data(), std::min<size_t>(words.size() * 4, prints.bytes()));
  }
  Heard heard;
  prints.deliver(payload, heard.host);
  return heard.statements;
}

} // namespace

TEST(GridPrints, statementsAreDecoded) {
  EXPECT_TRUE(deliver({}, 0).empty());
  std::vector<uint32_t> words = {1, 1, 5, 0, 0, 2, 3, 0, 0xfffffffe, 0xffffffff};
  std::vector<std::string> expected = {"5 in all\n", "x[3] = {+05}-2\n"};
  EXPECT_EQ(deliver(words, 10), expected);
}

TEST(GridPrints, whatIsNoStatementEndsThem) {
  using Words = std::vector<uint32_t>;
  for (const Words &rest : {Words{2, 0},
                            {1, 2, 0, 0, 0, 0},
                            {1, 0},
                            {1, 0x80000000},
                            {1, ~0u},
                            {0, 2, 0, 0},
                            {1},
                            {~0u, ~0u}}) {
    Words words = {1, 1, 5, 0};
    words.insert(words.end(), rest.begin(), rest.end());
    EXPECT_EQ(deliver(words, uint32_t(words.size())), std::vector<std::string>{"5 in all\n"});
  }
  // A ring of anything.
  std::mt19937 random(3);
  for (int round = 0; round < 2000; ++round) {
    Words words(32);
    for (uint32_t &word : words)
      word = random() % 4;
    deliver(words, 32);
  }
}

TEST(GridPrints, whatDidNotFitIsSaid) {
  std::vector<uint32_t> words = {1, 1, 5, 0};
  auto heard = deliver(words, grid::ringWords + 25);
  ASSERT_EQ(heard.size(), 2u);
  EXPECT_EQ(heard[1], "(100 bytes of what the kernel printed did not fit)\n");
}

TEST(GridRanges, findWhatLiesInside) {
  grid::Ranges ranges(heap());
  EXPECT_FALSE(ranges.holds(0, 0));
  for (uint64_t i = 100; i > 0; --i)
    ASSERT_TRUE(ranges.insert({i * 100, i * 100 + 50}));
  for (uint64_t i = 1; i <= 100; ++i) {
    EXPECT_TRUE(ranges.holds(i * 100, 50));
    EXPECT_TRUE(ranges.holds(i * 100 + 49, 1));
    EXPECT_FALSE(ranges.holds(i * 100 + 49, 2));
    EXPECT_FALSE(ranges.holds(i * 100 + 50, 0));
    EXPECT_FALSE(ranges.holds(i * 100 - 1, 1));
    EXPECT_EQ(ranges.find(i * 100 + 7).begin, i * 100);
  }
  EXPECT_FALSE(ranges.holds(120, UINT64_MAX));
  EXPECT_TRUE(ranges.meets(149, 160));
  EXPECT_TRUE(ranges.meets(150, 201));
  EXPECT_FALSE(ranges.meets(150, 200));
  EXPECT_FALSE(ranges.meets(10050, 20000));
  ranges.remove(300);
  ranges.remove(301);
  EXPECT_FALSE(ranges.holds(300, 1));
  EXPECT_TRUE(ranges.holds(400, 1));
  EXPECT_EQ(ranges.end() - ranges.begin(), 99);
}
