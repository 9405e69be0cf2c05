/* A hundred pictures through the network of shapes.py: its weights are constants in flash, what it works in are two small arrays. */
#include "board.h"
#include "shapes.h"
#include "shapes_data.h"

#include <stddef.h>

static int8_t features[FEATURES];
static int32_t scores[CLASSES];

static void put(const char *what, uint64_t number) {
  char text[24], *at = text + sizeof text - 1;
  *at = 0;
  do
    *--at = (char)('0' + number % 10);
  while (number /= 10);
  out(what), out(at), out("\n");
}

int main(void) {
  uint64_t cycles = 0, sum = 0;
  int right = 0;
  for (int n = 0; n < IMAGES; ++n) {
    timer_start();
    if (shapes_classify(&images[n * SIZE * SIZE], SIZE, SIZE, filters, FILTERS, 3, 3, weights,
                        CLASSES, FEATURES, bias, CLASSES, features, FEATURES, scores, CLASSES, NULL,
                        NULL))
      return 1;
    cycles += timer_cycles();
    int best = 0;
    for (int k = 0; k < CLASSES; ++k) {
      sum = sum * 31 + (uint32_t)scores[k];
      best = scores[k] > scores[best] ? k : best;
    }
    right += best == classes[n];
  }
  put("right ", (uint64_t)right);
  put("checksum ", sum);
  put("cycles ", cycles);
  put("flash ", flash_bytes());
  put("variables ", variable_bytes());
  put("stack ", stack_bytes());
  return 0;
}
