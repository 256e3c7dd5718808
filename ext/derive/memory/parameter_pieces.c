/* parameter_pieces.c: see parameter_pieces.h. */
#include "derive/memory/parameter_pieces.h"

#include <stdlib.h>

enum { DEVICE_UNIT = 512 };

static int compare_parameter_sizes(const void *a, const void *b) {
  const struct parameter_size *left = a, *right = b;
  return left->bytes < right->bytes ? -1 : left->bytes > right->bytes;
}

/* Those of one size together. */
static void merge_sizes(struct parameter_pieces *pieces) {
  uint32_t count = 0;
  if (pieces->count) qsort(pieces->sizes, pieces->count, sizeof *pieces->sizes, compare_parameter_sizes);
  for (uint32_t i = 0; i < pieces->count; i++) {
    struct parameter_size *last = count ? &pieces->sizes[count - 1] : NULL, *own = &pieces->sizes[i];
    if (!last || last->bytes != own->bytes) {
      pieces->sizes[count++] = *own;
      continue;
    }
    last->count += own->count;
    last->node = NO_ROW;
    if (last->shape != own->shape) last->shape = 0;
    if (last->dtype != own->dtype) last->dtype = 0;
  }
  pieces->count = count;
}

enum tfprof_status parameter_pieces_read(struct parameter_pieces *pieces, const struct profile *profile,
                                         const bool *are_found, struct tfprof_error *error) {
  uint32_t rows;
  enum tfprof_status status = derive_row_count(profile, TABLE_nodes, &rows, error);
  if (status || !rows) return status;
  pieces->sizes = scratch_allocate((size_t)rows * sizeof *pieces->sizes);
  if (!pieces->sizes) return error_no_memory(error);
  for (struct row_block block = {0}; derive_next_block(profile, TABLE_nodes, &block, &status, error);) {
    int64_t bytes[ROWS_BLOCK];
    string_id shapes[ROWS_BLOCK], dtypes[ROWS_BLOCK];
    block_integers(&block, COLUMN_nodes_param_bytes, bytes);
    block_texts(&block, COLUMN_nodes_shape, shapes);
    block_texts(&block, COLUMN_nodes_dtype, dtypes);
    for (uint32_t i = 0; i < block.count; i++) {
      uint32_t node = (uint32_t)block.row + i;
      if (bytes[i] <= 0 || (are_found && are_found[node])) continue;
      pieces->sizes[pieces->count++] = (struct parameter_size){bytes[i], 1, node, shapes[i], dtypes[i]};
    }
  }
  merge_sizes(pieces);
  return status;
}

void parameter_pieces_free(struct parameter_pieces *pieces) { scratch_free(pieces->sizes); }

/* The smallest size that is not below `bytes`; the number of sizes: none. */
static uint32_t first_size(const struct parameter_pieces *pieces, int64_t bytes) {
  uint32_t low = 0, high = pieces->count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (pieces->sizes[middle].bytes < bytes) low = middle + 1;
    else high = middle;
  }
  return low;
}

/* The sizes from *first up to *last would have got a piece of so many bytes, its own size being the last of them. */
static void sizes_of_piece(const struct parameter_pieces *pieces, int64_t bytes, bool is_rounded, uint32_t *first,
                           uint32_t *last) {
  *first = *last = first_size(pieces, bytes);
  while (*last < pieces->count && pieces->sizes[*last].bytes == bytes) (*last)++;
  if (is_rounded && bytes >= DEVICE_UNIT && bytes % DEVICE_UNIT == 0)
    *first = first_size(pieces, bytes - DEVICE_UNIT + 1);
}

const struct parameter_size *parameter_pieces_take(struct parameter_pieces *pieces, int64_t bytes) {
  uint32_t first, last;
  sizes_of_piece(pieces, bytes, true, &first, &last);
  while (first < last && !pieces->sizes[last - 1].count) last--;
  if (first == last) return NULL;
  pieces->sizes[last - 1].count--;
  return &pieces->sizes[last - 1];
}

const struct parameter_size *parameter_pieces_like(const struct parameter_pieces *pieces, int64_t bytes,
                                                   bool is_rounded) {
  uint32_t first, last;
  sizes_of_piece(pieces, bytes, is_rounded, &first, &last);
  return last - first == 1 ? &pieces->sizes[first] : NULL;
}
