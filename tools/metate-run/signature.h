// Signatures beside files.
#ifndef METATE_RUN_SIGNATURE_H
#define METATE_RUN_SIGNATURE_H

#include "common.h"

namespace metate::tool {

/// Throws Error unless FILE.sig is the signature of the file's bytes by this public key.
void checkSignature(const std::string &path, const File &file, const std::string &keyPath);

} // namespace metate::tool

#endif
