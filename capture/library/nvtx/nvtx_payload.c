/* nvtx_payload.c: see nvtx_payload.h. */
#include "nvtx_payload.h"

#include "nvtx_schemas.h"
#include "nvtx_texts.h"

#include <inttypes.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

enum {
  DEPTH_MAXIMUM = 8,     /* schemas within schemas */
  ELEMENTS_MAXIMUM = 1024, /* of an array */
  PAYLOADS_MAXIMUM = 64,
};

_Atomic uint64_t nvtx_payloads_cut, nvtx_payloads_unknown;

static void count_one(_Atomic uint64_t *counter) { atomic_fetch_add_explicit(counter, 1, memory_order_relaxed); }

/* ---- JSON of bounded length. */

struct json {
  struct nvtx_payload *payload;
  unsigned domain;
  bool is_cut;
};

static void put_bytes(struct json *json, const char *bytes, size_t length) {
  struct nvtx_payload *to = json->payload;
  if (json->is_cut || length > NVTX_JSON_MAXIMUM - to->length) {
    json->is_cut = true;
    return;
  }
  memcpy(to->json + to->length, bytes, length);
  to->length += (unsigned)length;
}

static void put_word(struct json *json, const char *word) { put_bytes(json, word, strlen(word)); }

static void put_unknown(struct json *json) {
  count_one(&nvtx_payloads_unknown);
  put_word(json, "null");
}

/* Bytes that are no UTF-8 are told by whoever reads the file. */
static void put_text(struct json *json, const char *bytes, size_t length) {
  put_word(json, "\"");
  for (size_t i = 0; i < length && !json->is_cut; i++) {
    uint8_t letter = (uint8_t)bytes[i];
    char escaped[8];
    if (letter == '"' || letter == '\\') {
      escaped[0] = '\\';
      escaped[1] = (char)letter;
      put_bytes(json, escaped, 2);
    } else if (letter < ' ') {
      snprintf(escaped, sizeof escaped, "\\u%04x", letter);
      put_word(json, escaped);
    } else {
      put_bytes(json, bytes + i, 1);
    }
  }
  put_word(json, "\"");
}

static void put_number_text(struct json *json, uint32_t number) {
  const struct nvtx_text *text = nvtx_text(number);
  put_text(json, text->bytes, text->length);
}

static void put_real(struct json *json, double value) {
  char text[40];
  if (!isfinite(value)) {
    put_word(json, isnan(value) ? "\"nan\"" : value < 0 ? "\"-inf\"" : "\"inf\"");
    return;
  }
  for (int digits = 6; digits <= 17; digits++) {
    snprintf(text, sizeof text, "%.*g", digits, value);
    if (strtod(text, NULL) == value) break;
  }
  for (char *point = text; *point; point++)
    if (*point == ',') *point = '.'; /* the program's own language */
  put_word(json, text);
}

static void put_integer(struct json *json, uint64_t value, bool is_signed) {
  char text[32];
  if (is_signed) snprintf(text, sizeof text, "%" PRId64, (int64_t)value);
  else snprintf(text, sizeof text, "%" PRIu64, value);
  put_word(json, text);
}

/* ---- Plain types. */

enum form { FORM_NONE, FORM_SIGNED, FORM_UNSIGNED, FORM_REAL, FORM_LETTER, FORM_ADDRESS, FORM_HALF, FORM_BRAIN };
struct plain {
  uint8_t size, form;
};

static struct plain plain_type(uint64_t type) {
  switch (type) {
    case NVTX_TYPE_CHAR:
    case NVTX_TYPE_CHAR8: return (struct plain){1, FORM_LETTER};
    case NVTX_TYPE_UCHAR:
    case NVTX_TYPE_UINT8:
    case NVTX_TYPE_BYTE: return (struct plain){1, FORM_UNSIGNED};
    case NVTX_TYPE_INT8: return (struct plain){1, FORM_SIGNED};
    case NVTX_TYPE_SHORT:
    case NVTX_TYPE_INT16: return (struct plain){2, FORM_SIGNED};
    case NVTX_TYPE_USHORT:
    case NVTX_TYPE_UINT16:
    case NVTX_TYPE_CHAR16: return (struct plain){2, FORM_UNSIGNED};
    case NVTX_TYPE_INT:
    case NVTX_TYPE_INT32: return (struct plain){4, FORM_SIGNED};
    case NVTX_TYPE_UINT:
    case NVTX_TYPE_UINT32:
    case NVTX_TYPE_WCHAR:
    case NVTX_TYPE_CHAR32:
    case NVTX_TYPE_CATEGORY:
    case NVTX_TYPE_COLOR:
    case NVTX_TYPE_PID32:
    case NVTX_TYPE_TID32: return (struct plain){4, FORM_UNSIGNED};
    case NVTX_TYPE_LONG:
    case NVTX_TYPE_LONGLONG:
    case NVTX_TYPE_INT64: return (struct plain){8, FORM_SIGNED};
    case NVTX_TYPE_ULONG:
    case NVTX_TYPE_ULONGLONG:
    case NVTX_TYPE_UINT64:
    case NVTX_TYPE_SIZE:
    case NVTX_TYPE_RANGE_ID:
    case NVTX_TYPE_SCOPE:
    case NVTX_TYPE_PID64:
    case NVTX_TYPE_TID64: return (struct plain){8, FORM_UNSIGNED};
    case NVTX_TYPE_ADDRESS: return (struct plain){8, FORM_ADDRESS};
    case NVTX_TYPE_FLOAT:
    case NVTX_TYPE_FLOAT32:
    case NVTX_TYPE_TF32: return (struct plain){4, FORM_REAL};
    case NVTX_TYPE_DOUBLE:
    case NVTX_TYPE_FLOAT64: return (struct plain){8, FORM_REAL};
    case NVTX_TYPE_LONGDOUBLE: return (struct plain){sizeof(long double), FORM_REAL};
    case NVTX_TYPE_FLOAT16: return (struct plain){2, FORM_HALF};
    case NVTX_TYPE_BF16: return (struct plain){2, FORM_BRAIN};
    default: return (struct plain){0, FORM_NONE};
  }
}

static uint64_t whole_at(const uint8_t *bytes, unsigned size, bool is_signed) {
  uint64_t value = 0;
  memcpy(&value, bytes, size);
  unsigned unused = 64 - size * 8;
  return is_signed && unused ? (uint64_t)((int64_t)(value << unused) >> unused) : value;
}

static double half(uint16_t bits) {
  int exponent = bits >> 10 & 31, fraction = bits & 1023;
  double value = !exponent          ? ldexp(fraction, -24)
                 : exponent == 31   ? (fraction ? (double)NAN : (double)INFINITY)
                                    : ldexp(1024 + fraction, exponent - 25);
  return bits >> 15 ? -value : value;
}

static double real_at(const uint8_t *bytes, struct plain plain) {
  float single;
  double value;
  long double wide;
  uint32_t bits = 0;
  if (plain.form == FORM_HALF || plain.form == FORM_BRAIN) memcpy(&bits, bytes, 2);
  if (plain.form == FORM_HALF) return half((uint16_t)bits);
  if (plain.form == FORM_BRAIN) {
    bits <<= 16;
    memcpy(&single, &bits, 4);
    return (double)single;
  }
  if (plain.size == 4) {
    memcpy(&single, bytes, 4);
    return (double)single;
  }
  if (plain.size == 8) {
    memcpy(&value, bytes, 8);
    return value;
  }
  memcpy(&wide, bytes, sizeof wide);
  return (double)wide;
}

static void put_plain(struct json *json, const uint8_t *bytes, struct plain plain) {
  char text[24];
  if (plain.form == FORM_SIGNED || plain.form == FORM_UNSIGNED) {
    put_integer(json, whole_at(bytes, plain.size, plain.form == FORM_SIGNED), plain.form == FORM_SIGNED);
  } else if (plain.form == FORM_LETTER) {
    put_text(json, (const char *)bytes, 1);
  } else if (plain.form == FORM_ADDRESS) {
    snprintf(text, sizeof text, "\"0x%" PRIx64 "\"", whole_at(bytes, 8, false));
    put_word(json, text);
  } else {
    put_real(json, real_at(bytes, plain));
  }
}

/* ---- Text. */

static unsigned letter_bytes(uint64_t type) {
  return type == NVTX_TYPE_UTF16 ? 2 : type == NVTX_TYPE_UTF32 ? 4 : 1;
}
static bool is_letters(uint64_t type) { return type >= NVTX_TYPE_TEXT && type <= NVTX_TYPE_UTF32; }

static size_t put_point(char *to, uint32_t point) {
  if (point < 0x80) return to[0] = (char)point, 1;
  if (point > 0x10ffff || (point >= 0xd800 && point < 0xe000)) point = 0xfffd;
  size_t more = point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
  static const uint8_t leads[] = {0, 0xc0, 0xe0, 0xf0};
  to[0] = (char)(leads[more] | point >> more * 6);
  for (size_t i = 1; i <= more; i++) to[i] = (char)(0x80 | (point >> (more - i) * 6 & 0x3f));
  return more + 1;
}

/* UTF-8 of up to `units` letters or a NUL; its length. */
static size_t to_utf8(const uint8_t *bytes, uint64_t type, uint64_t units, char *text, size_t size) {
  size_t length = 0;
  unsigned wide = letter_bytes(type);
  for (uint64_t i = 0; i < units && length + 4 < size; i++) {
    uint32_t point = 0, low = 0;
    memcpy(&point, bytes + i * wide, wide);
    if (!point) break;
    if (wide == 2 && point >= 0xd800 && point < 0xdc00 && i + 1 < units) {
      memcpy(&low, bytes + (i + 1) * 2, 2);
      if (low >= 0xdc00 && low < 0xe000) {
        point = 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00);
        i++;
      }
    }
    if (wide == 1) text[length++] = (char)point;
    else length += put_point(text + length, point);
  }
  return length;
}

static void put_letters(struct json *json, const uint8_t *bytes, uint64_t type, uint64_t units, bool is_message) {
  char text[NVTX_JSON_MAXIMUM];
  if (!bytes) {
    put_word(json, "null");
    return;
  }
  size_t length = to_utf8(bytes, type, units, text, sizeof text);
  put_text(json, text, length);
  if (is_message) json->payload->text = nvtx_text_number_of_bytes(text, length);
}

/* ---- Schemas. */

struct place { /* of what is being read: a payload, or a schema within one */
  const uint8_t *bytes;
  uint64_t size;
};

static uint64_t put_layout(struct json *json, const struct nvtx_layout *layout, struct place place, unsigned depth);

static void put_enum(struct json *json, const struct nvtx_layout *layout, const uint8_t *bytes) {
  uint64_t value = whole_at(bytes, layout->size, false), left = value;
  for (uint32_t i = 0; i < layout->count; i++) {
    uint64_t its = layout->values[i].value & (layout->size == 8 ? UINT64_MAX : (1ull << layout->size * 8) - 1);
    if (its != value || !layout->values[i].name) continue;
    put_number_text(json, layout->values[i].name);
    return;
  }
  char text[512] = "";
  size_t length = 0;
  for (uint32_t i = 0; i < layout->count && left; i++) { /* flags: their names, with a bar between */
    const struct nvtx_layout_value *its = &layout->values[i];
    if (!its->is_flag || !its->name || !its->value || (left & its->value) != its->value) continue;
    length += (size_t)snprintf(text + length, sizeof text - length, "%s%.*s", length ? "|" : "",
                               (int)nvtx_text(its->name)->length, nvtx_text(its->name)->bytes);
    if (length >= sizeof text) break;
    left &= ~its->value;
  }
  if (length && length < sizeof text && !left) put_text(json, text, length);
  else put_integer(json, whole_at(bytes, layout->size, true), true);
}

/* Bytes of one element of a type within `domain`, and what it is aligned to; 0: not known. */
static uint64_t element_size(unsigned domain, uint64_t type, uint64_t *alignment) {
  struct plain plain = plain_type(type);
  *alignment = plain.size;
  if (plain.size) return plain.size;
  if (type == NVTX_TYPE_REGISTERED) return *alignment = sizeof(void *);
  const struct nvtx_layout *layout = type >= NVTX_ID_STATIC ? nvtx_layout_find(domain, type) : NULL;
  if (!layout || !layout->is_known) return 0;
  *alignment = layout->is_enum ? layout->size : 1;
  if (layout->is_enum) return layout->size;
  for (uint32_t i = 0; i < layout->count; i++) {
    uint64_t its;
    struct plain inner = plain_type(layout->entries[i].type);
    bool is_inline = is_letters(layout->entries[i].type) && layout->entries[i].detail;
    its = inner.size ? inner.size : is_inline ? 1 : sizeof(void *);
    if (its > *alignment) *alignment = its;
  }
  if (layout->alignment && *alignment > layout->alignment) *alignment = layout->alignment;
  return layout->size;
}

static void put_element(struct json *json, uint64_t type, uint64_t size, const uint8_t *bytes, unsigned depth) {
  struct plain plain = plain_type(type);
  uint64_t handle;
  if (plain.size) {
    put_plain(json, bytes, plain);
    return;
  }
  if (type == NVTX_TYPE_REGISTERED) {
    memcpy(&handle, bytes, sizeof handle);
    uint32_t number = nvtx_text_number_of_handle((const void *)(uintptr_t)handle);
    if (number) put_number_text(json, number);
    else put_unknown(json);
    return;
  }
  const struct nvtx_layout *layout = nvtx_layout_find(json->domain, type);
  if (!layout) put_unknown(json);
  else if (layout->is_enum) put_enum(json, layout, bytes);
  else put_layout(json, layout, (struct place){bytes, size}, depth + 1);
}

/* What plain entries say of the event itself. */
static void note_attribute(struct json *json, const struct nvtx_layout_entry *entry, const uint8_t *bytes) {
  if (entry->type == NVTX_TYPE_CATEGORY) memcpy(&json->payload->category, bytes, 4);
  if (entry->type == NVTX_TYPE_COLOR) memcpy(&json->payload->color, bytes, 4);
  if (entry->type == NVTX_TYPE_COLOR) json->payload->has_color = true;
  if (entry->type == NVTX_TYPE_REGISTERED && entry->flags & NVTX_ENTRY_MESSAGE) {
    uint64_t handle;
    memcpy(&handle, bytes, sizeof handle);
    json->payload->text = nvtx_text_number_of_handle((const void *)(uintptr_t)handle);
  }
}

/* An entry whose value lies at `offset`; how many bytes it takes there. false in *is_read: the rest cannot be found. */
struct entry_reading {
  const struct nvtx_layout *layout;
  struct place place;
  uint64_t offset;
  const uint64_t *values; /* whole numbers of the entries before it, for lengths */
  unsigned depth;
};

static uint64_t put_text_entry(struct json *json, const struct nvtx_layout_entry *entry,
                               const struct entry_reading *at) {
  bool is_message = (entry->flags & NVTX_ENTRY_MESSAGE) != 0;
  unsigned wide = letter_bytes(entry->type), array = entry->flags & NVTX_ENTRY_ARRAY;
  const uint8_t *bytes = at->place.bytes + at->offset;
  uint64_t left = at->place.size - at->offset, units = left / wide;
  if (entry->flags & NVTX_ENTRY_POINTER || (!entry->detail && !array)) {
    const uint8_t *pointer = NULL;
    if (left < sizeof pointer) return put_unknown(json), left;
    memcpy(&pointer, bytes, sizeof pointer);
    put_letters(json, pointer, entry->type, entry->detail && array != NVTX_ENTRY_ARRAY_LENGTH ? entry->detail : 4096,
                is_message);
    return sizeof pointer;
  }
  uint64_t wanted = array == NVTX_ENTRY_ARRAY_LENGTH       ? at->values[entry->detail < 64 ? entry->detail : 63]
                    : array == NVTX_ENTRY_ARRAY_TERMINATED ? units
                                                           : entry->detail;
  if (wanted < units) units = wanted;
  put_letters(json, bytes, entry->type, units, is_message);
  if (array != NVTX_ENTRY_ARRAY_TERMINATED) return units * wide;
  uint64_t used = 0;
  static const uint8_t nul[4];
  while (used + wide <= left && memcmp(bytes + used, nul, wide) != 0) used += wide;
  return used + wide <= left ? used + wide : left;
}

static uint64_t put_entry(struct json *json, const struct nvtx_layout_entry *entry, const struct entry_reading *at) {
  uint64_t alignment, left = at->place.size - at->offset;
  const uint8_t *bytes = at->place.bytes + at->offset;
  if (is_letters(entry->type)) return put_text_entry(json, entry, at);
  if (entry->flags & (NVTX_ENTRY_POINTER | NVTX_ENTRY_FROM_BASE | NVTX_ENTRY_FROM_HERE)) {
    if (left < sizeof(void *)) return put_unknown(json), left;
    put_plain(json, bytes, (struct plain){8, FORM_ADDRESS}); /* where to is not followed */
    return sizeof(void *);
  }
  uint64_t size = element_size(json->domain, entry->type, &alignment), count = 1;
  unsigned array = entry->flags & NVTX_ENTRY_ARRAY;
  bool is_open = !size && entry->type >= NVTX_ID_STATIC; /* a schema whose size its contents say */
  if (is_open) size = left;
  if (array == NVTX_ENTRY_ARRAY_FIXED) count = entry->detail;
  else if (array == NVTX_ENTRY_ARRAY_LENGTH) count = at->values[entry->detail < 64 ? entry->detail : 63];
  else if (array) size = 0;
  if (!size || (count && size > left / count) || (array && is_open)) return put_unknown(json), left;
  if (!array) {
    note_attribute(json, entry, bytes);
    put_element(json, entry->type, size, bytes, at->depth);
    return size;
  }
  put_word(json, "[");
  for (uint64_t i = 0; i < count && !json->is_cut; i++) {
    if (i) put_word(json, ",");
    if (i == ELEMENTS_MAXIMUM) {
      json->is_cut = true;
      break;
    }
    put_element(json, entry->type, size, bytes + i * size, at->depth);
  }
  put_word(json, "]");
  return size * count;
}

/* What an entry is aligned to where no offset says its place. */
static uint64_t entry_alignment(const struct json *json, const struct nvtx_layout *layout,
                                const struct nvtx_layout_entry *entry) {
  uint64_t alignment = 1;
  if (is_letters(entry->type)) {
    bool is_pointer = entry->flags & NVTX_ENTRY_POINTER || (!entry->detail && !(entry->flags & NVTX_ENTRY_ARRAY));
    alignment = is_pointer ? sizeof(void *) : letter_bytes(entry->type);
  } else if (entry->flags & NVTX_ENTRY_POINTER) {
    alignment = sizeof(void *);
  } else {
    element_size(json->domain, entry->type, &alignment);
  }
  if (layout->alignment && alignment > layout->alignment) alignment = layout->alignment;
  return alignment ? alignment : 1;
}

static uint64_t put_layout(struct json *json, const struct nvtx_layout *layout, struct place place, unsigned depth) {
  uint64_t offset = 0, values[64] = {0};
  bool is_first = true;
  if (depth > DEPTH_MAXIMUM || !layout->is_known) return put_unknown(json), place.size;
  put_word(json, "{");
  for (uint32_t i = 0; i < layout->count && !json->is_cut; i++) {
    const struct nvtx_layout_entry *entry = &layout->entries[i];
    uint64_t alignment = entry_alignment(json, layout, entry);
    if (entry->offset || !i) offset = entry->offset;
    else offset = (offset + alignment - 1) / alignment * alignment;
    if (!is_first) put_word(json, ",");
    is_first = false;
    char unnamed[16];
    snprintf(unnamed, sizeof unnamed, "%u", i);
    if (entry->name) put_number_text(json, entry->name);
    else put_text(json, unnamed, strlen(unnamed));
    put_word(json, ":");
    if (offset >= place.size) {
      put_unknown(json);
      continue;
    }
    struct plain plain = plain_type(entry->type);
    bool is_whole = plain.form == FORM_SIGNED || plain.form == FORM_UNSIGNED;
    if (i < 64 && is_whole && plain.size <= place.size - offset && !(entry->flags & NVTX_ENTRY_ARRAY)) {
      values[i] = whole_at(place.bytes + offset, plain.size, plain.form == FORM_SIGNED);
      if (plain.form == FORM_SIGNED && (int64_t)values[i] < 0) values[i] = 0;
    }
    offset += put_entry(json, entry, &(struct entry_reading){layout, place, offset, values, depth});
  }
  put_word(json, "}");
  return offset;
}

/* ---- Payloads. */

static void put_payload(struct json *json, const struct nvtx_payload_data *data) {
  struct place place = {data->bytes, data->size};
  struct plain plain = plain_type(data->schema);
  const struct nvtx_layout *layout =
      data->schema >= NVTX_ID_STATIC ? nvtx_layout_find(json->domain, data->schema) : NULL;
  if (is_letters(data->schema)) {
    uint64_t units = data->size == SIZE_MAX ? NVTX_JSON_MAXIMUM : data->size / letter_bytes(data->schema);
    put_letters(json, place.bytes, data->schema, units, false);
  } else if (data->size == SIZE_MAX) {
    put_unknown(json);
  } else if (layout && !layout->is_enum && (!layout->size || layout->size <= place.size)) {
    put_layout(json, layout, place, 0);
  } else if (layout && layout->is_enum && layout->is_known && layout->size <= place.size) {
    put_enum(json, layout, place.bytes);
  } else if (plain.size && plain.size <= place.size && place.size / plain.size == 1) {
    put_plain(json, place.bytes, plain);
  } else if (plain.size && plain.size <= place.size) {
    put_word(json, "[");
    for (uint64_t i = 0; i < place.size / plain.size && !json->is_cut; i++) {
      if (i) put_word(json, ",");
      put_plain(json, place.bytes + i * plain.size, plain);
    }
    put_word(json, "]");
  } else {
    put_unknown(json);
  }
}

void nvtx_payload_read(unsigned domain, const struct nvtx_payload_data *data, size_t count,
                       struct nvtx_payload *payload) {
  payload->text = payload->category = payload->color = payload->length = 0;
  payload->has_color = false;
  struct json json = {.payload = payload, .domain = domain};
  size_t used = 0;
  if (!data) return;
  for (size_t i = 0; i < count && i < PAYLOADS_MAXIMUM; i++)
    used += data[i].bytes && data[i].size && data[i].schema != NVTX_TYPE_REFERENCED;
  if (!used) return;
  bool is_first = true;
  if (used > 1) put_word(&json, "[");
  for (size_t i = 0; i < count && i < PAYLOADS_MAXIMUM; i++) {
    if (!data[i].bytes || !data[i].size || data[i].schema == NVTX_TYPE_REFERENCED) continue;
    if (!is_first) put_word(&json, ",");
    is_first = false;
    put_payload(&json, &data[i]);
  }
  if (used > 1) put_word(&json, "]");
  if (!json.is_cut) return;
  count_one(&nvtx_payloads_cut); /* the half of JSON is none */
  static const char cut[] = "\"(too long)\"";
  memcpy(payload->json, cut, sizeof cut - 1);
  payload->length = sizeof cut - 1;
}
