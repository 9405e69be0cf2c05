//===- metate-opt.cpp - the developers' driver ------------------*- C++ -*-===//
#include "OptMain.h"

#include "metate/Target/Targets.h"

int main(int argc, char **argv) { return metate::optMain(argc, argv, metate::ownTargets()); }
