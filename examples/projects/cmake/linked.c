/* The kernels linked in: no library, no file, the C functions of heat.h. */
#include "heat.h"

#include <stdio.h>
#include <string.h>

enum { SIDE = 64, STEPS = 100 };

static float plates[2][SIDE][SIDE];

int main(void) {
  double warmth;
  for (int j = 0; j < SIDE; ++j)
    plates[0][0][j] = 100.0f; /* one border is hot */
  for (int step = 0; step < STEPS; ++step)
    if (heat_diffuse(plates[step % 2][0], SIDE, SIDE, plates[(step + 1) % 2][0], SIDE, SIDE, NULL,
                     NULL))
      return 1;
  if (heat_warmth(plates[STEPS % 2][0], SIDE, SIDE, &warmth, NULL, NULL))
    return 1;
  printf("warmth %.3f\n", warmth);
  return 0;
}
