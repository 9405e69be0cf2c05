/* Frames on a stream of bytes: COBS between zero bytes, with a CRC-32. What is damaged ends at the next zero. */
#include "rpc/rpc.h"

/* As zlib's; four bits at a time, so that the table stays small. */
uint32_t metate_rpc_crc(const unsigned char *bytes, uint32_t count) {
  static const uint32_t table[16] = {0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac,
                                     0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
                                     0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
                                     0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};
  uint32_t crc = 0xffffffffu;
  for (uint32_t k = 0; k < count; ++k) {
    crc ^= bytes[k];
    crc = crc >> 4 ^ table[crc & 15];
    crc = crc >> 4 ^ table[crc & 15];
  }
  return ~crc;
}

static void write_bytes(metate_rpc *server, const unsigned char *bytes, uint32_t count) {
  if (count)
    server->options.write(server->options.write_self, bytes, count);
}

void metate_rpc_send(metate_rpc *server, unsigned char *frame, uint32_t bytes) {
  uint32_t crc = metate_rpc_crc(frame, bytes), total = bytes + CRC_BYTES, from = 0;
  for (uint32_t k = 0; k < CRC_BYTES; ++k)
    frame[bytes + k] = (unsigned char)(crc >> 8 * k);
  static const unsigned char zero;
  write_bytes(server, &zero, 1);
  for (;;) { /* a block: how many bytes without a zero, and one; then those bytes */
    uint32_t count = 0;
    while (from + count < total && frame[from + count] && count < 254)
      ++count;
    unsigned char code = (unsigned char)(count + 1);
    write_bytes(server, &code, 1);
    write_bytes(server, frame + from, count);
    from += count;
    if (from == total)
      break;
    from += count < 254; /* the zero that the block stands for */
  }
  write_bytes(server, &zero, 1);
}

static void append(metate_rpc *server, unsigned char byte) {
  if (server->used == server->options.frame_bytes)
    server->has_overflowed = 1;
  else
    server->request[server->used++] = byte;
}

int metate_rpc_take(metate_rpc *server, unsigned char byte) {
  if (byte == 0) {
    int is_empty = !server->block, is_whole = !server->left && !server->has_overflowed;
    server->block = server->left = 0;
    server->has_overflowed = 0;
    return is_empty ? FRAME_GOES_ON : is_whole ? FRAME_ENDS : FRAME_IS_DAMAGED;
  }
  if (server->left) {
    --server->left;
    append(server, byte);
    return FRAME_GOES_ON;
  }
  if (!server->block) /* the first byte of a frame */
    server->used = 0;
  else if (server->block < 255)
    append(server, 0);
  server->block = byte;
  server->left = byte - 1u;
  return FRAME_GOES_ON;
}
