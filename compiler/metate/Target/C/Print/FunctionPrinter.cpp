//===- FunctionPrinter.cpp - variables, blocks and jumps --------*- C++ -*-===//
#include "metate/Target/C/Print/FunctionPrinter.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/CFG.h"

using namespace llvm;
using namespace metate;
using namespace metate::c;

/// Operations in one expression, at most.
static constexpr unsigned longestExpression = 12;

void FunctionPrinter::fail(const Instruction &instruction) {
  std::string text;
  raw_string_ostream(text) << "'" << function.getName() << "':" << instruction;
  file.fail(text);
}

bool c::isExpression(const Instruction &instruction) {
  if (isa<BinaryOperator, CastInst, CmpInst, SelectInst, GetElementPtrInst, FreezeInst,
          UnaryOperator, ExtractValueInst, ExtractElementInst>(instruction) ||
      (isWholeVectors(instruction) && !isa<StoreInst>(instruction)))
    return true;
  auto *call = dyn_cast<IntrinsicInst>(&instruction);
  return call && !call->mayReadOrWriteMemory() && !call->getType()->isAggregateType() &&
         !call->getType()->isVoidTy() &&
         none_of(call->args(), [](const Use &value) { return value->getType()->isVectorTy(); });
}

/// Not into a phi: that would be evaluated when others of its block have changed already.
bool FunctionPrinter::standsAtItsUse(const Instruction &instruction) const {
  if (!isExpression(instruction) || !instruction.hasOneUse() ||
      instruction.getType()->isAggregateType())
    return false;
  auto *user = dyn_cast<Instruction>(*instruction.user_begin());
  if (instruction.getType()->isVectorTy() &&
      !(user && isWholeVectors(instruction) && isWholeVectors(*user)))
    return false;
  return user && !isa<PHINode>(user) && user->getParent() == instruction.getParent();
}

void FunctionPrinter::chooseVariables() {
  for (BasicBlock &block : function)
    for (Instruction &instruction : block) {
      unsigned size = 1;
      for (Value *operand : instruction.operands())
        size += sizes.lookup(operand);
      if (standsAtItsUse(instruction) && size <= longestExpression) {
        sizes[&instruction] = size;
        continue;
      }
      if (isa<AllocaInst>(instruction))
        names[&instruction] = "m" + std::to_string(count++);
      else if (continuesInsertion(instruction) && !instruction.use_empty())
        names[&instruction] = names.lookup(instruction.getOperand(0));
      else if (!instruction.getType()->isVoidTy() && !instruction.use_empty() &&
               !isSplatSource(instruction))
        names[&instruction] = newVariable(instruction.getType());
    }
}

std::string FunctionPrinter::newVariable(Type *type) {
  std::string name = "v" + std::to_string(count++);
  declared[file.typePrefix(type)].push_back(name);
  return name;
}

/// Which blocks are jumped to, and not only reached from above?
void FunctionPrinter::numberBlocks() {
  for (BasicBlock &block : function) {
    numbers[&block] = numbers.size();
    const BasicBlock *next = block.getNextNode();
    Instruction *end = block.getTerminator();
    if (isa<SwitchInst>(end)) {
      labelled.insert_range(successors(&block));
      continue;
    }
    bool isPassed = false; // one way on is without a jump
    for (const BasicBlock *successor : successors(&block)) {
      if (successor != next || isPassed)
        labelled.insert(successor);
      isPassed |= successor == next;
    }
  }
}

/// As the code takes them; what a header declares otherwise is converted.
std::string FunctionPrinter::parameters() {
  Prototype prototype = file.prototypeOf(function);
  std::string text;
  for (Argument &argument : function.args()) {
    std::string own = "p" + std::to_string(argument.getArgNo());
    const std::string &type = prototype.parameters[argument.getArgNo()];
    if (argument.use_empty()) {
      text += "  (void)" + own + ";\n";
    } else if (type == file.typeName(argument.getType())) {
      names[&argument] = own;
    } else {
      names[&argument] = newVariable(argument.getType());
      bool isFunction = StringRef(type).starts_with("metate_pointer");
      text += "  " + names[&argument] + " = " +
              (isFunction ? file.use("fromfunction") + "((metate_function)" + own + ")"
                          : "(" + file.typeName(argument.getType()) + ")" + own) +
              ";\n";
    }
  }
  return text;
}

std::string FunctionPrinter::variables() {
  std::string text;
  for (auto &[prefix, list] : declared) {
    std::vector<std::string> pieces;
    bool isPointer = StringRef(prefix).ends_with("*");
    for (const std::string &name : list)
      pieces.push_back((isPointer && name != list.front() ? "*" : "") + name +
                       (&name == &list.back() ? ";" : ","));
    FilePrinter::wrap(text, "  " + prefix, pieces, "      ");
    text += "\n";
  }
  return text;
}

std::string FunctionPrinter::body() {
  numberBlocks();
  std::string start = parameters();
  chooseVariables();
  std::string memory;
  for (BasicBlock &block : function) {
    if (labelled.contains(&block))
      code += "L" + std::to_string(numbers[&block]) + ":\n";
    for (Instruction &instruction : block) {
      if (auto *alloca = dyn_cast<AllocaInst>(&instruction)) {
        std::optional<TypeSize> size = alloca->getAllocationSize(file.layout());
        if (!size || size->isScalable() || &block != &function.getEntryBlock()) {
          fail(instruction);
          continue;
        }
        std::string align;
        if (alloca->getAlign().value() > 8) {
          file.use("alignment");
          align = "METATE_ALIGN(" + std::to_string(alloca->getAlign().value()) + ") ";
        }
        memory += "  " + align + "union {\n    unsigned char bytes[" +
                  std::to_string(std::max<uint64_t>(1, size->getFixedValue())) +
                  "];\n    uint64_t align;\n  } " + variable(instruction) + ";\n";
      } else if (instruction.isTerminator()) {
        terminator(instruction, block.getNextNode());
      } else {
        write(instruction);
      }
    }
  }
  return variables() + memory + start + code;
}

void FunctionPrinter::write(Instruction &instruction) {
  if (isa<PHINode>(instruction) || sizes.contains(&instruction) || ofVectors(instruction))
    return;
  if (auto *store = dyn_cast<StoreInst>(&instruction))
    return this->store(*store);
  if (auto *operation = dyn_cast<AtomicRMWInst>(&instruction))
    return modify(*operation);
  if (auto *operation = dyn_cast<AtomicCmpXchgInst>(&instruction))
    return exchange(*operation);
  if (auto *fence = dyn_cast<FenceInst>(&instruction)) {
    file.use("atomics");
    return line("METATE_FENCE(" + orderName(fence->getOrdering()) + ");");
  }
  if (auto *call = dyn_cast<CallInst>(&instruction))
    return this->call(*call);
  if (auto *into = dyn_cast<InsertValueInst>(&instruction)) {
    std::string path;
    Type *type = into->getType();
    for (unsigned index : into->indices()) {
      path += part("", type, index);
      type =
          isa<StructType>(type) ? type->getStructElementType(index) : type->getArrayElementType();
    }
    return insert(*into, into->getAggregateOperand(), into->getInsertedValueOperand(), path);
  }
  if (instruction.use_empty()) {
    // Of those that stay the order is what counts.
    if (auto *one = dyn_cast<LoadInst>(&instruction); one && !one->isSimple())
      line("(void)" + load(*one) + ";");
    return;
  }
  assign(instruction, expression(instruction));
}

std::string FunctionPrinter::use(Value *value) {
  if (auto *constant = dyn_cast<Constant>(value))
    return file.constant(*constant);
  if (isa<AllocaInst>(value))
    return variable(*value) + ".bytes";
  if (sizes.contains(value))
    return expression(*cast<Instruction>(value));
  return variable(*value);
}

std::string FunctionPrinter::expression(Instruction &instruction) {
  if (isWholeVectors(instruction))
    return wholeVectors(instruction);
  if (auto *operation = dyn_cast<BinaryOperator>(&instruction))
    return binary(*operation);
  if (auto *operation = dyn_cast<UnaryOperator>(&instruction)) // fneg
    return operation->getType()->getScalarSizeInBits() == 16
               ? "(uint16_t)(" + use(operation->getOperand(0)) + " ^ 32768u)"
               : "(-" + use(operation->getOperand(0)) + ")";
  if (auto *comparison = dyn_cast<ICmpInst>(&instruction))
    return compare(*comparison);
  if (auto *comparison = dyn_cast<FCmpInst>(&instruction))
    return compareFloats(*comparison);
  if (auto *one = dyn_cast<CastInst>(&instruction))
    return this->cast(*one);
  if (auto *choice = dyn_cast<SelectInst>(&instruction))
    return select(*choice);
  if (auto *address = dyn_cast<GetElementPtrInst>(&instruction))
    return place(*address);
  if (auto *one = dyn_cast<LoadInst>(&instruction))
    return load(*one);
  if (auto *extract = dyn_cast<ExtractValueInst>(&instruction))
    return member(*extract);
  if (auto *extract = dyn_cast<ExtractElementInst>(&instruction))
    return element(*extract);
  if (isa<FreezeInst>(instruction))
    return use(instruction.getOperand(0));
  if (auto *call = dyn_cast<IntrinsicInst>(&instruction))
    return intrinsic(*call);
  fail(instruction);
  return "0";
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

std::string FunctionPrinter::edge(const BasicBlock *from, BasicBlock *to, StringRef indent) {
  struct Copy {
    std::string to, from;
    Type *type;
  };
  std::vector<Copy> copies;
  for (PHINode &phi : to->phis()) {
    Value *value = phi.getIncomingValueForBlock(from);
    if (phi.use_empty() || value == &phi)
      continue;
    copies.push_back({variable(phi), use(value), phi.getType()});
  }
  // All at once: what another one still reads is not written before; of a circle one is kept aside.
  std::string text;
  auto copy = [&](const std::string &into, const std::string &value) {
    text += indent.str() + into + " = " + value + ";\n";
  };
  while (!copies.empty()) {
    auto isFree = [&](const Copy &one) {
      return none_of(copies,
                     [&](const Copy &other) { return &other != &one && other.from == one.to; });
    };
    auto next = find_if(copies, isFree);
    if (next == copies.end()) {
      std::string kept = newVariable(copies.front().type);
      std::string changed = copies.front().to;
      copy(kept, changed);
      for (Copy &other : copies)
        if (other.from == changed)
          other.from = kept;
      next = copies.begin();
    }
    copy(next->to, next->from);
    copies.erase(next);
  }
  return text;
}

std::string FunctionPrinter::jump(const BasicBlock *from, BasicBlock *to, StringRef indent) {
  return edge(from, to, indent) + indent.str() + "goto L" + std::to_string(numbers[to]) + ";\n";
}

/// "(a < b)" of a condition that is an expression, "(v)" of a variable.
static std::string inParentheses(StringRef condition) {
  return ("(" + bare(condition) + ")").str();
}

void FunctionPrinter::branch(BranchInst &branch, const BasicBlock *next) {
  BasicBlock *block = branch.getParent(), *yes = branch.getSuccessor(0),
             *no = branch.getSuccessor(1);
  std::string condition = use(branch.getCondition());
  if (yes == next && no != next) {
    code += "  if (!" + inParentheses(condition) + ") {\n" + jump(block, no, "    ") + "  }\n";
    code += edge(block, yes, "  ");
    return;
  }
  code += "  if " + inParentheses(condition) + " {\n" + jump(block, yes, "    ") + "  }\n";
  code += no == next ? edge(block, no, "  ") : jump(block, no, "  ");
}

void FunctionPrinter::choose(SwitchInst &choice) {
  BasicBlock *block = choice.getParent();
  code += "  switch (" + bare(use(choice.getCondition())).str() + ") {\n";
  for (auto &one : choice.cases())
    code += "  case " + unsignedLiteral(one.getCaseValue()->getValue()) + ":\n" +
            jump(block, one.getCaseSuccessor(), "    ");
  code += "  default:\n" + jump(block, choice.getDefaultDest(), "    ") + "  }\n";
}

void FunctionPrinter::terminator(Instruction &instruction, const BasicBlock *next) {
  BasicBlock *block = instruction.getParent();
  if (auto *way = dyn_cast<BranchInst>(&instruction); way && way->isConditional())
    return branch(*way, next);
  if (auto *choice = dyn_cast<SwitchInst>(&instruction))
    return choose(*choice);
  if (auto *way = dyn_cast<BranchInst>(&instruction)) {
    BasicBlock *to = way->getSuccessor(0);
    code += to == next ? edge(block, to, "  ") : jump(block, to, "  ");
    return;
  }
  if (auto *leave = dyn_cast<ReturnInst>(&instruction)) {
    Prototype prototype = file.prototypeOf(function);
    if (!leave->getReturnValue())
      return line("return;");
    std::string value = use(leave->getReturnValue());
    bool isOwn = prototype.result == file.typeName(leave->getReturnValue()->getType());
    return line("return " + (isOwn ? bare(value).str() : "(" + prototype.result + ")" + value) +
                ";");
  }
  if (isa<UnreachableInst>(instruction)) { // nobody comes here
    Type *type = function.getReturnType();
    if (type->isVoidTy())
      return line("return;");
    return line("return " + file.constant(*Constant::getNullValue(type)) + ";");
  }
  fail(instruction);
}
