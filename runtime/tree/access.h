// What every host access to a tree checks first; `function` is the C API's, for the text.
#ifndef METATE_RUNTIME_TREE_ACCESS_H
#define METATE_RUNTIME_TREE_ACCESS_H

#include "tree/tree.h"

namespace metate {

metate_status checkReady(const char *function, const metate_tree *tree);
metate_status checkWritable(const char *function, const metate_tree *tree);
// METATE_E_BUSY while a launch runs on the tree.
metate_status checkIdle(const char *function, const metate_tree *tree);
// member: the level must be one.
metate_status checkLevel(const char *function, const metate_tree *tree, uint32_t level,
                         bool member);
// value_bytes must be those of one of the member's cells.
metate_status checkValueBytes(const char *function, const metate_tree *tree, uint32_t level,
                              uint64_t bytes);
// Values of a member of u1 must be 0 or 1; others are not looked at.
metate_status checkBooleans(const char *function, const metate_tree *tree, uint32_t level,
                            const uint8_t *values, uint64_t bytes);

// Coordinates of a cell of a level, by axis number in along[METATE_MAX_AXES].
metate_status checkCoordinates(const char *function, const metate_tree *tree, uint32_t level,
                               const int64_t *coordinates, uint32_t count, int64_t *along);
// METATE_E_CORRUPT: a slot number was not followed.
metate_status failLink(const metate_type &type);

} // namespace metate

#endif
