/* A plucked string, 200 steps of it: it calls the function of wave.h and needs nothing else. */
#include "wave.h"

#include <math.h>
#include <stdio.h>

enum { POINTS = 101, STEPS = 200 };

static double string[3][POINTS];

int main(void) {
  for (int i = 0; i < POINTS; ++i)
    string[0][i] = string[1][i] = sin(3.14159265358979323846 * i / (POINTS - 1));
  for (int t = 0; t < STEPS; ++t)
    if (wave_step(string[t % 3], POINTS, string[(t + 1) % 3], POINTS, string[(t + 2) % 3], POINTS,
                  0.5, NULL, NULL))
      return 1;
  printf("middle %.6f\n", string[(STEPS + 1) % 3][POINTS / 2]);
  return 0;
}
