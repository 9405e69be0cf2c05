//===- TaskOps.td - tasks, memory, interface --------------------*- tablegen -*-===//
//
// Operations of the stages from offload on: tasks (offload), bytes (layout), interface and payload (emit, pack).
//
//===----------------------------------------------------------------------===//

def Metate_SerialOp : Metate_Op<"serial", [SingleBlock, AutomaticAllocationScope, RecursiveMemoryEffects, HasParent<"KernelOp">]> {
  let summary = "a task that one worker runs; its results are seen by later tasks";
  let regions = (region SizedRegion<1>:$body);
  let results = (outs Variadic<AnyType>:$outputs);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Metate_CellsOp : Metate_Op<"cells", [SingleBlock, AutomaticAllocationScope, RecursiveMemoryEffects, HasParent<"KernelOp">,
    Metate_LoweredByLayout]> {
  let summary = "a task over the active slots of one pool";
  let description = [{
    `metate.cells (%slot, %bi, %bj) in %f["pointer0"] : type { nest }`: %slot is the slot number, the others the slot's first
    coordinate along each axis of the level's path. The nest over the cells below stands inside as
    scf.for loops, and coordinates are `base + local`, kept in that form so that leaf hoisting finds them.
    `changes_topology`: the body may activate cells of a tree of this type, so that only slots of earlier
    epochs are visited. Constraint (T1): the level exists and has a pool. (T2): block arguments: slot, then one per path axis, all index.
  }];
  let arguments = (ins Metate_TreeType:$tree, StrAttr:$level, UnitAttr:$changes_topology);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::Value":$tree, "::llvm::StringRef":$level, "bool":$changesTopology)>];
  let skipDefaultBuilders = 1;
}

def Metate_CollectOp : Metate_Op<"collect", [Metate_LoweredByLayout]> {
  let summary = "frees the slots that the tasks before have deactivated";
  let description = [{
    In a serial task after one with a metate.deactivate. `sweep`: that task also wrote at cells not proved its own, so that cells that
    are not active may hold something else than the background, which they get back.
  }];
  let arguments = (ins Arg<Metate_TreeType, "", [MemRead, MemWrite]>:$tree, UnitAttr:$sweep);
  let assemblyFormat = "$tree (`sweep` $sweep^)? attr-dict `:` type($tree)";
}

def Metate_SnapshotOp : Metate_Op<"snapshot", [Metate_LoweredByLayout]> {
  let summary = "notes which cells of a level are active, for metate.is_active entry in the task that follows";
  let description = [{
    In a serial task before one that changes the topology it walks. Constraint (N1): the level is bitmasked or dynamic.
  }];
  let arguments = (ins Arg<Metate_TreeType, "", [MemRead, MemWrite]>:$tree, StrAttr:$level);
  let assemblyFormat = "$tree `[` $level `]` attr-dict `:` type($tree)";
  let hasVerifier = 1;
}

def Metate_SortOp : Metate_Op<"sort", [Metate_LoweredByLayout]> {
  let summary = "puts a tree's slots in the order of their coordinates, where they are not";
  let description = [{
    In a serial task of a deterministic kernel, before a task over the slots of a pool: that task then visits them in the same order
    in every run. Cells, values and lengths stay. No deactivation stands before it in its task: what a task gives up is free when it ends.
  }];
  let arguments = (ins Arg<Metate_TreeType, "", [MemRead, MemWrite]>:$tree);
  let assemblyFormat = "$tree attr-dict `:` type($tree)";
}

def Metate_StageLeafOp : Metate_Op<"stage_leaf", [Metate_LeafOpInterface, Metate_LoweredByLayout]> {
  let summary = "copies one leaf of a member with a halo into a local tile";
  let description = [{
    `%t = metate.stage_leaf %f["a"][%bi, %bj] halo [1, 1] to [1, 1] : type -> memref<10x10xf32>`: element (x, y)
    of the tile is the member at (bi - low_x + x, bj - low_y + y). The bases are multiples of the leaf's extents. `parts`: only what lies in these
    neighbours (-1, 0 or 1 along each axis, one after the other; 0, 0 is the leaf itself) is filled, the rest is not defined. `besides`: bytes of
    other members between those of this one may be read, though others may be writing them.
    Constraint (S1): the path is a member whose leaf is one dense level below the last pool, over all axes of the path. (S2): as many bases and halo
    widths as axes; widths from 0 to the leaf's extent. (S3): the tile is the leaf with its halo, of the member's type. (S4): a part has a direction for each axis, in
    which there is a halo.
  }];
  let hasVerifier = 1;
  let arguments = (ins Arg<Metate_TreeType, "", [MemRead]>:$tree, StrAttr:$path, Variadic<Index>:$base,
    DenseI64ArrayAttr:$low, DenseI64ArrayAttr:$high, OptionalAttr<DenseI64ArrayAttr>:$parts, UnitAttr:$besides);
  let results = (outs Res<AnyStaticShapeMemRef, "", [MemAlloc<AutomaticAllocationScopeResource>]>:$tile);
  let assemblyFormat = "$tree `[` $path `]` `[` $base `]` `halo` $low `to` $high (`parts` $parts^)? (`besides` $besides^)? attr-dict `:` type($tree) `->` type($tile)";
}

def Metate_StageRowOp : Metate_Op<"stage_row", [AttrSizedOperandSegments, Metate_LeafOpInterface, Metate_LoweredByLayout]> {
  let summary = "copies one row of a member, moved along itself, from a leaf and its neighbours";
  let description = [{
    `%r = metate.stage_row %f["a"][%bi, %bj, %bk] at [%i, %j] shift -1 halo [1, 0] to [0, 0] : type -> memref<8xf32>`: element z is the member at
    (bi + i, bj + j, bk + z - 1), for a whole row of a leaf. The bases are the first cell of a leaf; the other coordinates are from -low on and
    below extent + high.
    Constraint (S5): as S1, the cells of a row one after the other. (S6): a base for each axis; an index and halo widths, from 0 to the leaf's extent, for each but the last; a
    shift of at most the last extent. (S7): the row is as long as the leaf, of the member's type.
  }];
  let hasVerifier = 1;
  let arguments = (ins Arg<Metate_TreeType, "", [MemRead]>:$tree, StrAttr:$path, Variadic<Index>:$base, Variadic<Index>:$at, I64Attr:$shift,
    DenseI64ArrayAttr:$low, DenseI64ArrayAttr:$high);
  let results = (outs Res<AnyStaticShapeMemRef, "", [MemAlloc<AutomaticAllocationScopeResource>]>:$row);
  let assemblyFormat = [{
    $tree `[` $path `]` `[` $base `]` `at` `[` $at `]` `shift` $shift `halo` $low `to` $high attr-dict `:` type($tree) `->` type($row)
  }];
}

def Metate_ActivateLeafOp : Metate_Op<"activate_leaf", [AttrSizedOperandSegments, Metate_LeafOpInterface, Metate_LoweredByLayout]> {
  let summary = "activates many cells of one leaf: those that are active in another leaf, those that are named, or all";
  let description = [{
    `%ok = metate.activate_leaf %g["y"] [%bi, %bj] like %f["x"] : tree, tree`: before the nest of a metate.cells. The leaf of %f["x"] is that of the slot
    which the task is at; where none of its cells is active, nothing happens. Of a leaf without bits of its own the slot alone is activated. `entry`: the cells
    that were active when the task began. `cells [-1, 15]`: those whose bits are set in these words of a mask, of the leaf with the cell %bi, %bj,
    before a nest in any task. Without either all cells of the leaf. %ok is false where nothing was activated.
    Constraint (V1): both paths end one level below their last pool, in dense or bitmasked levels of the same axes and extents. (V2): one coordinate for each
    axis. (V3): words for a bitmasked leaf, as many as its mask has, without bits beyond its cells, and no `like`. (V4): without words, in a metate.cells.
  }];
  let extraClassDeclaration = "bool changesActivity() { return true; }";
  let hasVerifier = 1;
  let arguments = (ins Arg<Metate_TreeType, "", [MemRead, MemWrite]>:$tree, StrAttr:$path, Variadic<Index>:$coordinates,
    Arg<Optional<Metate_TreeType>, "", [MemRead]>:$like, OptionalAttr<StrAttr>:$like_path, UnitAttr:$entry, OptionalAttr<DenseI32ArrayAttr>:$cells);
  let results = (outs I1:$active);
  let assemblyFormat = [{
    $tree `[` $path `]` `[` $coordinates `]` (`like` $like^ `[` $like_path `]`)? (`entry` $entry^)? (`cells` $cells^)? attr-dict `:` type($tree)
    (`,` type($like)^)?
  }];
}

def Metate_IsLeafFullOp : Metate_Op<"is_leaf_full", [HasParent<"CellsOp">, Metate_LeafOpInterface, Metate_LoweredByLayout]> {
  let summary = "tells whether all cells of the leaf are active";
  let description = [{
    `%all = metate.is_leaf_full %f["x"] : tree`: before the nest of a metate.cells, of the leaf in the slot which the task is at. `entry`: as it was
    when the task began.
    Constraint (V5): the tree is the one that the task goes over, and the path ends in a bitmasked level right below the task's.
  }];
  let hasVerifier = 1;
  let arguments = (ins Arg<Metate_TreeType, "", [MemRead]>:$tree, StrAttr:$path, UnitAttr:$entry);
  let results = (outs I1:$full);
  let assemblyFormat = "$tree `[` $path `]` (`entry` $entry^)? attr-dict `:` type($tree)";
}

def Metate_DeactivateLeafOp : Metate_Op<"deactivate_leaf", [Metate_LeafOpInterface, Metate_LoweredByLayout]> {
  let summary = "deactivates many cells of one leaf";
  let description = [{
    `metate.deactivate_leaf %f["x@1"] [%bi, %bj] cells [-1, 15] : tree`: those cells whose bits are set in these words of a mask, of the leaf with the
    cell %bi, %bj. What is not active, or outside, stays as it is.
    Constraint (V1): the path ends in a bitmasked level one below its last pool, without pools below. (V2): one coordinate for each axis. (V3): as many words
    as its mask has, without bits beyond its cells.
  }];
  let extraClassDeclaration = "bool changesActivity() { return true; }";
  let hasVerifier = 1;
  let arguments = (ins Arg<Metate_TreeType, "", [MemRead, MemWrite]>:$tree, StrAttr:$path, Variadic<Index>:$coordinates, DenseI32ArrayAttr:$cells);
  let assemblyFormat = "$tree `[` $path `]` `[` $coordinates `]` `cells` $cells attr-dict `:` type($tree)";
}

def Metate_DeactivateWordOp : Metate_Op<"deactivate_word", [Metate_LeafOpInterface, Metate_LoweredByLayout]> {
  let summary = "deactivates some of 32 cells of one leaf";
  let description = [{
    `metate.deactivate_word %f["x@1"] [%bi, %bj] word %w bits %b : tree`: those whose bits are set in %b, of word %w of the mask of the leaf with the cell
    %bi, %bj.
    Constraint (V1), (V2) of deactivate_leaf.
  }];
  let extraClassDeclaration = "bool changesActivity() { return true; }";
  let hasVerifier = 1;
  let arguments = (ins Arg<Metate_TreeType, "", [MemRead, MemWrite]>:$tree, StrAttr:$path, Variadic<Index>:$coordinates, Index:$word, I32:$bits);
  let assemblyFormat = "$tree `[` $path `]` `[` $coordinates `]` `word` $word `bits` $bits attr-dict `:` type($tree)";
}

//===-- bytes (layout stage) ------------------------------------------------===//
// `scope` is the number of the kernel argument that the block belongs to: what alias scopes are made of.

def Metate_ReadOp : Metate_Op<"read"> {
  let summary = "reads a scalar at a byte offset of a block";
  let description = [{`acquire`: an atomic load with that order. `invariant`: the same value for the whole launch.}];
  let arguments = (ins Arg<Metate_BlockType, "", [MemRead]>:$block, Index:$offset, I64Attr:$scope, UnitAttr:$acquire, UnitAttr:$invariant);
  let results = (outs AnyType:$value);
  let assemblyFormat = "$block `[` $offset `]` `scope` $scope (`acquire` $acquire^)? (`invariant` $invariant^)? attr-dict `:` type($value)";
}

def Metate_WriteOp : Metate_Op<"write"> {
  let summary = "writes a scalar at a byte offset of a block";
  let arguments = (ins AnyType:$value, Arg<Metate_BlockType, "", [MemWrite]>:$block, Index:$offset, I64Attr:$scope, UnitAttr:$release);
  let assemblyFormat = "$value `,` $block `[` $offset `]` `scope` $scope (`release` $release^)? attr-dict `:` type($value)";
}

def Metate_RmwOp : Metate_Op<"rmw", [AllTypesMatch<["value", "old"]>]> {
  let summary = "relaxed atomic read-modify-write at a byte offset";
  let arguments = (ins AtomicRMWKindAttr:$kind, AnyType:$value, Arg<Metate_BlockType, "", [MemRead, MemWrite]>:$block, Index:$offset, I64Attr:$scope);
  let results = (outs AnyType:$old);
  let assemblyFormat = "$kind $value `,` $block `[` $offset `]` `scope` $scope attr-dict `:` type($value)";
}

def Metate_CasOp : Metate_Op<"cas", [AllTypesMatch<["expected", "desired", "old"]>]> {
  let summary = "acquire-release compare-exchange at a byte offset; yields the old value";
  let arguments = (ins AnySignlessInteger:$expected, AnySignlessInteger:$desired, Arg<Metate_BlockType, "", [MemRead, MemWrite]>:$block, Index:$offset, I64Attr:$scope);
  let results = (outs AnySignlessInteger:$old);
  let assemblyFormat = "$expected `to` $desired `,` $block `[` $offset `]` `scope` $scope attr-dict `:` type($old)";
}

def Metate_MergeOp : Metate_Op<"merge", [AllTypesMatch<["bits", "mask"]>]> {
  let summary = "writes some bits of a word at a byte offset, indivisible; the others stay as they are";
  let description = [{
    `metate.merge %bits mask %mask, %block[%offset] scope 0 : i32`: the bits outside of the mask are 0. metate-join-merges makes other operations of it.
  }];
  let arguments = (ins AnySignlessInteger:$bits, AnySignlessInteger:$mask, Arg<Metate_BlockType, "", [MemRead, MemWrite]>:$block, Index:$offset, I64Attr:$scope);
  let assemblyFormat = "$bits `mask` $mask `,` $block `[` $offset `]` `scope` $scope attr-dict `:` type($bits)";
}

def Metate_AddBitsOp : Metate_Op<"add_bits", [AllTypesMatch<["bits", "top"]>]> {
  let summary = "adds to members of a word at a byte offset, indivisible; what a member has no bits for is lost";
  let description = [{
    `metate.add_bits %bits top %top, %block[%offset] scope 0 : i32`: what is added to a member stands in its bits, its highest bit in `top`; to others 0 is added.
    metate-join-merges makes other operations of it.
  }];
  let arguments = (ins AnySignlessInteger:$bits, AnySignlessInteger:$top, Arg<Metate_BlockType, "", [MemRead, MemWrite]>:$block, Index:$offset, I64Attr:$scope);
  let assemblyFormat = "$bits `top` $top `,` $block `[` $offset `]` `scope` $scope attr-dict `:` type($bits)";
}

def Metate_TreeCallOp : Metate_Op<"tree_call", [AttrSizedOperandSegments]> {
  let summary = "calls a function of the tree protocol on a tree's block";
  let description = [{
    `%slot = metate.tree_call "claim" %block level 1 (%link) at (%i, %j) flag 1 : !type -> i32` is metate_rt_claim of
    Emit/Support/Tree.c, where the protocol is as generated code calls it: the block, the type's blob, the number (a level's record; of `collect`, whether to sweep), 64-bit
    numbers, an array of coordinates if there are any, the flag if there is one.
  }];
  let arguments = (ins StrAttr:$callee, Arg<Metate_BlockType, "", [MemRead, MemWrite]>:$block, I64Attr:$level, Variadic<Index>:$numbers,
    Variadic<Index>:$coordinates, OptionalAttr<I64Attr>:$flag, TypeAttrOf<Metate_TreeType>:$tree);
  let results = (outs Optional<AnySignlessInteger>:$result);
  let assemblyFormat = [{
    $callee $block `level` $level `(` $numbers `)` (`at` `(` $coordinates^ `)`)? (`flag` $flag^)? attr-dict `:` $tree (`->` type($result)^)?
  }];
}

def Metate_ReturnStatusOp : Metate_Op<"return_status", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "at a kernel's end: the kernel returns this status if it is not zero";
  let arguments = (ins I32:$status);
  let assemblyFormat = "$status attr-dict";
}

//===-- planned memory (layout stage) ---------------------------------------===//

def Metate_PoolOp : Metate_Op<"pool", [NoMemoryEffect, DeclareOpInterfaceMethods<ConditionallySpeculatable>]> {
  let summary = "the memory of a planned pool: the host's, for the time of the launch";
  let description = [{
    `%p = metate.pool "tile" worker bytes 64 align 64 scale 8 by (%n)`: 64 + 8 * %n bytes, for each worker his own. metate-plan-pools
    gives pools their numbers (`index`) and the interface their list; operations of one name mean one pool, from `offset` bytes on. What it holds at first is not
    defined. Constraint (Q1): the sizes and the name are those of a #metate.pool. (Q2): factors are arguments of the kernel, of an integer type
    or index. (Q3): a worker's pool stands in a range, where it is his part, or directly in a kernel (behind metate-outline-tasks), where it is the parts of all.
  }];
  let arguments = (ins StrAttr:$name, Metate_PoolKind:$kind, I64Attr:$bytes, I64Attr:$align, DefaultValuedAttr<I64Attr, "0">:$scale,
    Variadic<AnySignlessIntegerOrIndex>:$factors, OptionalAttr<I64Attr>:$index, DefaultValuedAttr<I64Attr, "0">:$offset);
  let results = (outs Metate_BlockType:$block);
  let hasVerifier = 1;
  let assemblyFormat = [{
    $name $kind `bytes` $bytes `align` $align (`scale` $scale^ `by` `(` $factors `:` type($factors) `)`)? (`index` $index^)? (`offset` $offset^)? attr-dict
  }];
}

def Metate_PoolBytesOp : Metate_Op<"pool_bytes", [Pure, HasParent<"KernelOp">]> {
  let summary = "how many bytes a pool has, a worker's for each worker: its size rounded up to its alignment";
  let description = [{Constraint (Q4): the operand is a `metate.pool`.}];
  let arguments = (ins Metate_BlockType:$pool);
  let results = (outs Index:$bytes);
  let hasVerifier = 1;
  let assemblyFormat = "$pool attr-dict";
}

def Metate_WorkerPartOp : Metate_Op<"worker_part", [NoMemoryEffect]> {
  let summary = "in a task: the part of a worker's pool that is the worker's who runs this";
  let arguments = (ins Metate_BlockType:$pool, Index:$bytes);
  let results = (outs Metate_BlockType:$part);
  let assemblyFormat = "$pool `each` $bytes attr-dict";
}

//===-- tasks as functions (map stage) --------------------------------------===//

def Metate_LaunchOp : Metate_Op<"launch", [HasParent<"KernelOp">, MemoryEffects<[MemRead, MemWrite]>, Metate_MayStop, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "in a kernel whose tasks are functions (metate-outline-tasks): runs one of them";
  let description = [{
    `metate.launch @k_task0(%x, %n) : (!metate.block, index) -> ()`: the operands are what the task captured. Iterations of the function's `metate.range` run in
    any order, by any number of workers; a function without one runs once. All that it did is seen behind it. If a check fails in it, or the host interrupts it,
    the kernel ends with that status.
    Constraint (L1): the name is that of a `func.func` with a body, marked `metate.task`. (L2): operands and results have the function's types. (L3): the function has
    one block with at most one `metate.range`; its bounds are arguments or constants of the function, so that a host knows the iterations before it launches.
  }];
  let arguments = (ins FlatSymbolRefAttr:$task, Variadic<AnyType>:$captured);
  let results = (outs Variadic<AnyType>:$outputs);
  let assemblyFormat = "$task `(` $captured `)` attr-dict `:` functional-type($captured, $outputs)";
}

//===-- interface and payload (layout to pack) -----------------------------===//

def Metate_InterfaceOp : Metate_Op<"interface", [Symbol]> {
  let summary = "a kernel as its host sees it; the symbol is the kernel's name";
  let description = [{`entry` is the symbol of the compiled entry (metate_entry).}];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$entry, TypedArrayAttrBase<Metate_ArgumentAttr, "an array of #metate.argument">:$arguments, I64Attr:$task_count, UnitAttr:$may_alias, UnitAttr:$debug,
    OptionalAttr<TypedArrayAttrBase<Metate_PoolAttr, "an array of #metate.pool">>:$pools);
  let assemblyFormat = "$sym_name `entry` $entry `tasks` $task_count $arguments (`may_alias` $may_alias^)? (`debug` $debug^)? (`pools` $pools^)? attr-dict";
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name, "::llvm::StringRef":$entry, "::mlir::ArrayAttr":$arguments, "int64_t":$tasks,
    "bool":$mayAlias, "bool":$debug)>];
}

def Metate_TextOp : Metate_Op<"text"> {
  let summary = "an entry of the descriptor's text table: a place in the source (the op's own location) with a text";
  let arguments = (ins I64Attr:$index, StrAttr:$file, I64Attr:$line, I64Attr:$column, StrAttr:$text);
  let assemblyFormat = "$index $file `:` $line `:` $column $text attr-dict";
}

def Metate_SanitizerName : ConfinedAttr<StrAttr, [AttrConstraint<CPred<
    "::llvm::is_contained({\"address\", \"thread\"}, ::llvm::cast<::mlir::StringAttr>($_self).getValue())">,
    "'address' or 'thread'">]>;

def Metate_ObjectFiles : ConfinedAttr<TypedArrayAttrBase<DenseI8ArrayAttr, "object files, to be linked together">, [ArrayMinCount<1>]>;

def Metate_PayloadOp : Metate_Op<"payload", [Symbol]> {
  let summary = "code of all kernels for one target (after the emit stage)";
  let description = [{`family` is the target's: it knows what the objects are, and what to do with them.}];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$family, StrAttr:$triple, StrAttr:$cpu, StrAttr:$features, Metate_ObjectFiles:$objects,
                       OptionalAttr<Metate_SanitizerName>:$sanitizer);
  let assemblyFormat = "$sym_name $family $triple $cpu $features $objects (`sanitizer` $sanitizer^)? attr-dict";
  let extraClassDeclaration = [{
    /// The bytes of each object file.
    ::llvm::SmallVector<::llvm::StringRef> getObjectFiles() {
      ::llvm::SmallVector<::llvm::StringRef> files;
      for (auto file : getObjects().getAsRange<::mlir::DenseI8ArrayAttr>())
        files.push_back({reinterpret_cast<const char *>(file.asArrayRef().data()), size_t(file.size())});
      return files;
    }
  }];
}
