/* embed_sql.c: makes C arrays of SQL files: see stored_select.h.
**
**   embed_sql OUTPUT.c FILE.sql ...
**
** The name of the directory says the kind: files of a directory `advise` are checks, those of `panels` panels, all
** others views.
**
** The columns of a view stand in its first comment, each on a line of its own, in the order of the SELECT:
**
**   --   name  TYPE  unit  What it holds, as one sentence or more.
**   --       A line that goes on begins further to the right.
**
** At least two blanks stand between the parts.  TYPE is INTEGER, REAL or TEXT; unit is - where there is none.  Checks
** have the columns of the view advise.
**
** What they read of tfprof is written temp.ops, and is embedded as tfprof_own.ops: see stored_select.h.  TEMP has no
** more than the views and what the user fills, node_type_patterns.
*/
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAXIMUM_FILE = 1 << 20, MAXIMUM_PARAMETERS = 16, MAXIMUM_NAME = 64, MAXIMUM_TEXT = 2048 };

struct file {
  const char *path;
  char name[MAXIMUM_NAME];
  const char *kind;
  bool is_view; /* neither a panel nor, having parameters, a function */
};

static void fail_embedding(const char *path, const char *what) {
  fprintf(stderr, "embed_sql: %s: %s\n", path, what);
  exit(1);
}

static void take_path(struct file *file, const char *path) {
  const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path, *end = strstr(base, ".sql");
  file->path = path;
  bool has_directory = slash && slash - path >= 6;
  file->kind = has_directory && strncmp(slash - 6, "advise", 6) == 0   ? "check"
               : has_directory && strncmp(slash - 6, "panels", 6) == 0 ? "panel"
                                                                       : "view";
  if (!end || end[4] || end == base || (size_t)(end - base) >= sizeof file->name) {
    fail_embedding(path, "not a file name.sql");
  }
  memcpy(file->name, base, (size_t)(end - base));
  file->name[end - base] = 0;
  for (const char *at = file->name; *at; at++) {
    if (!islower((unsigned char)*at) && !isdigit((unsigned char)*at) && *at != '_')
      fail_embedding(path, "its name is not in lower case");
  }
}

static int compare_files(const void *left, const void *right) {
  const struct file *a = left, *b = right;
  int order = strcmp(b->kind, a->kind); /* views, panels, checks */
  return order ? order : strcmp(a->name, b->name);
}

static char *read_file(const char *path) {
  static char text[MAXIMUM_FILE];
  FILE *file = fopen(path, "rb");
  if (!file) fail_embedding(path, "cannot be opened");
  size_t length = fread(text, 1, sizeof text - 1, file);
  if (ferror(file) || length == sizeof text - 1 || memchr(text, 0, length))
    fail_embedding(path, "cannot be read as a text of less than 1 MiB");
  fclose(file);
  while (length && (isspace((unsigned char)text[length - 1]) || text[length - 1] == ';')) length--;
  text[length] = 0;
  return text;
}

static void write_string(FILE *out, const char *text, size_t length) {
  fputc('"', out);
  for (size_t i = 0; i < length; i++) {
    unsigned char byte = (unsigned char)text[i];
    if (byte == '\n') {
      fputs("\\n\"\n    \"", out);
    } else if (byte == '"' || byte == '\\') {
      fprintf(out, "\\%c", byte);
    } else if (byte < 32 || byte > 126 || byte == '?') {
      fprintf(out, "\\%03o", byte);
    } else {
      fputc(byte, out);
    }
  }
  fputc('"', out);
}

/* "-- op_summary: what each op cost" and "-- What each op cost." both have a title. */
static void write_title(FILE *out, const char *text, const char *name) {
  while (isspace((unsigned char)*text)) text++;
  if (strncmp(text, "--", 2) != 0) {
    fputs("\"\"", out);
    return;
  }
  text += 2;
  while (*text == ' ' || *text == '-') text++;
  size_t name_length = strlen(name);
  if (strncmp(text, name, name_length) == 0 && text[name_length] == ':') {
    text += name_length + 1;
    while (*text == ' ') text++;
  }
  write_string(out, text, strcspn(text, "\r\n"));
}

/* The end of a string, quoted name or comment that begins at `at`; `at` itself where none does. */
static const char *skip_quoted(const char *at) {
  if (at[0] == '-' && at[1] == '-') return at + strcspn(at, "\n");
  if (at[0] == '/' && at[1] == '*') {
    const char *end = strstr(at + 2, "*/");
    return end ? end + 2 : at + strlen(at);
  }
  if (*at == '\'' || *at == '"' || *at == '`' || *at == '[') {
    char close = *at == '[' ? ']' : *at;
    for (at++; *at && *at != close; at++) continue;
    return *at ? at + 1 : at;
  }
  return at;
}

/* Their number. */
static int find_parameters(const char *text, const char *path, char names[MAXIMUM_PARAMETERS][MAXIMUM_NAME]) {
  int count = 0;
  for (const char *at = text; *at;) {
    const char *end = skip_quoted(at);
    if (end != at) {
      at = end;
      continue;
    }
    if (*at == '?' || *at == '@' || *at == '$') fail_embedding(path, "has a parameter that is not written :name");
    if (*at++ != ':') continue;
    size_t length = strspn(at, "abcdefghijklmnopqrstuvwxyz0123456789_");
    if (length == 0) continue;
    if (length >= MAXIMUM_NAME) fail_embedding(path, "has a parameter with too long a name");
    bool is_known = false;
    for (int i = 0; i < count; i++) is_known |= strlen(names[i]) == length && strncmp(names[i], at, length) == 0;
    if (!is_known) {
      if (count == MAXIMUM_PARAMETERS) fail_embedding(path, "has too many parameters");
      memcpy(names[count], at, length);
      names[count++][length] = 0;
    }
    at += length;
  }
  return count;
}

static void write_parameters(FILE *out, const char *text, const char *path) {
  char names[MAXIMUM_PARAMETERS][MAXIMUM_NAME];
  int count = find_parameters(text, path, names);
  if (count == 0) fputs("NULL", out);
  if (count) fputc('"', out);
  for (int i = 0; i < count; i++) fprintf(out, "%s%s", i ? ", " : "", names[i]);
  if (count) fputc('"', out);
}

/* ---- tables ---- */

static bool is_in_temp(const char *name, size_t length, const struct file *files, int count) {
  static const char filled_by_user[] = "node_type_patterns";
  if (length == sizeof filled_by_user - 1 && strncmp(name, filled_by_user, length) == 0) return true;
  for (int i = 0; i < count; i++) {
    if (files[i].is_view && strlen(files[i].name) == length && strncmp(files[i].name, name, length) == 0) return true;
  }
  return false;
}

static void write_sql(FILE *out, const char *text, const struct file *files, int count) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_", temp[] = "temp.", own[] = "tfprof_own.";
  static char written[2 * MAXIMUM_FILE];
  size_t length = 0;
  for (const char *at = text; *at;) {
    const char *end = skip_quoted(at);
    if (end == at) end = at + strspn(at, letters);
    if (end == at) end++;
    bool is_table = strncmp(at, temp, sizeof temp - 1) == 0;
    if (is_table) {
      end = at + sizeof temp - 1;
      is_table = !is_in_temp(end, strspn(end, letters), files, count);
    }
    const char *from = is_table ? own : at;
    size_t size = is_table ? sizeof own - 1 : (size_t)(end - at);
    memcpy(written + length, from, size);
    length += size;
    at = end;
  }
  write_string(out, written, length);
}

/* ---- columns ---- */

static void write_column_word(FILE *out, const char **at, const char *letters, const char *path, const char *what) {
  size_t length = strspn(*at, letters);
  if (!length || strncmp(*at + length, "  ", 2) != 0) {
    fprintf(stderr, "embed_sql: %s: a column without %s and two blanks: %.60s\n", path, what, *at);
    exit(1);
  }
  if (length == 1 && **at == '-') fputs("NULL", out);
  else write_string(out, *at, length);
  fputs(", ", out);
  *at += length + strspn(*at + length, " ");
}

/* The text of a column, which goes on on lines that are indented further; what comes behind them. */
static const char *write_column_text(FILE *out, const char *at, const char *path) {
  static char text[MAXIMUM_TEXT];
  size_t length = 0;
  for (;;) {
    size_t size = strcspn(at, "\n");
    if (length + size + 2 > sizeof text) fail_embedding(path, "has too long a text of a column");
    if (length) text[length++] = ' ';
    memcpy(text + length, at, size);
    length += size;
    at += size + (at[size] == '\n');
    if (strncmp(at, "--    ", 6) != 0) break;
    at += 2 + strspn(at + 2, " ");
  }
  if (!length || text[length - 1] != '.') fail_embedding(path, "has a column whose text does not end as a sentence");
  write_string(out, text, length);
  return at;
}

/* Their array, before what names it. */
static void write_columns(FILE *out, const struct file *file) {
  static const char start[] = "--   ", small[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
  bool is_any = false;
  const char *at = read_file(file->path);
  fprintf(out, "static const struct stored_column columns_of_%s[] = {\n", file->name);
  while (strncmp(at, "--", 2) == 0) {
    if (strncmp(at, start, sizeof start - 1) != 0 || !islower((unsigned char)at[sizeof start - 1])) {
      at += strcspn(at, "\n");
      at += *at == '\n';
      continue;
    }
    at += sizeof start - 1;
    fputs("  {", out);
    write_column_word(out, &at, small, file->path, "a name in small letters");
    if (strncmp(at, "INTEGER ", 8) != 0 && strncmp(at, "REAL ", 5) != 0 && strncmp(at, "TEXT ", 5) != 0)
      fail_embedding(file->path, "has a column whose type is none of INTEGER, REAL and TEXT");
    write_column_word(out, &at, "INTEGRALX", file->path, "a type");
    write_column_word(out, &at, "abcdefghijklmnopqrstuvwxyzH/-", file->path, "a unit");
    at = write_column_text(out, at, file->path);
    fputs("},\n", out);
    is_any = true;
  }
  if (!is_any) fail_embedding(file->path, "tells of no column");
  fputs("  {NULL, NULL, NULL, NULL},\n};\n", out);
}

/* Views and functions have columns of their own. */
static bool has_columns(const struct file *file) { return strcmp(file->kind, "view") == 0; }

static void write_array(FILE *out, const char *name, const struct file *files, int count, bool are_panels) {
  fprintf(out, "const struct stored_select %s[] = {\n", name);
  for (int i = 0; i < count; i++) {
    if ((strcmp(files[i].kind, "panel") == 0) != are_panels) continue;
    for (int j = 0; j < i; j++) {
      bool is_panel = strcmp(files[j].kind, "panel") == 0;
      if (is_panel == are_panels && strcmp(files[i].name, files[j].name) == 0)
        fail_embedding(files[i].path, "another file has this name");
    }
    const char *text = read_file(files[i].path);
    if (!*text) fail_embedding(files[i].path, "empty");
    fprintf(out, "  {\"%s\", \"%s\", ", files[i].name, files[i].kind);
    write_title(out, text, files[i].name);
    fputs(", ", out);
    write_parameters(out, text, files[i].path);
    fputs(",\n    ", out);
    write_sql(out, text, files, count);
    if (are_panels) fputs(", NULL},\n", out);
    else fprintf(out, ", columns_of_%s},\n", has_columns(&files[i]) ? files[i].name : "advise");
  }
  fputs("  {NULL, NULL, NULL, NULL, NULL, NULL},\n};\n", out);
}

int main(int count, char **arguments) {
  if (count < 2) {
    fputs("usage: embed_sql OUTPUT.c FILE.sql ...\n", stderr);
    return 2;
  }
  int file_count = count - 2;
  struct file *files = calloc((size_t)file_count + 1, sizeof *files);
  if (!files) fail_embedding(arguments[1], "no memory");
  for (int i = 0; i < file_count; i++) take_path(&files[i], arguments[i + 2]);
  qsort(files, (size_t)file_count, sizeof *files, compare_files);
  for (int i = 0; i < file_count; i++) {
    char names[MAXIMUM_PARAMETERS][MAXIMUM_NAME];
    files[i].is_view = strcmp(files[i].kind, "panel") != 0 &&
                       find_parameters(read_file(files[i].path), files[i].path, names) == 0;
  }
  FILE *out = fopen(arguments[1], "wb");
  if (!out) fail_embedding(arguments[1], "cannot be written");
  fputs("/* Made by embed_sql. */\n#include <stddef.h>\n\n#include \"vtab/stored_select.h\"\n\n", out);
  for (int i = 0; i < file_count; i++)
    if (has_columns(&files[i])) write_columns(out, &files[i]);
  write_array(out, "stored_selects", files, file_count, false);
  write_array(out, "stored_panels", files, file_count, true);
  if (ferror(out) || fclose(out)) fail_embedding(arguments[1], "cannot be written");
  free(files);
  return 0;
}
