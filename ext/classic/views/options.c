/* options.c: the options of the classic views: defaults, the words of a command line, and their values. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/nearest_name.h"
#include "classic/views/classic.h"

static const struct { const char *name; const char *keys; } outputs[] = {
    {"file", "outfile"}, {"none", ""}, {"pprof", "outfile"}, {"stdout", ""}, {"timeline", "outfile"}};

/* ---- life ---- */

bool classic_options_init(struct classic_options *options) {
  struct tfprof_error error;
  memset(options, 0, sizeof *options);
  for (int i = 0; i < OPTION_count; i++) {
    if (!(options->texts[i] = strdup(classic_option_specs[i].standard))) {
      classic_options_free(options);
      return false;
    }
  }
  for (int i = 0; i < OPTION_count; i++) {
    if (classic_option_set(options, i, classic_option_specs[i].standard, &error)) {
      classic_options_free(options);
      return false;
    }
  }
  options->given = 0;
  return true;
}

bool classic_options_copy(struct classic_options *to, const struct classic_options *from) {
  memset(to, 0, sizeof *to);
  bool ok = true;
  for (int i = 0; i < OPTION_count; i++) {
    to->texts[i] = from->texts[i] ? strdup(from->texts[i]) : NULL;
    ok &= !from->texts[i] || to->texts[i];
    to->integers[i] = from->integers[i];
  }
  to->given = from->given;
  to->selected = from->selected;
  to->order = from->order;
  to->output_type = from->output_type ? strdup(from->output_type) : NULL;
  to->output_file = from->output_file ? strdup(from->output_file) : NULL;
  ok &= (!from->output_type || to->output_type) && (!from->output_file || to->output_file);
  if (!ok) classic_options_free(to);
  return ok;
}

void classic_options_free(struct classic_options *options) {
  for (int i = 0; i < OPTION_count; i++) free(options->texts[i]);
  free(options->output_type);
  free(options->output_file);
  memset(options, 0, sizeof *options);
}

/* ---- values ---- */

static enum tfprof_status set_integer(struct classic_options *options, int option, const char *value,
                                      struct tfprof_error *error) {
  char *end;
  errno = 0;
  long long number = strtoll(value, &end, 10);
  if (!*value || *end || errno)
    return error_set(error, TFPROF_USAGE, "-%s takes a whole number, not '%s'", classic_option_specs[option].name,
                     value);
  if (option == OPTION_step && number < 0) number = -1;
  options->integers[option] = number;
  return TFPROF_OK;
}

static enum tfprof_status set_boolean(struct classic_options *options, int option, const char *value,
                                      struct tfprof_error *error) {
  bool is_true = strcasecmp(value, "true") == 0 || strcmp(value, "1") == 0;
  if (!is_true && strcasecmp(value, "false") != 0 && strcmp(value, "0") != 0)
    return error_set(error, TFPROF_USAGE, "-%s takes true or false, not '%s'", classic_option_specs[option].name,
                     value);
  options->integers[option] = is_true;
  return TFPROF_OK;
}

/* "a, b or c" of names. */
static void list_names(const char *const *names, size_t count, char *to, size_t size) {
  size_t length = 0;
  for (size_t i = 0; i < count && length < size; i++) {
    const char *between = i == 0 ? "" : i + 1 == count ? " or " : ", ";
    length += (size_t)snprintf(to + length, size - length, "%s%s", between, names[i]);
  }
}

static enum tfprof_status set_order(struct classic_options *options, const char *value, struct tfprof_error *error) {
  char names[400];
  /* Items that are ordered stand at one depth: what the documents call order by depth is that by name. */
  if (strcmp(value, "name") == 0 || strcmp(value, "depth") == 0) {
    options->order = -1;
    return TFPROF_OK;
  }
  for (int i = 0; i < METRIC_defined; i++) {
    if (strcmp(classic_metric_names[i], value) == 0) {
      options->order = i;
      return TFPROF_OK;
    }
  }
  list_names(classic_metric_names, METRIC_defined, names, sizeof names);
  return error_set(error, TFPROF_USAGE, "-order_by cannot be '%s'; it is name, depth, %s", value, names);
}

static enum tfprof_status set_select(struct classic_options *options, const char *value, struct tfprof_error *error) {
  const char *known[SELECT_count];
  char names[400];
  size_t count = 0;
  uint32_t selected = 0, selects = classic_generation_selects((int)options->integers[OPTION_generation]);
  for (int i = 0; i < SELECT_count; i++) {
    if (selects & 1u << i) known[count++] = classic_select_names[i];
  }
  for (const char *at = value; *at;) {
    at += strspn(at, ", ");
    size_t length = strcspn(at, ", ");
    if (!length) break;
    int found = -1;
    for (int i = 0; i < SELECT_count; i++) {
      bool is_known = selects & 1u << i && strlen(classic_select_names[i]) == length;
      if (is_known && memcmp(classic_select_names[i], at, length) == 0) found = i;
    }
    if (found < 0) {
      list_names(known, count, names, sizeof names);
      return error_set(error, TFPROF_USAGE, "-select cannot be '%.*s'; it is %s", (int)length, at, names);
    }
    selected |= 1u << found;
    at += length;
  }
  options->selected = selected;
  return TFPROF_OK;
}

/* What nobody set gets the default of the other generation, and so does a selection of what it does not know. */
static enum tfprof_status adopt_generation(struct classic_options *options, int generation,
                                           struct tfprof_error *error) {
  uint64_t given = options->given;
  enum tfprof_status status = TFPROF_OK;
  options->integers[OPTION_generation] = generation;
  for (int i = 0; i < OPTION_count && !status; i++) {
    bool is_lost = i == OPTION_select && (options->selected & ~classic_generation_selects(generation));
    if (classic_generations_share(i) || (classic_option_is_given(options, i) && !is_lost)) continue;
    if (is_lost) given &= ~(UINT64_C(1) << i);
    status = classic_option_set(options, i, classic_generation_standard(generation, i), error);
  }
  options->given = given;
  return status;
}

static enum tfprof_status set_generation(struct classic_options *options, const char *value,
                                         struct tfprof_error *error) {
  char names[60];
  for (int i = 0; i < GENERATION_count; i++) {
    if (strcmp(classic_generation_names[i], value) == 0) return adopt_generation(options, i, error);
  }
  list_names(classic_generation_names, GENERATION_count, names, sizeof names);
  return error_set(error, TFPROF_USAGE, "-generation cannot be '%s'; it is %s", value, names);
}

/* "file:outfile=name"; nothing is stdout. */
static enum tfprof_status set_output(struct classic_options *options, const char *value, struct tfprof_error *error) {
  if (!*value) value = "stdout:";
  size_t type_length = strcspn(value, ":"), known = sizeof outputs / sizeof outputs[0], type = 0;
  while (type < known &&
         (strlen(outputs[type].name) != type_length || memcmp(outputs[type].name, value, type_length) != 0))
    type++;
  if (type == known)
    return error_set(error, TFPROF_USAGE,
                     "-output cannot be '%.*s'; the types are file, none, pprof, stdout and timeline", (int)type_length,
                     value);
  const char *rest = value + type_length + (value[type_length] == ':');
  char *file = NULL;
  while (*rest) {
    size_t length = strcspn(rest, ","), key = strcspn(rest, "=,");
    if (rest[key] != '=' || key + 1 >= length) {
      free(file);
      return error_set(error, TFPROF_USAGE, "-output is written as -output %s:outfile=FILE, not '%s'",
                       outputs[type].name, value);
    }
    if (key != 7 || memcmp(rest, "outfile", 7) != 0 || !*outputs[type].keys) {
      free(file);
      return error_set(error, TFPROF_USAGE, "-output %s has no '%.*s'%s", outputs[type].name, (int)key, rest,
                       *outputs[type].keys ? "; it takes outfile" : "; it takes nothing");
    }
    free(file);
    file = strndup(rest + key + 1, length - key - 1);
    if (!file) return error_no_memory(error);
    rest += length + (rest[length] == ',');
  }
  if (*outputs[type].keys && !file)
    return error_set(error, TFPROF_USAGE, "-output %s needs a file, as in -output %s:outfile=FILE", outputs[type].name,
                     outputs[type].name);
  char *name = strdup(outputs[type].name);
  if (!name) {
    free(file);
    return error_no_memory(error);
  }
  free(options->output_type);
  free(options->output_file);
  options->output_type = name;
  options->output_file = file;
  return TFPROF_OK;
}

enum tfprof_status classic_option_set(struct classic_options *options, int option, const char *value,
                                      struct tfprof_error *error) {
  size_t length = strlen(value);
  if (length >= 2 && (*value == '\'' || *value == '"') && value[length - 1] == *value) {
    value++;
    length -= 2;
  }
  char *copy = strndup(value, length);
  enum tfprof_status status = TFPROF_OK;
  if (!copy) return error_no_memory(error);
  switch (classic_option_specs[option].type) {
    case OPTION_INTEGER: status = set_integer(options, option, copy, error); break;
    case OPTION_BOOLEAN: status = set_boolean(options, option, copy, error); break;
    case OPTION_PATTERNS: break;
    case OPTION_TEXT:
      status = option == OPTION_order_by     ? set_order(options, copy, error)
               : option == OPTION_select     ? set_select(options, copy, error)
               : option == OPTION_generation ? set_generation(options, copy, error)
                                             : set_output(options, copy, error);
      break;
  }
  if (status) {
    free(copy);
  } else {
    free(options->texts[option]);
    options->texts[option] = copy;
    options->given |= UINT64_C(1) << option;
  }
  return status;
}

/* ---- command lines ---- */

/* The next word, quotes kept together; at the end "". */
static const char *next_word(const char *at, size_t *length) {
  at += strspn(at, " \t\r\n;");
  const char *start = at;
  while (*at && !strchr(" \t\r\n;", *at)) {
    if (*at == '\'' || *at == '"') {
      const char *close = strchr(at + 1, *at);
      if (close) at = close;
    }
    at++;
  }
  *length = (size_t)(at - start);
  return start;
}

/* -dump_to_file F is the old -output file:outfile=F. */
static enum tfprof_status set_dump_file(struct classic_options *options, const char *value,
                                        struct tfprof_error *error) {
  char *output;
  if (asprintf(&output, "file:outfile=%s", value) < 0) return error_no_memory(error);
  enum tfprof_status status = classic_option_set(options, OPTION_output, output, error);
  free(output);
  return status;
}

/* The other words depend on -generation, wherever it stands. */
static enum tfprof_status parse_generation(struct classic_options *options, const char *line,
                                           struct tfprof_error *error) {
  size_t length;
  for (const char *at = next_word(line, &length); length; at = next_word(at + length, &length)) {
    size_t hyphens = strspn(at, "-");
    if (!hyphens || strncmp(at + hyphens, "generation", 10) != 0 || hyphens + 10 > length) continue;
    const char *value = at + hyphens + 10;
    size_t value_length = length - hyphens - 10;
    if (value_length == 0) value = next_word(at + length, &value_length);
    else if (*value == '=') value++, value_length--;
    else continue;
    char *copy = strndup(value, value_length);
    enum tfprof_status status =
        copy ? classic_option_set(options, OPTION_generation, copy, error) : error_no_memory(error);
    free(copy);
    return status;
  }
  return TFPROF_OK;
}

static enum tfprof_status fail_option(int generation, const char *name, struct tfprof_error *error) {
  struct nearest_name nearest = nearest_name_begin(name + strspn(name, "-"));
  char known[1000] = "";
  size_t length = 0;
  for (int i = 0; i < OPTION_count; i++) {
    if (classic_generation_has(generation, i)) nearest_name_try(&nearest, classic_option_specs[i].name);
  }
  if (nearest.name)
    return error_set(error, TFPROF_USAGE, "there is no option '%s'; did you mean -%s?", name, nearest.name);
  for (int i = 0; i < OPTION_count && length < sizeof known; i++) {
    if (classic_generation_has(generation, i))
      length += (size_t)snprintf(known + length, sizeof known - length, "%s-%s", length ? ", " : "",
                                 classic_option_specs[i].name);
  }
  return error_set(error, TFPROF_USAGE, "there is no option '%s'; the options are %s", name, known);
}

enum tfprof_status classic_options_parse(struct classic_options *options, const char *line,
                                         struct tfprof_error *error) {
  size_t length;
  enum tfprof_status status = parse_generation(options, line, error);
  for (const char *at = next_word(line, &length); length && !status; at = next_word(at, &length)) {
    const char *equals = memchr(at, '=', length);
    size_t name_length = equals && *at == '-' ? (size_t)(equals - at) : length;
    char *name = strndup(at, name_length), *value = NULL;
    if (!name) return error_no_memory(error);
    int option = *name == '-' ? classic_find_option(name) : -1;
    bool is_dump = strcmp(name + strspn(name, "-"), "dump_to_file") == 0 && *name == '-';
    at += length;
    int generation = (int)options->integers[OPTION_generation];
    if (option >= 0 && !classic_generation_has(generation, option)) {
      status = error_set(error, TFPROF_USAGE, "there is no option '%s' in generation %s", name,
                         classic_generation_names[generation]);
    } else if (option < 0 && !is_dump) {
      if (*name == '-') status = fail_option(generation, name, error);
      else status = error_set(error, TFPROF_USAGE, "'%s' is no option: options begin with a hyphen", name);
    } else if (name_length < length) {
      value = strndup(equals + 1, length - name_length - 1);
    } else {
      size_t value_length;
      const char *next = next_word(at, &value_length);
      bool is_boolean = option >= 0 && classic_option_specs[option].type == OPTION_BOOLEAN;
      /* A number below zero begins with a hyphen too. */
      bool is_value = value_length && (*next != '-' || isdigit((unsigned char)next[1]));
      if (is_value) {
        value = strndup(next, value_length);
        at = next + value_length;
      } else if (is_boolean) {
        value = strdup("true");
      } else if (option >= 0 && classic_option_specs[option].type == OPTION_PATTERNS) {
        value = strdup("");
      } else if (option == OPTION_select) {
        value = strdup("");
      } else {
        status = error_set(error, TFPROF_USAGE, "%s needs a value", name);
      }
    }
    if (!status && !value) status = error_no_memory(error);
    if (!status)
      status = is_dump ? set_dump_file(options, value, error) : classic_option_set(options, option, value, error);
    free(name);
    free(value);
  }
  return status;
}

enum tfprof_status classic_adapt_options(struct classic_options *options, enum classic_view view,
                                         struct tfprof_error *error) {
  bool counts_all = options->integers[OPTION_generation] == GENERATION_1_3 && view == CLASSIC_OP;
  if (!counts_all || classic_option_is_given(options, OPTION_account_type_regexes)) return TFPROF_OK;
  return classic_option_set(options, OPTION_account_type_regexes, ".*", error);
}
