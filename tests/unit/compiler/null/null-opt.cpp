// metate-opt with a family of targets from outside of the compiler.
#include "Null.h"
#include "OptMain.h"

#include "metate/Target/Targets.h"

int main(int argc, char **argv) {
  metate::TargetRegistry targets = metate::ownTargets();
  targets.add(metate::test::createNullFamily());
  return metate::optMain(argc, argv, targets);
}
