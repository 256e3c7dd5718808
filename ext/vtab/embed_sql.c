/* embed_sql.c: makes C arrays of SQL files: see stored_select.h.
**
**   embed_sql OUTPUT.c SECTIONS OLD_NAMES FILE.sql ...
**
** The directories say what a file is:
**
**   views/SECTION/NAME.sql   a view, which is listed in that section
**   advise/NAME.sql          a check
**   panels/NAME.sql          a panel
**
** SECTIONS has the order of the views: see sql/sections.  OLD_NAMES has the views that were called otherwise, one a
** line: see sql/old_names.  Each becomes a SELECT from the view that it is now.
**
** The columns of a view stand in its first comment, each on a line of its own, in the order of the SELECT:
**
**   --   name  TYPE  unit  What it holds, as one sentence or more.
**   --       A line that goes on begins further to the right.
**
** At least two blanks stand between the parts.  TYPE is INTEGER, REAL or TEXT; unit is - where there is none.  Checks
** have the columns of the view advise.
**
** What they read of tfprof is written temp.ops, and is embedded as tfprof_own.ops: see stored_select.h.  They find no
** more than the views in TEMP.
*/
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAXIMUM_FILE = 1 << 20, MAXIMUM_PARAMETERS = 16, MAXIMUM_NAME = 64, MAXIMUM_TEXT = 2048, UNPLACED = 1 << 30 };

struct file {
  const char *path;
  char name[MAXIMUM_NAME];
  const char *kind;
  char section[MAXIMUM_NAME];
  int place; /* in SECTIONS; UNPLACED: its section is not there */
  bool is_view; /* neither a panel nor, having parameters, a function */
};

static void fail_embedding(const char *path, const char *what) {
  fprintf(stderr, "embed_sql: %s: %s\n", path, what);
  exit(1);
}

/* What stands between the last `mark` of a path and its next slash; NULL: it has no such part. */
static const char *part_behind(const char *path, const char *mark, size_t *length) {
  const char *found = strstr(path, mark);
  if (!found) return NULL;
  for (const char *next = found; next; next = strstr(next + 1, mark)) found = next;
  found += strlen(mark);
  *length = strcspn(found, "/");
  return found;
}

static void take_section(struct file *file, const char *section, size_t length) {
  if (!section[length] || length == 0 || length >= sizeof file->section)
    fail_embedding(file->path, "a view that is in no directory of a section: views/SECTION/NAME.sql");
  memcpy(file->section, section, length);
  file->section[length] = 0;
}

static void take_path(struct file *file, const char *path) {
  const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path, *end = strstr(base, ".sql");
  size_t length = 0;
  file->path = path;
  file->place = UNPLACED;
  /* The tree itself may lie below a directory of these names. */
  const char *section = part_behind(path, "/views/", &length);
  if (section && section[length] && strchr(section + length + 1, '/')) section = NULL;
  size_t behind = 0;
  const char *check = part_behind(path, "/advise/", &behind);
  file->kind = section ? "view" : check && !strchr(check, '/') ? "check" : "panel";
  if (section) take_section(file, section, length);
  else if (strcmp(file->kind, "check") == 0) take_section(file, "checks/", strlen("checks"));
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
  if (!order) order = (a->place > b->place) - (a->place < b->place);
  return order ? order : strcmp(a->name, b->name);
}

static void place_view(const char *path, const char *section, const char *name, int place, struct file *files,
                       int count) {
  for (int i = 0; i < count; i++) {
    if (strcmp(files[i].name, name) != 0 || strcmp(files[i].section, section) != 0) continue;
    files[i].place = place;
    return;
  }
  fprintf(stderr, "embed_sql: %s: there is no views/%s/%s.sql\n", path, section, name);
  exit(1);
}

/* Every view of a section that the file names must be in it. */
static void place_views(const char *path, struct file *files, int count) {
  char line[MAXIMUM_TEXT], named[MAXIMUM_TEXT] = " ";
  FILE *file = fopen(path, "rb");
  if (!file) fail_embedding(path, "cannot be opened");
  for (int place = 0; fgets(line, sizeof line, file);) {
    char *section = strtok(line, ": \n");
    if (!section || *section == '#') continue;
    if (strlen(named) + strlen(section) + 2 > sizeof named) fail_embedding(path, "has too many sections");
    strcat(strcat(named, section), " ");
    for (char *name = strtok(NULL, " \n"); name; name = strtok(NULL, " \n"))
      place_view(path, section, name, place++, files, count);
  }
  fclose(file);
  for (int i = 0; i < count; i++) {
    char word[MAXIMUM_NAME + 2];
    snprintf(word, sizeof word, " %s ", files[i].section);
    if (files[i].place == UNPLACED && files[i].section[0] && strstr(named, word))
      fail_embedding(files[i].path, "is not in sql/sections");
  }
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

/* How many of the last parameters may be left out: those in brackets of the line "-- parameters: a, b [, c, d]". */
static int count_optional(const char *text) {
  const char *line = strstr(text, "\n-- parameters: ");
  int count = 0;
  if (!line) return 0;
  const char *end = line + 1 + strcspn(line + 1, "\n");
  for (const char *at = memchr(line, '[', (size_t)(end - line)); at && at < end; at++) count += *at == ',';
  return count;
}

/* The names as SQL shows them, and how many may be left out. */
static void write_parameters(FILE *out, char names[MAXIMUM_PARAMETERS][MAXIMUM_NAME], int count, int optional_count) {
  if (count == 0) fputs("NULL", out);
  if (count) fputc('"', out);
  for (int i = 0; i < count; i++)
    fprintf(out, "%s%s%s", i == count - optional_count ? " [" : "", i ? ", " : "", names[i]);
  if (count) fputs(optional_count ? "]\"" : "\"", out);
  fprintf(out, ", %d", optional_count);
}

/* ---- tables ---- */

static bool is_in_temp(const char *name, size_t length, const struct file *files, int count) {
  for (int i = 0; i < count; i++) {
    if (files[i].is_view && strlen(files[i].name) == length && strncmp(files[i].name, name, length) == 0) return true;
  }
  return false;
}

static void write_sql(FILE *out, const char *text, const struct file *files, int count) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_", temp[] = "temp.", own[] = "tfprof_own.";
  static char written[3 * MAXIMUM_FILE]; /* temp. becomes tfprof_own. */
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

struct column {
  const char *name; /* not ended */
  int name_length;
  char type[8], unit[MAXIMUM_NAME], text[MAXIMUM_TEXT];
};

static void take_column_word(const char **at, char *word, size_t room, const char *letters, const char *path,
                      const char *what) {
  size_t length = strspn(*at, letters);
  if (!length || length >= room || strncmp(*at + length, "  ", 2) != 0) {
    fprintf(stderr, "embed_sql: %s: a column without %s and two blanks: %.60s\n", path, what, *at);
    exit(1);
  }
  memcpy(word, *at, length);
  word[length] = 0;
  *at += length + strspn(*at + length, " ");
}

/* The text of a column, which goes on on lines that are indented further; what comes behind them. */
static const char *take_column_text(char *text, const char *at, const char *path) {
  size_t length = 0;
  for (;;) {
    size_t size = strcspn(at, "\n");
    if (length + size + 2 > MAXIMUM_TEXT) fail_embedding(path, "has too long a text of a column");
    if (length) text[length++] = ' ';
    memcpy(text + length, at, size);
    length += size;
    at += size + (at[size] == '\n');
    if (strncmp(at, "--    ", 6) != 0) break;
    at += 2 + strspn(at + 2, " ");
  }
  if (!length || text[length - 1] != '.') fail_embedding(path, "has a column whose text does not end as a sentence");
  text[length] = 0;
  return at;
}

/* The next column of the comment that `*at` is in; false: there is none. */
static bool next_column(const char **at, struct column *column, const char *path) {
  static const char start[] = "--   ", small[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
  static char name[MAXIMUM_NAME];
  while (strncmp(*at, start, sizeof start - 1) != 0 || !islower((unsigned char)(*at)[sizeof start - 1])) {
    if (strncmp(*at, "--", 2) != 0) return false;
    *at += strcspn(*at, "\n");
    *at += **at == '\n';
  }
  *at += sizeof start - 1;
  column->name = *at;
  take_column_word(at, name, sizeof name, small, path, "a name in small letters");
  column->name_length = (int)strlen(name);
  if (strncmp(*at, "INTEGER ", 8) != 0 && strncmp(*at, "REAL ", 5) != 0 && strncmp(*at, "TEXT ", 5) != 0)
    fail_embedding(path, "has a column whose type is none of INTEGER, REAL and TEXT");
  take_column_word(at, column->type, sizeof column->type, "INTEGRALX", path, "a type");
  take_column_word(at, column->unit, sizeof column->unit, "abcdefghijklmnopqrstuvwxyzH/-", path, "a unit");
  *at = take_column_text(column->text, *at, path);
  return true;
}

/* The name that a column has in another view by `renamed`, which is "old=new old=new ...". */
static const char *old_name(const char *renamed, const char *name, int length) {
  static char old[MAXIMUM_NAME];
  for (const char *at = renamed; at && *at; at += strspn(at, " ")) {
    size_t size = strcspn(at, "= ");
    if (at[size] == '=') {
      const char *now = at + size + 1;
      if ((int)strcspn(now, " ") == length && strncmp(now, name, (size_t)length) == 0 && size < sizeof old) {
        memcpy(old, at, size);
        old[size] = 0;
        return old;
      }
    }
    at += strcspn(at, " ");
  }
  memcpy(old, name, (size_t)length);
  old[length] = 0;
  return old;
}

/* The array of the columns of a file, before what names it: by the names of another view where `renamed` has some. */
static void write_columns(FILE *out, const struct file *file, const char *name, const char *renamed) {
  static struct column column;
  bool is_any = false;
  const char *at = read_file(file->path);
  fprintf(out, "static const struct stored_column columns_of_%s[] = {\n", name);
  for (; next_column(&at, &column, file->path); is_any = true) {
    const char *called = old_name(renamed, column.name, column.name_length);
    fputs("  {", out);
    write_string(out, called, strlen(called));
    fprintf(out, ", \"%s\", ", column.type);
    if (strcmp(column.unit, "-") == 0) fputs("NULL", out);
    else write_string(out, column.unit, strlen(column.unit));
    fputs(", ", out);
    write_string(out, column.text, strlen(column.text));
    fputs("},\n", out);
  }
  if (!is_any) fail_embedding(file->path, "tells of no column");
  fputs("  {NULL, NULL, NULL, NULL},\n};\n", out);
}

/* Views and functions have columns of their own. */
static bool has_columns(const struct file *file) { return strcmp(file->kind, "view") == 0; }

/* ---- old names ---- */

/* A line of the file: OLD NEW, with parameters behind OLD where their order was another, columns that were called
** otherwise as OLD=NEW, and behind WHERE the rows that it had. */
struct old_view {
  char name[MAXIMUM_NAME], renamed[MAXIMUM_TEXT], rows[MAXIMUM_TEXT];
  char parameters[MAXIMUM_PARAMETERS][MAXIMUM_NAME];
  int parameter_count;
  const struct file *file;
};

static const struct file *find_view(const char *name, const struct file *files, int count) {
  for (int i = 0; i < count; i++)
    if (strcmp(files[i].kind, "view") == 0 && strcmp(files[i].name, name) == 0) return &files[i];
  return NULL;
}

/* "op_diff_steps(a,a_first)": its name, and its parameters where it has some. */
static void take_old_call(struct old_view *view, const char *word, const char *path) {
  size_t length = strcspn(word, "(");
  if (length >= sizeof view->name) fail_embedding(path, "has too long a name");
  memcpy(view->name, word, length);
  view->name[length] = 0;
  for (const char *at = word + length + (word[length] == '('); *at && *at != ')'; at += *at == ',') {
    size_t size = strcspn(at, ",)");
    if (size >= MAXIMUM_NAME || view->parameter_count == MAXIMUM_PARAMETERS)
      fail_embedding(path, "has too many or too long parameters");
    memcpy(view->parameters[view->parameter_count], at, size);
    view->parameters[view->parameter_count++][size] = 0;
    at += size;
  }
}

static bool take_old_view(struct old_view *view, char *line, const char *path, const struct file *files, int count) {
  *view = (struct old_view){.parameter_count = 0};
  char *rows = strstr(line, " WHERE ");
  if (rows) {
    snprintf(view->rows, sizeof view->rows, "%.*s", (int)strcspn(rows + 1, "\n"), rows + 1);
    *rows = 0;
  }
  char *word = strtok(line, " \n"), *now = word ? strtok(NULL, " \n") : NULL;
  if (!word || *word == '#') return false;
  view->file = now ? find_view(now, files, count) : NULL;
  if (!view->file) {
    fprintf(stderr, "embed_sql: %s: %s: there is no view %s\n", path, word, now ? now : "behind it");
    exit(1);
  }
  take_old_call(view, word, path);
  for (char *column = strtok(NULL, " \n"); column; column = strtok(NULL, " \n")) {
    if (strlen(view->renamed) + strlen(column) + 2 > sizeof view->renamed) fail_embedding(path, "has too many columns");
    strcat(strcat(view->renamed, column), " ");
  }
  if (!view->parameter_count)
    view->parameter_count = find_parameters(read_file(view->file->path), view->file->path, view->parameters);
  return true;
}

static void each_old_name(FILE *out, const char *path, const struct file *files, int count,
                          void (*write)(FILE *out, struct old_view *view, const struct file *files, int count)) {
  static char line[MAXIMUM_TEXT];
  static struct old_view view;
  FILE *file = fopen(path, "rb");
  if (!file) fail_embedding(path, "cannot be opened");
  while (fgets(line, sizeof line, file)) {
    if (!strchr(line, '\n') && !feof(file)) fail_embedding(path, "has too long a line");
    if (take_old_view(&view, line, path, files, count)) write(out, &view, files, count);
  }
  fclose(file);
}

static void write_old_columns(FILE *out, struct old_view *view, const struct file *files, int count) {
  (void)files;
  (void)count;
  write_columns(out, view->file, view->name, view->renamed);
}

static void write_old_view(FILE *out, struct old_view *view, const struct file *files, int count) {
  static char sql[MAXIMUM_FILE];
  static struct column column;
  const char *now = view->file->name, *at = read_file(view->file->path);
  size_t length = (size_t)snprintf(sql, sizeof sql, "-- Old name of %s, until version 0.3.\nSELECT", now);
  for (bool is_first = true; next_column(&at, &column, view->file->path); is_first = false) {
    length += (size_t)snprintf(sql + length, sizeof sql - length, "%s\n  %.*s AS %s", is_first ? "" : ",",
                               column.name_length, column.name,
                               old_name(view->renamed, column.name, column.name_length));
  }
  length += (size_t)snprintf(sql + length, sizeof sql - length, "\nFROM temp.%s%s%s", now, *view->rows ? "\n" : "",
                             view->rows);
  for (int i = 0; i < view->parameter_count; i++) {
    const char *name = view->parameters[i];
    length += (size_t)snprintf(sql + length, sizeof sql - length, "%s%s = :%s", i || *view->rows ? " AND " : "\nWHERE ",
                               name, name);
  }
  fprintf(out, "  {\"%s\", \"old\", \"old\", \"%s\", \"Old name of %s, until version 0.3.\", ", view->name, now, now);
  write_parameters(out, view->parameters, view->parameter_count, 0);
  fputs(",\n    ", out);
  write_sql(out, sql, files, count);
  fprintf(out, ", columns_of_%s},\n", view->name);
}

/* ---- all ---- */

static void write_sections(FILE *out, const struct file *file) {
  if (file->section[0]) fprintf(out, "\"%s\", NULL", file->section);
  else fputs("NULL, NULL", out);
}

static void write_array(FILE *out, const char *name, const struct file *files, int count, bool are_panels,
                        const char *old_names) {
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
    write_sections(out, &files[i]);
    fputs(", ", out);
    write_title(out, text, files[i].name);
    fputs(", ", out);
    char names[MAXIMUM_PARAMETERS][MAXIMUM_NAME];
    write_parameters(out, names, find_parameters(text, files[i].path, names), count_optional(text));
    fputs(",\n    ", out);
    write_sql(out, text, files, count);
    if (are_panels) fputs(", NULL},\n", out);
    else fprintf(out, ", columns_of_%s},\n", has_columns(&files[i]) ? files[i].name : "advise");
  }
  if (old_names) each_old_name(out, old_names, files, count, write_old_view);
  fputs("  {.name = NULL},\n};\n", out);
}

int main(int count, char **arguments) {
  if (count < 4) {
    fputs("usage: embed_sql OUTPUT.c SECTIONS OLD_NAMES FILE.sql ...\n", stderr);
    return 2;
  }
  const char *old_names = arguments[3];
  int file_count = count - 4;
  struct file *files = calloc((size_t)file_count + 1, sizeof *files);
  if (!files) fail_embedding(arguments[1], "no memory");
  for (int i = 0; i < file_count; i++) take_path(&files[i], arguments[i + 4]);
  place_views(arguments[2], files, file_count);
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
    if (has_columns(&files[i])) write_columns(out, &files[i], files[i].name, NULL);
  each_old_name(out, old_names, files, file_count, write_old_columns);
  write_array(out, "stored_selects", files, file_count, false, old_names);
  write_array(out, "stored_panels", files, file_count, true, NULL);
  if (ferror(out) || fclose(out)) fail_embedding(arguments[1], "cannot be written");
  free(files);
  return 0;
}
