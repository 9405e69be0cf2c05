// Ed25519 by libcrypto: two functions, which keep nothing.
#include "metate/metate_signature.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <cstdio>
#include <memory>

namespace {

template <auto release> struct Releaser {
  template <typename T> void operator()(T *object) const { release(object); }
};
using Bio = std::unique_ptr<BIO, Releaser<BIO_free>>;
using Key = std::unique_ptr<EVP_PKEY, Releaser<EVP_PKEY_free>>;
using Digest = std::unique_ptr<EVP_MD_CTX, Releaser<EVP_MD_CTX_free>>;

metate_status failed(metate_status status, char *text, const char *what) {
  if (text)
    std::snprintf(text, METATE_SIGNATURE_TEXT, "%s", what);
  return status;
}

// No passphrase is asked for.
int noPassphrase(char *, int, int, void *) { return -1; }

/// The key of a PEM text; null, and the reason in `text`, where it is none that is wanted.
Key readKey(const char *pem, uint64_t bytes, bool isPrivate, char *text) {
  if (!pem || bytes > 1u << 16)
    return failed(METATE_E_NULL, text, "expected a key, got none"), Key();
  Bio stream(BIO_new_mem_buf(pem, int(bytes)));
  Key key(isPrivate ? PEM_read_bio_PrivateKey(stream.get(), nullptr, noPassphrase, nullptr)
                    : PEM_read_bio_PUBKEY(stream.get(), nullptr, noPassphrase, nullptr));
  if (!key) {
    failed(METATE_E_INVALID_ARGUMENT, text,
           isPrivate
               ? "expected a private key without a passphrase, as PEM (-----BEGIN PRIVATE KEY-----)"
               : "expected a public key, as PEM (-----BEGIN PUBLIC KEY-----)");
    return key;
  }
  if (EVP_PKEY_get_id(key.get()) != EVP_PKEY_ED25519) {
    failed(METATE_E_INVALID_ARGUMENT, text, "expected an Ed25519 key, got another kind");
    key.reset();
  }
  return key;
}

} // namespace

metate_status metate_signature_make(const char *private_key, uint64_t key_bytes, const void *bytes,
                                    uint64_t count, uint8_t *signature, char *text) {
  if ((!bytes && count) || !signature)
    return failed(METATE_E_NULL, text, "expected bytes and room for a signature, got NULL");
  Key key = readKey(private_key, key_bytes, true, text);
  if (!key)
    return METATE_E_INVALID_ARGUMENT;
  Digest digest(EVP_MD_CTX_new());
  size_t made = METATE_SIGNATURE_BYTES;
  if (!digest || EVP_DigestSignInit(digest.get(), nullptr, nullptr, nullptr, key.get()) != 1 ||
      EVP_DigestSign(digest.get(), signature, &made, static_cast<const unsigned char *>(bytes),
                     count) != 1 ||
      made != METATE_SIGNATURE_BYTES)
    return failed(METATE_E_INTERNAL, text, "libcrypto could not sign");
  return METATE_OK;
}

metate_status metate_signature_check(const char *public_key, uint64_t key_bytes, const void *bytes,
                                     uint64_t count, const uint8_t *signature, char *text) {
  if ((!bytes && count) || !signature)
    return failed(METATE_E_NULL, text, "expected bytes and a signature, got NULL");
  Key key = readKey(public_key, key_bytes, false, text);
  if (!key)
    return METATE_E_INVALID_ARGUMENT;
  Digest digest(EVP_MD_CTX_new());
  if (!digest || EVP_DigestVerifyInit(digest.get(), nullptr, nullptr, nullptr, key.get()) != 1)
    return failed(METATE_E_INTERNAL, text, "libcrypto could not begin");
  if (EVP_DigestVerify(digest.get(), signature, METATE_SIGNATURE_BYTES,
                       static_cast<const unsigned char *>(bytes), count) != 1)
    return failed(METATE_E_CORRUPT, text, "the signature is not of this key for these bytes");
  return METATE_OK;
}
