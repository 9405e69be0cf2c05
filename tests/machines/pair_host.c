/* Derivatives and random numbers by direct entries, without a system: prints the bits of what each kernel of pair_kernels.py gives. */
#include "pair.h"

void out(const char *text);

static void put(const char *name, const void *data, int count) {
  const uint32_t *words = data;
  out(name);
  for (int k = 0; k < count; ++k) {
    char text[10] = " ";
    for (int digit = 0; digit < 8; ++digit)
      text[1 + digit] = "0123456789abcdef"[words[k] >> (28 - 4 * digit) & 15];
    text[9] = 0;
    out(text);
  }
  out("\n");
}

enum { COUNT = 24 };
static float x[COUNT], y[COUNT], ones[COUNT], gradient[COUNT], direction[COUNT], change[COUNT],
    normal[COUNT];
static uint32_t whole[COUNT];
static int32_t at[COUNT];
/* Where several workers may run, each has a copy of what all add to. */
#ifdef pair_loss_grad_POOLS
static _Alignas(
    pair_loss_grad_private_copies_ALIGN) unsigned char room[pair_loss_grad_private_copies_BYTES];
#else
static unsigned char room[1];
#endif

int main(void) {
  for (int k = 0; k < COUNT; ++k) {
    x[k] = 0.125f * (float)(k - 9);
    at[k] = (k * 7 + 3) % COUNT / 2;
    direction[k] = k == 2 ? 1.0f : 0.0f;
    ones[k] = 1;
  }
  void *pools[] = {room};
  int32_t status = pair_loss(x, COUNT, at, COUNT, y, COUNT, 0, 0);
  put("loss", &status, 1), put("values", y, COUNT);
  status =
      pair_loss_grad(x, COUNT, at, COUNT, y, COUNT, gradient, COUNT, 1, ones, COUNT, 1, pools, 0);
  put("reverse", &status, 1), put("gradient", gradient, COUNT);
  status =
      pair_loss_fwd(x, COUNT, at, COUNT, y, COUNT, direction, COUNT, 1, change, COUNT, 1, 0, 0);
  put("forward", &status, 1), put("change", change, COUNT);
  status = pair_dice(x, COUNT, whole, COUNT, normal, COUNT, 20261126u, 0, 0);
  put("dice", &status, 1), put("floats", x, COUNT), put("integers", whole, COUNT);
  put("normal", normal, COUNT);
  out("done\n");
  return 0;
}
