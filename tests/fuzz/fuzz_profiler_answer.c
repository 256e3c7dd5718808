/* fuzz_profiler_answer.c: any bytes as the answer of a profiler server, and as its address (capture/launcher).
**
** Whatever they are and in whatever pieces they come: the same is read of them, no more than has come is handed on, and
** what is asked of a server reads back.
*/
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "profiler_address.h"
#include "profiler_messages.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds) {
  if (!holds) abort();
}

struct put {
  uint64_t bytes;
  uint32_t sum;
};

static bool count(void *context, const uint8_t *bytes, size_t length) {
  struct put *put = context;
  must(length > 0);
  put->bytes += length;
  for (size_t i = 0; i < length; i++) put->sum = put->sum * 31 + bytes[i];
  return true;
}

static struct put read_in_pieces(const uint8_t *data, size_t size, size_t piece, struct profiler_answer *answer) {
  struct put put = {0, 0};
  *answer = (struct profiler_answer){.limit = 1 << 20, .put = count, .context = &put};
  for (size_t at = 0; at < size; at += piece) {
    bool holds = profiler_answer_take(answer, data + at, size - at < piece ? size - at : piece);
    must(holds == !answer->wrong);
    if (!holds) break;
  }
  answer->context = NULL;
  return put;
}

static void read_address(const uint8_t *data, size_t size) {
  static const char safe[] = "abcdefghijklmnopqrstuvwxyz0123456789.-_";
  struct profiler_address address;
  char word[512];
  if (size >= sizeof word) size = sizeof word - 1;
  memcpy(word, data, size);
  word[size] = 0;
  if (profiler_address_read(word, &address)) return;
  must(address.name[0] != '.' && strspn(address.name, safe) == strlen(address.name));
  must(strncmp(address.url, "http://", 7) == 0 && !strpbrk(address.url + 7, "/?#@ \r\n\\"));
}

static void check_request(const uint8_t *data, size_t size) {
  uint8_t bytes[PROFILER_REQUEST_BYTES];
  char session[PROFILER_TEXT_BYTES + 1];
  struct profiler_answer answer;
  size_t length = size < PROFILER_TEXT_BYTES ? size : PROFILER_TEXT_BYTES;
  memcpy(session, data, length);
  session[length] = 0;
  const struct profiler_wish wish = {UINT64_MAX, 3, 1, 1};
  size_t asked = profiler_request_write(&wish, session, session, bytes);
  must(asked <= sizeof bytes);
  read_in_pieces(bytes, asked, 7, &answer); /* framed alike */
  must(profiler_answer_is_whole(&answer));
  asked = profiler_end_write(session, bytes);
  read_in_pieces(bytes, asked, 3, &answer);
  must(profiler_answer_is_whole(&answer));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct profiler_answer whole, other;
  read_address(data, size);
  check_request(data, size);
  struct put put = read_in_pieces(data, size, size ? size : 1, &whole);
  must(put.bytes == whole.space && put.bytes <= size);
  for (size_t piece = 1; piece < 8; piece += 3) {
    struct put again = read_in_pieces(data, size, piece, &other);
    must(again.bytes == put.bytes && again.sum == put.sum && other.wrong == whole.wrong);
    must(other.is_empty == whole.is_empty && profiler_answer_is_whole(&other) == profiler_answer_is_whole(&whole));
  }
  return 0;
}
