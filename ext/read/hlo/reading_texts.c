/* reading_texts.c: see reading.h: what all that reads programs needs: their texts, and what goes wrong. */
#include "read/hlo/reading.h"

void hlo_reading_free(struct hlo_reading *r) {
  list_free(&r->files);
  list_free(&r->functions);
  list_free(&r->locations);
  list_free(&r->frames);
  list_free(&r->open);
  list_free(&r->computation_names);
  text_buffer_free(&r->text);
  hlo_graph_free(&r->graph);
  window_free(&r->window);
}

void hlo_no_memory(struct hlo_reading *r) {
  if (!r->status) r->status = error_no_memory(r->error);
}

void hlo_note_wrong(struct hlo_reading *r, uint64_t offset) {
  if (!r->programs->wrong++) r->programs->wrong_offset = offset;
}

int64_t hlo_enter(struct hlo_reading *r, const char *text, size_t length) {
  string_id id = 0;
  enum tfprof_status status = length ? pool_intern_mended(r->pool, text, length, &id, &r->programs->mended) : TFPROF_OK;
  if (status && !r->status) r->status = error_set(r->error, status, "the names of XLA's programs cannot be kept");
  return id ? (int64_t)id : ROW_NULL;
}
