/* python_code.c: copies of code objects, their deaths, and their line tables (see python_code.h). */
#include "python_code.h"

#include "python_layout.h"

#include "base/utf8.h"

#include <dlfcn.h>
#include <stdio.h>

/* ---- Deaths. Told by whoever holds the GIL, hence one at a time. */

enum { DEATHS_KEPT = 4096 };
_Atomic uint64_t python_code_deaths;
static _Atomic uintptr_t dead_codes[DEATHS_KEPT];

void python_object_died(const void *object) {
  uint64_t count = atomic_load_explicit(&python_code_deaths, memory_order_relaxed);
  atomic_store_explicit(&dead_codes[count % DEATHS_KEPT], (uintptr_t)object, memory_order_relaxed);
  atomic_store_explicit(&python_code_deaths, count + 1, memory_order_release);
}

/* PyCode_WatchCallback: int (*)(PyCodeEvent, PyCodeObject *); PY_CODE_EVENT_DESTROY is 1 (cpython/code.h, 3.12 on). */
static int code_event(int event, void *code) {
  if (event == 1) python_object_died(code);
  return 0;
}

/* Before 3.12: tp_dealloc is the seventh word of a type object (PyVarObject is three words, then tp_name, tp_basicsize
** and tp_itemsize; object.h and cpython/object.h, 3.8 to 3.11). */
static void (*original_deallocator)(void *);
static void deallocate_code(void *code) {
  python_object_died(code);
  original_deallocator(code);
}

bool python_watch_code(char *reason, size_t size) {
  static bool is_watching;
  if (is_watching) return true;
  int (*add_watcher)(int (*)(int, void *));
  void *address = dlsym(RTLD_DEFAULT, "PyCode_AddWatcher"), *type = dlsym(RTLD_DEFAULT, "PyCode_Type");
  memcpy(&add_watcher, &address, sizeof address);
  if (address) {
    is_watching = add_watcher(code_event) >= 0;
    void (*clear_error)(void);
    address = dlsym(RTLD_DEFAULT, "PyErr_Clear");
    memcpy(&clear_error, &address, sizeof address);
    if (!is_watching && address) clear_error();
  } else if (type) {
    void (**slot)(void *) = (void (**)(void *))type + 6;
    original_deallocator = *slot;
    *slot = deallocate_code;
    is_watching = original_deallocator != NULL;
  }
  if (!is_watching) snprintf(reason, size, "this Python does not tell when code objects are freed");
  return is_watching;
}

bool python_code_died(const void *code) {
  uint64_t count = atomic_load_explicit(&python_code_deaths, memory_order_acquire);
  return count && atomic_load(&dead_codes[(count - 1) % DEATHS_KEPT]) == (uintptr_t)code;
}

bool python_code_next_death(uint64_t *seen, uintptr_t *code) {
  uint64_t count = atomic_load_explicit(&python_code_deaths, memory_order_acquire);
  if (*seen == count) return false;
  bool is_kept = count - *seen <= DEATHS_KEPT / 2;
  *code = is_kept ? atomic_load_explicit(&dead_codes[*seen % DEATHS_KEPT], memory_order_relaxed) : 0;
  *seen = is_kept ? *seen + 1 : count;
  return true;
}

void python_notice_deaths(struct capture_thread *thread) {
  uint64_t count = atomic_load_explicit(&python_code_deaths, memory_order_acquire);
  if (count - thread->deaths_seen > DEATHS_KEPT / 2) {
    /* Too many for the list, which may be written over while it is read: none of the thread's code objects is sure. */
    intern_forget(&thread->codes);
    intern_forget(&thread->modules);
    thread->stack_depth = 0;
    thread->generation++;
    thread->deaths_seen = count;
    return;
  }
  for (; thread->deaths_seen < count; thread->deaths_seen++) {
    uintptr_t code = atomic_load_explicit(&dead_codes[thread->deaths_seen % DEATHS_KEPT], memory_order_relaxed);
    struct intern_slot *slot = intern_find(&thread->codes, code, NULL),
                       *module = intern_find(&thread->modules, code, NULL);
    if (slot) intern_remove(slot);
    if (module) intern_remove(module);
    if (!slot && !module) continue;
    thread->stack_depth = 0;
    thread->generation++;
  }
}

/* ---- Copies. */

bool python_read_here(const void *address, void *copy, size_t bytes) {
  memcpy(copy, address, bytes);
  return true;
}

/* A str object (PyASCIIObject): length at 16, at 32 the state: interned 2 bits, kind 3 (bytes per character), compact
** 1, ascii 1. Long texts are cut. */
static bool copy_text(python_fetch fetch, const uint8_t *object, uint8_t *out, uint32_t room, uint32_t *length) {
  enum { TEXT_MAXIMUM = 1000 };
  uint64_t count;
  uint32_t state;
  uint8_t raw[4 * TEXT_MAXIMUM];
  if (!fetch(object + 16, &count, sizeof count) || !fetch(object + 32, &state, sizeof state)) return false;
  uint32_t kind = state >> 2 & 7;
  bool is_compact = state >> 5 & 1, is_ascii = state >> 6 & 1;
  if (!is_compact || (kind != 1 && kind != 2 && kind != 4)) return false;
  if (count > TEXT_MAXIMUM) count = TEXT_MAXIMUM;
  if (room < count * 4) return false;
  if (!fetch(object + (is_ascii ? python_layout.text_ascii : python_layout.text_compact), raw, (size_t)count * kind))
    return false;
  uint32_t used = 0;
  for (size_t i = 0; i < count; i++) {
    uint32_t character = raw[i];
    if (kind == 2) character = (uint32_t)raw[2 * i] | (uint32_t)raw[2 * i + 1] << 8;
    if (kind == 4) memcpy(&character, raw + 4 * i, 4);
    /* A byte of a file's name that was no character is a surrogate, and becomes U+FFFD. */
    used += (uint32_t)utf8_put((char *)out + used, character);
  }
  *length = used;
  return true;
}

/* A bytes object (PyBytesObject): length at 16, contents at 32. What is beyond the room is left out: those lines are
** then unknown. */
static bool copy_table(python_fetch fetch, const uint8_t *object, uint8_t *out, uint32_t room, uint32_t *length) {
  uint64_t count;
  if (!fetch(object + 16, &count, sizeof count)) return false;
  if (count > room) count = room;
  for (uint32_t done = 0; done < count;) {
    uint32_t piece = (uint32_t)count - done < 4096 ? (uint32_t)count - done : 4096;
    if (!fetch(object + 32 + done, out + done, piece)) return false;
    done += piece;
  }
  *length = (uint32_t)count;
  return true;
}

bool python_copy_code(python_fetch fetch, const uint8_t *object, uint8_t *buffer, uint32_t size,
                      struct python_code *code) {
  const uint8_t *file, *function, *table;
  memset(code, 0, sizeof *code);
  code->bytes = buffer;
  return fetch(object + python_layout.code_file, &file, sizeof file) &&
         fetch(object + python_layout.code_function, &function, sizeof function) &&
         fetch(object + python_layout.code_table, &table, sizeof table) &&
         fetch(object + python_layout.code_first_line, &code->first_line, sizeof code->first_line) &&
         copy_text(fetch, file, buffer, size, &code->file_length) &&
         copy_text(fetch, function, buffer + code->file_length, size - code->file_length, &code->function_length) &&
         copy_table(fetch, table, buffer + code->file_length + code->function_length,
                    size - code->file_length - code->function_length, &code->table_length);
}

uint32_t python_code_number(struct capture_thread *thread, const uint8_t *object) {
  struct intern_slot *slot = intern_find(&thread->codes, (uintptr_t)object, NULL);
  if (slot) return slot->id;
  struct python_code code;
  if (!python_copy_code(python_read_here, object, thread->scratch, SCRATCH_SIZE, &code)) return 0;
  uint32_t length = code.file_length + code.function_length + code.table_length;
  uint32_t size = (uint32_t)(sizeof(struct code_item) + length + 15) & ~15u;
  struct code_item *item = thread_reserve(thread, size);
  if (!item) return 0;
  slot = intern_add(&thread->codes, &thread->arena, (uintptr_t)object, 0);
  if (!slot) {
    thread_forget(thread); /* the next stack begins with empty tables */
    return 0;
  }
  *item = (struct code_item){{ITEM_CODE, 0, (uint16_t)(size / 16), slot->id},
                             code.first_line,
                             code.file_length,
                             code.function_length,
                             code.table_length,
                             {0}};
  memcpy(item->bytes, code.bytes, length);
  thread_commit(thread, size);
  return slot->id;
}

/* ---- Line tables. */

static int32_t line_of_lnotab(const uint8_t *table, uint32_t length, int32_t line, uint32_t offset) {
  uint32_t address = 0;
  for (uint32_t i = 0; i + 1 < length; i += 2) {
    address += table[i];
    if (address > offset) break;
    line += (int8_t)table[i + 1];
  }
  return line;
}

static int32_t line_of_linetable(const uint8_t *table, uint32_t length, int32_t line, uint32_t offset) {
  uint32_t end = 0;
  for (uint32_t i = 0; i + 1 < length; i += 2) {
    int8_t delta = (int8_t)table[i + 1];
    end += table[i];
    if (delta != -128) line += delta;
    if (offset < end) return delta == -128 ? 0 : line;
  }
  return 0;
}

/* Six bits a byte, the lowest first; bit 6 says that more follow. */
static uint32_t read_varint(const uint8_t *table, uint32_t length, uint32_t *at) {
  uint32_t value = 0, shift = 0;
  while (*at < length) {
    uint8_t byte = table[(*at)++];
    if (shift < 32) value |= (uint32_t)(byte & 0x3f) << shift;
    shift += 6;
    if (!(byte & 0x40)) break;
  }
  return value;
}

static int32_t line_of_locations(const uint8_t *table, uint32_t length, int32_t line, uint32_t offset) {
  enum { NO_LOCATION = 15, LONG_FORM = 14, NO_COLUMNS = 13, FIRST_ONE_LINE = 10 };
  uint32_t end = 0, at = 0;
  while (at < length) {
    uint8_t first = table[at++];
    if (!(first & 0x80)) return 0; /* not the beginning of an entry */
    unsigned form = first >> 3 & 15;
    end += ((first & 7u) + 1) * 2;
    if (form == LONG_FORM || form == NO_COLUMNS) {
      uint32_t delta = read_varint(table, length, &at);
      line += delta & 1 ? -(int32_t)(delta >> 1) : (int32_t)(delta >> 1);
      if (form == LONG_FORM)
        for (int i = 0; i < 3; i++) read_varint(table, length, &at); /* end line and both columns */
    } else if (form >= FIRST_ONE_LINE && form < NO_COLUMNS) {
      line += (int32_t)(form - FIRST_ONE_LINE);
      at += 2;
    } else if (form < FIRST_ONE_LINE) {
      at += 1;
    }
    if (offset < end) return form == NO_LOCATION ? 0 : line;
  }
  return 0;
}

int32_t python_line(unsigned table_kind, const uint8_t *table, uint32_t length, int32_t first_line, uint32_t offset) {
  if (offset > INT32_MAX) return first_line; /* -1: the function has not begun */
  switch (table_kind) {
    case PYTHON_LNOTAB: return line_of_lnotab(table, length, first_line, offset);
    case PYTHON_LINETABLE: return line_of_linetable(table, length, first_line, offset);
    default: return line_of_locations(table, length, first_line, offset);
  }
}
