// Expressions in postfix order. They were verified: no step is looked at twice.
#include "driver/grid/expression.h"

namespace metate::grid {

namespace {

int64_t divide(int64_t a, int64_t b, bool upwards) {
  if (b == 0)
    return 0;
  if (b == -1) // the least number has no opposite: it wraps around
    return int64_t(0 - uint64_t(a));
  int64_t quotient = a / b;
  return quotient + (upwards && a % b && (a < 0) == (b < 0));
}

int64_t apply(uint32_t operation, int64_t a, int64_t b) {
  const uint64_t x = uint64_t(a), y = uint64_t(b);
  switch (operation) {
  case METATE_GRID_ADD:
    return int64_t(x + y);
  case METATE_GRID_SUB:
    return int64_t(x - y);
  case METATE_GRID_MUL:
    return int64_t(x * y);
  case METATE_GRID_MIN:
    return a < b ? a : b;
  case METATE_GRID_MAX:
    return a > b ? a : b;
  case METATE_GRID_AND:
    return int64_t(x & y);
  case METATE_GRID_OR:
    return int64_t(x | y);
  case METATE_GRID_XOR:
    return int64_t(x ^ y);
  case METATE_GRID_SHIFT_LEFT:
    return y < 64 ? int64_t(x << y) : 0;
  case METATE_GRID_SHIFT_RIGHT:
    return y < 64 ? int64_t(x >> y) : 0;
  default:
    return divide(a, b, operation == METATE_GRID_CEIL_DIV);
  }
}

int64_t extend(uint32_t operation, int64_t number, int64_t bits) {
  const uint32_t rest = uint32_t(64 - bits);
  const uint64_t high = uint64_t(number) << rest;
  return operation == METATE_GRID_SIGN_EXTEND ? int64_t(high) >> rest : int64_t(high >> rest);
}

} // namespace

StepKind kindOf(uint32_t operation) {
  switch (operation) {
  case METATE_GRID_CONSTANT:
    return StepKind::constant;
  case METATE_GRID_SLOT:
    return StepKind::slot;
  case METATE_GRID_TURN:
    return StepKind::turn;
  case METATE_GRID_FRAME_AT:
    return StepKind::frame;
  case METATE_GRID_SIGN_EXTEND:
  case METATE_GRID_ZERO_EXTEND:
    return StepKind::unary;
  default:
    return operation >= METATE_GRID_ADD && operation <= METATE_GRID_SHIFT_RIGHT ? StepKind::binary
                                                                                : StepKind::unknown;
  }
}

int64_t evaluate(const metate_grid_step *steps, uint32_t count, const metate_slot *slots,
                 Around around) {
  int64_t stack[METATE_GRID_MAX_DEPTH] = {};
  uint32_t depth = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const metate_grid_step &step = steps[i];
    switch (kindOf(step.operation)) {
    case StepKind::constant:
      stack[depth++] = step.value;
      break;
    case StepKind::slot:
      stack[depth++] = slots[step.value].i;
      break;
    case StepKind::turn:
      stack[depth++] = around.turns[step.value];
      break;
    case StepKind::frame:
      stack[depth++] = int64_t(around.frame) + step.value;
      break;
    case StepKind::unary:
      stack[depth - 1] = extend(step.operation, stack[depth - 1], step.value);
      break;
    default:
      --depth;
      stack[depth - 1] = apply(step.operation, stack[depth - 1], stack[depth]);
    }
  }
  return stack[0];
}

} // namespace metate::grid
