//===- Place.cpp - where in the user's source -------------------*- C++ -*-===//
#include "metate/Dialect/Place.h"

using namespace mlir;

FileLineColLoc metate::placeOf(Location location) {
  if (auto file = dyn_cast<FileLineColLoc>(location))
    return file;
  if (auto call = dyn_cast<CallSiteLoc>(location))
    return placeOf(call.getCallee());
  if (auto name = dyn_cast<NameLoc>(location))
    return placeOf(name.getChildLoc());
  if (auto fused = dyn_cast<FusedLoc>(location))
    for (Location part : fused.getLocations())
      if (FileLineColLoc place = placeOf(part))
        return place;
  return {};
}
