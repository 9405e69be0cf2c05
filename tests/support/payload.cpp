// The test module's shared object: the hand-written kernels behind a payload record. The hash is a
// mark that module.cpp replaces by the descriptor's, because nothing compiles kernels here.
#include "kernels.h"

extern "C" {
// The symbol has the name of its type, so it is given by an asm label.
extern __attribute__((visibility("default")))
const metate_payload exported __asm__("metate_payload");
const metate_payload exported = {METATE_PAYLOAD_MAGIC,
                                 METATE_ABI_VERSION,
                                 {0x7465736c6c697720ull, 0x6261636b64656562ull},
                                 TEST_KERNELS,
                                 0,
                                 metate_test_entries};
}
