/* tensors.c: -select tensor_value: the values of a checkpoint below the lines of their nodes, as nested lists: numbers
** with two decimals or none, each list ended by "]," and a line feed, cut after 10,000 characters. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "classic/views/tree.h"

enum { MAXIMUM_LENGTH = 10000 };

static int compare_tensors(const void *left, const void *right) {
  const struct classic_tensor *a = left, *b = right;
  return a->name < b->name ? -1 : a->name > b->name;
}

enum tfprof_status classic_take_tensors(struct classic_result *result, struct tfprof_error *error) {
  struct profile *profile = store_profile_by_number(result->model->store, result->model->profile_number);
  struct column_set columns = {{0, 0}};
  column_set_add(&columns, COLUMN_tensors_name);
  column_set_add(&columns, COLUMN_tensors_value);
  column_set_add(&columns, COLUMN_tensors_dtype);
  enum tfprof_status status = profile ? profile_require(profile, TABLE_tensors, &columns, error) : TFPROF_OK;
  if (status || !profile || !profile->tables[TABLE_tensors].segment_count) return status;
  const struct profile_table *table = &profile->tables[TABLE_tensors];
  size_t count = 0;
  for (size_t i = 0; i < table->segment_count; i++) count += table->segments[i]->rows;
  result->tensors = calloc(count + 1, sizeof *result->tensors);
  if (!result->tensors) return error_no_memory(error);
  for (size_t i = 0; i < table->segment_count; i++) {
    const struct segment *segment = table->segments[i];
    const struct column *names = segment->columns[COLUMN_tensors_name],
                        *values = segment->columns[COLUMN_tensors_value];
    const struct column *dtypes = segment->columns[COLUMN_tensors_dtype];
    for (uint32_t row = 0; row < segment->rows; row++) {
      if (column_is_null(names, row)) continue;
      const char *dtype =
          column_is_null(dtypes, row) ? "" : pool_text(result->model->pool, (string_id)column_integer(dtypes, row));
      result->tensors[result->tensor_count++] = (struct classic_tensor){
          (string_id)column_integer(names, row),
          column_is_null(values, row) ? 0 : (string_id)column_integer(values, row), strstr(dtype, "float") != NULL};
    }
  }
  qsort(result->tensors, result->tensor_count, sizeof *result->tensors, compare_tensors);
  result->has_checkpoint = true;
  return TFPROF_OK;
}

const struct classic_tensor *classic_find_tensor(const struct classic_result *result, uint32_t item) {
  if (item == result->item_count || !result->nodes || !result->tensor_count) return NULL;
  struct classic_tensor key = {.name = result->model->nodes[result->nodes[item]].name};
  return bsearch(&key, result->tensors, result->tensor_count, sizeof key, compare_tensors);
}

/* From the JSON of the table tensors. A text or null is written as it is. */
static size_t write_number(const char *at, bool is_real, FILE *file) {
  char *end;
  if (*at == '"') {
    const char *close = at + 1;
    while (*close && *close != '"') close += *close == '\\' && close[1] ? 2 : 1;
    fprintf(file, "'%.*s' ", (int)(close - at - 1), at + 1);
    return (size_t)(close - at) + (*close != 0);
  }
  double value = strtod(at, &end);
  if (end == at) {
    size_t length = strcspn(at, ",]");
    if (length) fprintf(file, "%s ", strncmp(at, "true", 4) == 0 ? "1" : strncmp(at, "false", 5) == 0 ? "0" : "nan");
    return length ? length : 1;
  }
  if (is_real || isinf(value)) {
    /* TensorFlow's profiler rounds to six digits first. */
    char rounded[40];
    snprintf(rounded, sizeof rounded, "%.6g", value);
    fprintf(file, "%.2f ", strtod(rounded, NULL));
  } else {
    fwrite(at, 1, (size_t)(end - at), file);
    fputc(' ', file);
  }
  return (size_t)(end - at);
}

void classic_write_tensor(const struct classic_result *result, uint32_t item, FILE *file) {
  const struct classic_tensor *tensor = classic_find_tensor(result, item);
  const char *at = tensor && tensor->value ? pool_text(result->model->pool, tensor->value) : NULL;
  if (!at) return;
  char *text = NULL;
  size_t size = 0;
  FILE *memory = open_memstream(&text, &size);
  if (!memory) return;
  bool is_scalar = *at != '[', is_cut = false;
  if (is_scalar) fputc('[', memory);
  while (*at && !is_cut) {
    if (*at == '[') fputc('[', memory), at++;
    else if (*at == ',') at++;
    else if (*at == ']') {
      fputs("],\n", memory);
      at++;
    } else {
      at += write_number(at, tensor->is_real, memory);
    }
    fflush(memory);
    is_cut = size > MAXIMUM_LENGTH;
  }
  if (is_scalar) fputs("],\n", memory);
  if (fclose(memory) == 0) {
    fwrite(text, 1, size < MAXIMUM_LENGTH ? size : MAXIMUM_LENGTH, file);
    if (is_cut) fputs("...omitted from display\n\n", file);
  }
  free(text);
}
