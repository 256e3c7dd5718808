/* scan.h: finding the ends of JSON values in a block of text, inline.
**
** Every block is followed by SCAN_PADDING readable bytes of '"'.  A quote ends every scan that is inside a string, and
** is neither white space nor part of a number, so that no scan needs a bounds check per byte; a result at or beyond
** `end` means that the value is not complete within the block.  Nothing here recurses, so depth of nesting costs
** nothing.
**
** SSE2 belongs to every x86-64; elsewhere the plain loops are used.
*/
#ifndef TFPROF_JSON_SCAN_H
#define TFPROF_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { SCAN_PADDING = 128 };

enum field_kind {
  FIELD_ABSENT,
  FIELD_TEXT, /* a string: text/length are what stands between the quotes, is_escaped says whether it has backslashes */
  FIELD_INTEGER, /* `number` is exact */
  FIELD_DECIMAL, /* any other number, also integers beyond 64 bits: text/length */
  FIELD_NESTED,  /* array or object, with its brackets */
  FIELD_LITERAL, /* true, false, null, and whatever else stands there (NaN, Infinity, N/A) */
};

struct field {
  const char *text;
  uint32_t length;
  uint8_t kind;       /* enum field_kind */
  bool is_escaped;
  uint8_t decimals;   /* digits behind the point that `fraction` has; 0: see text */
  int64_t number;     /* whole part, negative with the sign (-0.5: look at the text) */
  uint64_t fraction;
};

static inline bool scan_is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

static inline const char *scan_space(const char *p) {
  while (scan_is_space(*p)) p++;
  return p;
}

/* From behind the opening quote to the closing quote (or the padding). */
static inline const char *scan_string(const char *p, const char *end, bool *is_escaped) {
  *is_escaped = false;
  for (;;) {
#ifdef __SSE2__
    const __m128i quote = _mm_set1_epi8('"'), backslash = _mm_set1_epi8('\\');
    for (;;) {
      __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)p);
      int mask = _mm_movemask_epi8(_mm_or_si128(_mm_cmpeq_epi8(bytes, quote), _mm_cmpeq_epi8(bytes, backslash)));
      if (mask) {
        p += __builtin_ctz((unsigned)mask);
        break;
      }
      p += 16;
    }
#else
    while (*p != '"' && *p != '\\') p++;
#endif
    if (*p == '"' || p >= end) return p;
    *is_escaped = true;
    p += 2;
    if (p >= end) return p;
  }
}

/* Where the array or object that begins at p ends (behind its bracket), or NULL when it does not end before `end`.
** Brackets are counted, not matched by kind: [1} is taken as it is. */
static inline const char *scan_nested_slowly(const char *p, const char *end, int64_t depth) {
  while (p < end) {
    char c = *p++;
    if (c == '[' || c == '{') {
      depth++;
    } else if (c == ']' || c == '}') {
      if (--depth == 0) return p;
    } else if (c == '"') {
      bool is_escaped;
      p = scan_string(p, end, &is_escaped) + 1;
    }
  }
  return NULL;
}

static inline const char *scan_nested(const char *p, const char *end) {
#ifdef __SSE2__
  int64_t depth = 0;
  uint64_t in_string = 0; /* all ones when the block begins inside a string */
  /* '{' is '[' | 0x20 and '}' is ']' | 0x20: one comparison finds both. */
  const __m128i fold = _mm_set1_epi8(0x20), open = _mm_set1_epi8('{'), close = _mm_set1_epi8('}');
  const __m128i quote = _mm_set1_epi8('"'), backslash = _mm_set1_epi8('\\');
  for (;; p += 64) {
    if (p >= end) return NULL;
    uint64_t opens = 0, closes = 0, quotes = 0, escapes = 0;
    for (size_t i = 0; i < 4; i++) {
      __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(p + 16 * i));
      __m128i folded = _mm_or_si128(bytes, fold);
      opens |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(folded, open)) << (16 * i);
      closes |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(folded, close)) << (16 * i);
      quotes |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, quote)) << (16 * i);
      escapes |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, backslash)) << (16 * i);
    }
    if (escapes) { /* rare: byte by byte from here on, past the string that the block begins in */
      if (in_string) {
        bool is_escaped;
        p = scan_string(p, end, &is_escaped) + 1;
      }
      return scan_nested_slowly(p, end, depth);
    }
    if (quotes | in_string) {
      uint64_t inside = quotes;
      inside ^= inside << 1;
      inside ^= inside << 2;
      inside ^= inside << 4;
      inside ^= inside << 8;
      inside ^= inside << 16;
      inside ^= inside << 32;
      inside ^= in_string;
      in_string = (uint64_t)((int64_t)inside >> 63);
      opens &= ~inside;
      closes &= ~inside;
    }
    for (uint64_t rest = opens | closes; rest; rest &= rest - 1) {
      uint64_t bit = rest & -rest;
      depth += opens & bit ? 1 : -1;
      if (depth == 0) {
        const char *last = p + __builtin_ctzll(rest);
        return last < end ? last + 1 : NULL;
      }
    }
  }
#else
  return scan_nested_slowly(p, end, 0);
#endif
}

/* Eight digits at once: pairs, then fours, then eight (little-endian load, first digit in the lowest byte). */
static inline uint64_t scan_eight_digits(uint64_t bytes) {
  bytes = (bytes & 0x0f0f0f0f0f0f0f0full) * 2561 >> 8;
  bytes = (bytes & 0x00ff00ff00ff00ffull) * 6553601 >> 16;
  return (bytes & 0x0000ffff0000ffffull) * 42949672960001ull >> 32;
}

/* How many of the (at most 16) bytes at p are digits, and their value. */
static inline unsigned scan_digits(const char *p, uint64_t *value) {
#if defined(__SSE2__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)p);
  __m128i offset = _mm_sub_epi8(bytes, _mm_set1_epi8('0'));
  /* unsigned offset <= 9 */
  int mask = _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_min_epu8(offset, _mm_set1_epi8(9)), offset));
  unsigned count = (unsigned)__builtin_ctz(~(unsigned)mask);
  uint64_t low, high;
  memcpy(&low, p, 8);
  memcpy(&high, p + 8, 8);
  if (count == 0) {
    *value = 0;
  } else if (count <= 8) {
    *value = scan_eight_digits(low << (64 - 8 * count)); /* what is shifted in counts as leading zeros */
  } else {
    static const uint32_t powers[9] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
    *value = scan_eight_digits(low) * powers[count - 8] + scan_eight_digits(high << (64 - 8 * (count - 8)));
  }
  return count;
#else
  unsigned count = 0;
  uint64_t sum = 0;
  for (; count < 16 && p[count] >= '0' && p[count] <= '9'; count++) sum = sum * 10 + (uint64_t)(p[count] - '0');
  *value = sum;
  return count;
#endif
}

static inline bool scan_is_number_byte(char c) {
  return (c >= '0' && c <= '9') || c == '.' || c == 'e' || c == 'E' || c == '+' || c == '-';
}

/* A number that begins at p. FIELD_INTEGER when it is one and fits; otherwise the text tells, and when it has the
** common form of at most 16 digits before the point and 16 behind, number, fraction and decimals are set too. Returns
** its end. */
static inline const char *scan_number(const char *p, struct field *field) {
  field->text = p;
  bool is_negative = *p == '-';
  uint64_t value;
  const char *q = p + is_negative;
  unsigned count = scan_digits(q, &value);
  q += count;
  field->kind = FIELD_INTEGER;
  field->decimals = 0;
  if (*q == '.' && count) {
    field->kind = FIELD_DECIMAL;
    unsigned decimals = scan_digits(q + 1, &field->fraction);
    field->decimals = (uint8_t)decimals;
    q += 1 + decimals;
  }
  if (scan_is_number_byte(*q) || count == 0) {
    if (count == 16 && field->kind == FIELD_INTEGER) { /* 17 to 19 digits may still fit */
      uint64_t rest;
      static const uint32_t powers[4] = {1, 10, 100, 1000};
      unsigned more = scan_digits(q, &rest);
      if (more <= 3 && !scan_is_number_byte(q[more]) && !__builtin_mul_overflow(value, powers[more], &value) &&
          !__builtin_add_overflow(value, rest, &value) && value <= INT64_MAX) {
        q += more;
      } else {
        field->kind = FIELD_DECIMAL;
      }
    } else {
      field->kind = FIELD_DECIMAL;
      field->decimals = 0;
    }
    while (scan_is_number_byte(*q)) q++;
  }
  field->number = (int64_t)(is_negative ? 0 - value : value);
  field->length = (uint32_t)(q - p);
  return q;
}

/* Any value that begins at p. Returns its end; at or beyond `end`: not complete. */
static inline const char *scan_value(const char *p, const char *end, struct field *field) {
  char c = *p;
  if (c == '"') {
    const char *q = scan_string(p + 1, end, &field->is_escaped);
    field->kind = FIELD_TEXT;
    field->text = p + 1;
    field->length = (uint32_t)(q - p - 1);
    return q + 1;
  }
  if ((c >= '0' && c <= '9') || (c == '-' && p[1] >= '0' && p[1] <= '9')) {
    field->is_escaped = false;
    return scan_number(p, field);
  }
  field->is_escaped = false;
  field->text = p;
  const char *q;
  if (c == '[' || c == '{') {
    field->kind = FIELD_NESTED;
    q = scan_nested(p, end);
    if (!q) return end;
  } else {
    field->kind = FIELD_LITERAL;
    for (q = p; q < end && *q != ',' && *q != '}' && *q != ']' && *q != '"' && !scan_is_space(*q); q++) continue;
  }
  field->length = (uint32_t)(q - p);
  return q;
}

/* ---- walking over a value that is known to be complete: text[length] lies in a block with padding ---- */

struct member_cursor {
  const char *p, *end;
};
/* `field` is an object or array. */
static inline struct member_cursor scan_members(const struct field *field) {
  return (struct member_cursor){field->text + 1, field->text + field->length - 1};
}
/* The next member of an object, or element of an array (key NULL). False at the end or where it is no JSON. */
static inline bool scan_next(struct member_cursor *cursor, struct field *key, struct field *value) {
  const char *p = cursor->p;
  while (p < cursor->end && (scan_is_space(*p) || *p == ',')) p++;
  if (p >= cursor->end) return false;
  if (key) {
    if (*p != '"') return false;
    p = scan_value(p, cursor->end, key);
    p = scan_space(p);
    if (p >= cursor->end || *p != ':') return false;
    p = scan_space(p + 1);
    if (p >= cursor->end) return false;
  }
  const char *q = scan_value(p, cursor->end + 1, value);
  if (q > cursor->end || q == p) return false;
  cursor->p = q;
  return true;
}
static inline bool scan_key_is(const struct field *key, const char *name) {
  size_t length = strlen(name);
  return key->length == length && memcmp(key->text, name, length) == 0;
}

#endif
