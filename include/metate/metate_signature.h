/* libmetate_signature: Ed25519 signatures (RFC 8032) over the bytes of a file, by OpenSSL's libcrypto. Optional and separate:
 * libmetate never links it. A signature is 64 bytes, as `openssl pkeyutl -sign -rawin` writes them; keys are PEM texts, as
 * `openssl genpkey -algorithm ed25519` and `openssl pkey -pubout` write them. */
#ifndef METATE_METATE_SIGNATURE_H
#define METATE_METATE_SIGNATURE_H

#include "metate/metate_device.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { METATE_SIGNATURE_BYTES = 64, METATE_SIGNATURE_TEXT = 160 };

/* Signs with a private key. `text` (METATE_SIGNATURE_TEXT bytes; may be NULL) says what is wrong. METATE_E_INVALID_ARGUMENT: the key is
 * none, or no Ed25519 key. */
METATE_API metate_status metate_signature_make(const char *private_key, uint64_t key_bytes,
                                               const void *bytes, uint64_t count,
                                               uint8_t *signature, char *text);
/* METATE_OK: the owner of this public key has signed these bytes. METATE_E_CORRUPT: another key has, or other bytes were signed.
 * METATE_E_INVALID_ARGUMENT as above. */
METATE_API metate_status metate_signature_check(const char *public_key, uint64_t key_bytes,
                                                const void *bytes, uint64_t count,
                                                const uint8_t *signature, char *text);

#ifdef __cplusplus
}
#endif

#endif
