/* embed_page.c: makes C arrays of the files of a page: see page.h.
**
**   embed_page OUTPUT.c PAGE.html FILE.css ... FILE.js ...
**
** Styles and scripts become one text each, in the order given.  Files whose lines begin with `import` or `export` are
** modules: those lines lose that, and all modules together are one function, so that what they name is nobody else's;
** a script without either, such as a library, stands before them as it is.  Comments and space of modules go
** (squeeze.c).
*/
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/squeeze.h"

enum { MAXIMUM_TEXT = 1 << 22 };

struct text {
  char *bytes;
  size_t length;
};

static void fail_page(const char *path, const char *what) {
  fprintf(stderr, "embed_page: %s: %s\n", path, what);
  exit(1);
}

static struct text read_text(const char *path) {
  struct text text = {malloc(MAXIMUM_TEXT), 0};
  FILE *file = fopen(path, "rb");
  if (!file || !text.bytes) fail_page(path, "cannot be opened");
  text.length = fread(text.bytes, 1, MAXIMUM_TEXT - 1, file);
  if (ferror(file) || text.length == MAXIMUM_TEXT - 1 || memchr(text.bytes, 0, text.length))
    fail_page(path, "cannot be read as a text of less than 4 MiB");
  text.bytes[text.length] = 0;
  fclose(file);
  return text;
}

static void append_text(struct text *text, const char *bytes, size_t length) {
  if (text->length + length >= MAXIMUM_TEXT) fail_page("page", "too large");
  memcpy(text->bytes + text->length, bytes, length);
  text->length += length;
  text->bytes[text->length] = 0;
}

/* ---- SHA-256 (FIPS 180-4) and base64 ---- */

static uint32_t rotate(uint32_t word, int count) { return word >> count | word << (32 - count); }

static void hash_block(uint32_t state[8], const unsigned char *block) {
  static const uint32_t constants[64] = {
      0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
      0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
      0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
      0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
      0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
      0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
      0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
      0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
  uint32_t words[64], s[8];
  for (size_t i = 0; i < 16; i++) {
    const unsigned char *at = block + 4 * i;
    words[i] = (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
  }
  for (int i = 16; i < 64; i++) {
    uint32_t a = words[i - 15], b = words[i - 2];
    words[i] = words[i - 16] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) + words[i - 7] +
               (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
  }
  memcpy(s, state, sizeof s);
  for (int i = 0; i < 64; i++) {
    uint32_t sum = s[7] + (rotate(s[4], 6) ^ rotate(s[4], 11) ^ rotate(s[4], 25)) + ((s[4] & s[5]) ^ (~s[4] & s[6])) +
                   constants[i] + words[i];
    uint32_t other =
        (rotate(s[0], 2) ^ rotate(s[0], 13) ^ rotate(s[0], 22)) + ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
    memmove(s + 1, s, 7 * sizeof *s);
    s[4] += sum;
    s[0] = sum + other;
  }
  for (int i = 0; i < 8; i++) state[i] += s[i];
}

static void write_hash(FILE *out, const char *name, const struct text *text) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  uint32_t state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  size_t whole = text->length / 64 * 64, rest = text->length - whole;
  unsigned char tail[128] = {0}, hash[33] = {0};
  for (size_t i = 0; i < whole; i += 64) hash_block(state, (const unsigned char *)text->bytes + i);
  memcpy(tail, text->bytes + whole, rest);
  tail[rest] = 0x80;
  size_t tail_length = rest < 56 ? 64 : 128;
  for (size_t i = 0; i < 8; i++) tail[tail_length - 1 - i] = (unsigned char)((uint64_t)text->length * 8 >> 8 * i);
  for (size_t i = 0; i < tail_length; i += 64) hash_block(state, tail + i);
  for (size_t i = 0; i < 32; i++) hash[i] = (unsigned char)(state[i / 4] >> (24 - 8 * (i % 4)));
  fprintf(out, "const char %s[] = \"'sha256-", name);
  for (size_t i = 0; i < 33; i += 3) { /* 32 bytes: the last of three is not there */
    uint32_t group = (uint32_t)hash[i] << 16 | (uint32_t)hash[i + 1] << 8 | (i + 2 < 33 ? hash[i + 2] : 0u);
    fprintf(out, "%c%c%c%c", digits[group >> 18], digits[group >> 12 & 63], digits[group >> 6 & 63],
            i == 30 ? '=' : digits[group & 63]);
  }
  fputs("'\";\n", out);
}

/* ---- files ---- */

static bool begins(const char *line, const char *word) { return strncmp(line, word, strlen(word)) == 0; }

static bool is_module(const struct text *text) {
  return begins(text->bytes, "import ") || begins(text->bytes, "export ") || strstr(text->bytes, "\nimport ") ||
         strstr(text->bytes, "\nexport ");
}

/* Without what only the reader of the file needs. */
static void append_module(struct text *script, const struct text *module, const char *path) {
  const char *error;
  size_t place;
  if (script->length + module->length + 2 >= MAXIMUM_TEXT) fail_page(path, "too large");
  script->length += squeeze_module(script->bytes + script->length, module->bytes, module->length, &error, &place);
  if (error) {
    int line = 1;
    for (size_t i = 0; i < place && i < module->length; i++) line += module->bytes[i] == '\n';
    fprintf(stderr, "embed_page: %s:%d: %s\n", path, line, error);
    exit(1);
  }
  append_text(script, "\n", 1);
}

static void write_literal(FILE *out, const char *text, size_t length) {
  fputc('"', out);
  for (size_t i = 0; i < length; i++) {
    unsigned char byte = (unsigned char)text[i];
    if (byte == '\n') fputs("\\n\"\n  \"", out);
    else if (byte == '"' || byte == '\\') fprintf(out, "\\%c", byte);
    else if (byte < 32 || byte > 126 || byte == '?') fprintf(out, "\\%03o", byte);
    else fputc(byte, out);
  }
  fputc('"', out);
}

static void write_part(FILE *out, const char *name, const struct text *text, const char *forbidden) {
  if (strstr(text->bytes, forbidden)) fail_page(name, "ends its element in its midst");
  fprintf(out, "const char %s[] =\n  ", name);
  write_literal(out, text->bytes, text->length);
  fprintf(out, ";\nconst unsigned long %s_length = %zuul;\n", name, text->length);
}

static void write_template(FILE *out, const struct text *page, const char *path) {
  fputs("const struct page_part page_parts[] = {\n", out);
  const char *at = page->bytes;
  for (;;) {
    const char *place = strchr(at, '@'), *end = place ? strchr(place + 1, '@') : NULL;
    if (place && !end) fail_page(path, "a place that does not end");
    fputs("  {", out);
    write_literal(out, at, place ? (size_t)(place - at) : strlen(at));
    if (!place) break;
    fprintf(out, ", \"%.*s\"},\n", (int)(end - place - 1), place + 1);
    at = end + 1;
  }
  fputs(", NULL},\n  {NULL, NULL},\n};\n", out);
}

int main(int count, char **arguments) {
  struct text style = {malloc(MAXIMUM_TEXT), 0}, script = {malloc(MAXIMUM_TEXT), 0};
  bool has_modules = false;
  if (count < 3 || !style.bytes || !script.bytes) {
    fputs("usage: embed_page OUTPUT.c PAGE.html FILE.css ... FILE.js ...\n", stderr);
    return 2;
  }
  for (int i = 3; i < count; i++) {
    struct text text = read_text(arguments[i]);
    size_t length = strlen(arguments[i]);
    if (length > 4 && strcmp(arguments[i] + length - 4, ".css") == 0) {
      for (const char *at = text.bytes; *at; at++) {
        char last = style.length ? style.bytes[style.length - 1] : '\n';
        bool is_space = *at == ' ' || *at == '\n';
        if (!is_space || !(strchr("\n{;:,}", last) || at[1] == '{')) append_text(&style, at, 1);
      }
    } else if (is_module(&text)) {
      static const char opening[] = "(() => {\n'use strict';\n";
      if (!has_modules) append_text(&script, opening, sizeof opening - 1);
      has_modules = true;
      append_module(&script, &text, arguments[i]);
    } else if (has_modules) {
      fail_page(arguments[i], "a library comes before the modules");
    } else {
      append_text(&script, text.bytes, text.length);
      append_text(&script, "\n", 1);
    }
    free(text.bytes);
  }
  if (has_modules) append_text(&script, "})();\n", 6);
  struct text page = read_text(arguments[2]);
  FILE *out = fopen(arguments[1], "wb");
  if (!out) fail_page(arguments[1], "cannot be written");
  fputs("/* Made by embed_page. */\n#include <stddef.h>\n\n#include \"report/page.h\"\n\n", out);
  write_template(out, &page, arguments[2]);
  write_part(out, "page_style", &style, "</style");
  write_part(out, "page_script", &script, "</script");
  write_hash(out, "page_style_hash", &style);
  write_hash(out, "page_script_hash", &script);
  if (ferror(out) || fclose(out)) fail_page(arguments[1], "cannot be written");
  free(style.bytes);
  free(script.bytes);
  free(page.bytes);
  return 0;
}
