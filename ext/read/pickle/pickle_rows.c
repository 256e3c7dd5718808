/* pickle_rows.c: see pickle_rows.h. */
#include "read/pickle/pickle_rows.h"

enum {
  FREE_ITEMS = 1 << 16, /* of a file of any size */
  LONG_TEXT = 256,      /* bytes; longer ones are not looked at for nothing, each */
  BYTES_OF_TEXT_ITEM = 64,
  ITEMS_UNTIL_POLL = 1 << 12
};

struct pickle_rows pickle_rows_begin(struct store *store, uint64_t file_bytes, uint64_t bytes_of_item) {
  return (struct pickle_rows){
      .store = store, .pool = store_pool(store), .item_limit = FREE_ITEMS + file_bytes / bytes_of_item};
}

void pickle_rows_free(struct pickle_rows *rows) {
  list_free(&rows->frames);
  row_map_free(&rows->frame_index);
  row_map_free(&rows->stacks);
}

enum tfprof_status pickle_rows_count(struct pickle_rows *rows, uint64_t items) {
  bool is_time = rows->item_count / ITEMS_UNTIL_POLL != (rows->item_count + items) / ITEMS_UNTIL_POLL;
  rows->item_count += items;
  rows->is_too_much |= rows->item_count > rows->item_limit;
  return is_time && store_interrupted(rows->store) ? TFPROF_INTERRUPTED : TFPROF_OK;
}

enum tfprof_status pickle_rows_bytes(struct pickle_rows *rows, const char *text, size_t length, string_id *id) {
  *id = 0;
  if (!length) return TFPROF_OK;
  enum tfprof_status status = pickle_rows_count(rows, length > LONG_TEXT ? length / BYTES_OF_TEXT_ITEM : 0);
  if (status || rows->is_too_much) return status;
  return pool_intern_mended(rows->pool, text, length, id, &rows->mended_count);
}

enum tfprof_status pickle_rows_text(struct pickle_rows *rows, const struct pickle_value *value, string_id *id) {
  *id = 0;
  return value && value->kind == PICKLE_TEXT ? pickle_rows_bytes(rows, value->text, value->length, id) : TFPROF_OK;
}

uint32_t *pickle_rows_number(struct row_map *map, int64_t a, int64_t b, int64_t c) {
  uint32_t number = row_map_number(map, (struct row_key){{(uint64_t)a, (uint64_t)b, (uint64_t)c}});
  return number == ROW_MAP_NONE ? NULL : &map->values[number];
}

/* ---- stacks ---- */

/* *trace becomes the row of the stack that goes on from *trace with this frame. */
static enum tfprof_status push_frame(struct pickle_rows *rows, const struct pickle_value *frame, int64_t *trace) {
  struct pickle_frame place = {.line = pickle_find_integer(frame, "line", ROW_NULL)};
  if (frame->kind != PICKLE_DICT) return TFPROF_OK;
  enum tfprof_status status = pickle_rows_text(rows, pickle_find(frame, "filename"), &place.file);
  if (!status) status = pickle_rows_text(rows, pickle_find(frame, "name"), &place.name);
  if (status) return status;
  uint32_t *number = pickle_rows_number(&rows->frame_index, place.file, place.name, place.line);
  if (!number) return TFPROF_NO_MEMORY;
  if (!*number) {
    struct pickle_frame *made = list_add(&rows->frames);
    if (!made) return TFPROF_NO_MEMORY;
    *made = place;
    *number = (uint32_t)rows->frames.count;
  }
  uint32_t stack = stacks_push(&rows->stacks, *trace == ROW_NULL ? 0 : (uint32_t)*trace + 1, *number - 1);
  if (!stack) return TFPROF_NO_MEMORY;
  *trace = (int64_t)stack - 1;
  return TFPROF_OK;
}

/* The list remembers its row: a pickle has each stack once, however often it is used. */
enum tfprof_status pickle_rows_stack(struct pickle_rows *rows, const struct pickle_value *value, int64_t *trace) {
  const struct pickle_value *found = pickle_find(value, "frames");
  struct pickle_container *frames = found && found->kind == PICKLE_LIST ? found->container : NULL;
  enum tfprof_status status = TFPROF_OK;
  *trace = ROW_NULL;
  if (!frames || !frames->count) return TFPROF_OK;
  if (frames->note) {
    *trace = frames->note - 1;
    return TFPROF_OK;
  }
  PICKLE_ROWS_EACH(rows, frames, i, status, push_frame(rows, &frames->items[frames->count - 1 - i], trace))
  if (!status && *trace != ROW_NULL) frames->note = (uint32_t)*trace + 1;
  return status;
}

/* ---- the tables ---- */

void pickle_rows_publish(const struct pickle_rows *rows, struct profile *profile, enum tfprof_status *status,
                         struct tfprof_error *error) {
  struct eager_rows made;
  eager_rows_begin(&made, profile, TABLE_code_frames, rows->frames.count, status, error);
  eager_rows_set_members(&made, COLUMN_code_frames_file, rows->frames, file);
  eager_rows_set_members(&made, COLUMN_code_frames_function, rows->frames, name);
  eager_rows_set_members(&made, COLUMN_code_frames_line, rows->frames, line);
  eager_rows_end(&made);
  eager_rows_begin(&made, profile, TABLE_code_traces, rows->stacks.count, status, error);
  stacks_set(&made, &rows->stacks);
  eager_rows_end(&made);
}

enum tfprof_status pickle_rows_failed(enum tfprof_status status, const char *what, struct tfprof_error *error) {
  if (status == TFPROF_NO_MEMORY) return error_no_memory(error);
  if (status == TFPROF_INTERRUPTED) return error_set(error, status, "interrupted");
  return status ? error_set(error, status, "the texts of %s are more than can be held", what) : TFPROF_OK;
}
