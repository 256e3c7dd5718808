/* output_box.c: a table for people, laid out to fit the terminal.
**
** The first SAMPLE_ROWS rows are kept back and decide the layout; they and all later rows are then printed with it, so
** that any number of rows takes bounded memory.
**
**   - Where everything fits, each column is as wide as its widest cell.
**   - Else text columns are narrowed, the widest first, and headers are broken at their underscores.  In a short result
**     the text is then wrapped; in a long one each row stays one line and a text that is too long loses its middle,
**     since the two ends of a kernel's or a file's name tell it best.  Prose is wrapped in any result.
**   - Where that does not fit, each row becomes a block with one line for each column.
**
** As a chart the box has one more column, a bar for the row's number; the bars' scale is its header. The number is the
** first column that measures something (time, bytes, a ratio, a count), else the first behind the first column that is
** no id; of a single column of numbers it is a histogram instead (output_chart.c).
**
** Numbers stand to the right and are never cut; reals are rounded to six digits (the other formats give all).  Control
** characters, which could play tricks on the terminal, are shown as their pictures.  Without a terminal (width 0)
** nothing is narrowed.
*/
#include "base/list.h"
#include "cell.h"
#include "output_private.h"
#include "write/block_text.h"
#include "write/scaled_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
  SAMPLE_ROWS = 500,
  WRAPPED_ROWS = 40,  /* a result of more rows is not wrapped */
  MAXIMUM_LINES = 40, /* of one cell; the rest is cut */
  SHORT_HEADER = 8,   /* is not broken */
  NARROW_TEXT = 14,   /* text columns are not made narrower than this */
  BLOCK_VALUE = 12,   /* least width of the values in blocks */
  BAR_WIDTH = 40,     /* of a chart's bars, where there is room */
  LEAST_BAR = 10,
};

struct column_layout {
  struct cell header;
  enum quantity quantity;
  int width;
  bool is_number; /* every value of the sample is a number or NULL */
};

struct box {
  struct column_layout *columns;
  struct cell *cells; /* the kept rows */
  size_t kept, room;
  bool is_laid_out, is_wrapped, is_blocks;
  int name_width; /* blocks: of the longest column name */
  int charted;    /* the column whose numbers the bars behind the last one show; -1: there are none */
  double largest; /* its absolute value is a whole bar */
};

/* ---- printing pieces ---- */

static void spaces(FILE *file, int count) {
  static const char many[] = "                                                                ";
  for (; count > 0; count -= (int)sizeof many - 1) {
    fwrite(many, 1, (size_t)count < sizeof many ? (size_t)count : sizeof many - 1, file);
  }
}

static void paint(const struct output *output, const char *sequence) {
  if (output->style.colour) fputs(sequence, output->file);
}
#define BOLD "\033[1m"
#define DIM "\033[2m"
#define PLAIN "\033[0m"

static void rule(const struct output *output, const char *left, const char *middle, const char *right) {
  FILE *file = output->file;
  paint(output, DIM);
  for (int i = 0; i < output->column_count; i++) {
    fputs(i == 0 ? left : middle, file);
    for (int x = 0; x < output->box->columns[i].width + 2; x++) fputs("─", file);
  }
  fputs(right, file);
  paint(output, PLAIN);
  putc('\n', file);
}

/* One line of one cell, padded. With a colour the padding is inside, which no terminal shows. */
static void piece(const struct output *output, const struct column_layout *column, const char *text, size_t length,
                  const char *colour) {
  int padding = column->width - cell_width(text, length);
  paint(output, DIM);
  fputs("│", output->file);
  paint(output, PLAIN);
  putc(' ', output->file);
  if (colour) paint(output, colour);
  if (column->is_number) spaces(output->file, padding);
  fwrite(text, 1, length, output->file);
  if (!column->is_number) spaces(output->file, padding);
  if (colour) paint(output, PLAIN);
  putc(' ', output->file);
}

static void end_of_line(const struct output *output) {
  paint(output, DIM);
  fputs("│", output->file);
  paint(output, PLAIN);
  putc('\n', output->file);
}

/* A header's next line: as many of its words between underscores as fit. */
static size_t next_header_line(const char *text, size_t length, int width) {
  int used;
  size_t taken = cell_fitting(text, length, width, &used);
  if (taken == length) return taken;
  size_t whole = taken;
  while (whole > 0 && text[whole - 1] != '_') whole--;
  return whole ? whole : taken;
}

static void print_header(const struct output *output) {
  struct box *box = output->box;
  size_t *done = calloc((size_t)output->column_count, sizeof *done);
  if (!done) return;
  rule(output, "┌", "┬", "┐");
  for (bool more = true; more;) {
    more = false;
    for (int i = 0; i < output->column_count; i++) {
      const struct column_layout *column = &box->columns[i];
      const char *text = column->header.text + done[i];
      size_t length = column->header.length - done[i];
      size_t taken = length ? next_header_line(text, length, column->width) : 0;
      piece(output, column, text, taken, BOLD);
      done[i] += taken;
      if (done[i] < column->header.length) more = true;
    }
    end_of_line(output);
  }
  rule(output, "├", "┼", "┤");
  free(done);
}

/* Into one line of `width` columns: line feeds become pictures, and what is too long loses its middle. */
static void print_cut(const struct output *output, const struct column_layout *column, const struct cell *cell,
                      const char *colour) {
  if (cell->length <= (size_t)column->width && cell_plain_length(cell->text, cell->length) == cell->length) {
    piece(output, column, cell->text, cell->length, colour);
    return;
  }
  char *flat = malloc(3 * (size_t)cell->length + 1), *end = flat;
  if (!flat) return;
  for (uint32_t i = 0; i < cell->length; i++) {
    if (cell->text[i] == '\n')
      end = cell_append(end, '\n', NULL, 0);
    else
      *end++ = cell->text[i];
  }
  size_t length = (size_t)(end - flat);
  int width = cell_width(flat, length);
  bool is_number = cell->type == SQLITE_INTEGER || cell->type == SQLITE_FLOAT;
  if (width <= column->width || column->width < 3 || is_number) {
    piece(output, column, flat, length, colour);
    free(flat);
    return;
  }
  int used, head = (column->width - 1) * 2 / 3, skipped;
  size_t first = cell_fitting(flat, length, head, &used);
  size_t last = first + cell_fitting(flat + first, length - first, width - column->width + 1, &skipped);
  while (width - skipped + 1 > column->width && last < length) { /* a wide character straddled the place */
    int more;
    last += cell_fitting(flat + last, length - last, 1, &more);
    skipped += more;
  }
  char *text = malloc(length + 4);
  if (text) {
    memcpy(text, flat, first);
    memcpy(text + first, "…", 3);
    memcpy(text + first + 3, flat + last, length - last);
    piece(output, column, text, first + 3 + length - last, colour);
  }
  free(text);
  free(flat);
}

static void print_row(const struct output *output, const struct cell *cells) {
  struct box *box = output->box;
  if (!box->is_wrapped) {
    for (int i = 0; i < output->column_count; i++) {
      print_cut(output, &box->columns[i], &cells[i], cells[i].type == SQLITE_NULL ? DIM : NULL);
    }
    end_of_line(output);
    return;
  }
  size_t *done = calloc((size_t)output->column_count, sizeof *done);
  if (!done) return;
  bool more = true;
  for (int line = 0; more && line < MAXIMUM_LINES; line++) {
    more = false;
    for (int i = 0; i < output->column_count; i++) {
      const struct column_layout *column = &box->columns[i];
      const char *text = cells[i].text + done[i];
      size_t length = cells[i].length - done[i], rest = 0;
      size_t taken = length ? cell_next_line(text, length, column->width, &rest) : 0;
      bool is_cut = line == MAXIMUM_LINES - 1 && rest < length;
      piece(output, column, is_cut ? "…" : text, is_cut ? 3 : taken, cells[i].type == SQLITE_NULL ? DIM : NULL);
      done[i] += rest;
      if (done[i] < cells[i].length) more = true;
    }
    end_of_line(output);
  }
  free(done);
}

/* A row as a block: one line for each column, long values wrapped beside their name. */
static void print_block(const struct output *output, const struct cell *cells, uint64_t number) {
  FILE *file = output->file;
  struct box *box = output->box;
  int value_width = output->style.width - box->name_width - 3;
  paint(output, DIM);
  int used = fprintf(file, "── row %llu ", (unsigned long long)number) - 4; /* each ─ has three bytes */
  for (; used < output->style.width; used++) fputs("─", file);
  paint(output, PLAIN);
  putc('\n', file);
  for (int i = 0; i < output->column_count; i++) {
    const struct cell *header = &box->columns[i].header;
    spaces(file, box->name_width - cell_width(header->text, header->length));
    paint(output, BOLD);
    fwrite(header->text, 1, header->length, file);
    paint(output, PLAIN);
    fputs("  ", file);
    const char *text = cells[i].text;
    size_t length = cells[i].length;
    if (cells[i].type == SQLITE_NULL) paint(output, DIM);
    for (int line = 0; line == 0 || length; line++) {
      size_t rest = length, taken = length;
      bool is_number = cells[i].type == SQLITE_INTEGER || cells[i].type == SQLITE_FLOAT;
      if (length && !is_number) taken = cell_next_line(text, length, value_width, &rest);
      if (line > 0) spaces(file, box->name_width + 2);
      if (line == MAXIMUM_LINES) {
        fputs("…\n", file);
        break;
      }
      fwrite(text, 1, taken, file);
      if (cells[i].type == SQLITE_NULL) paint(output, PLAIN);
      putc('\n', file);
      text += rest;
      length -= rest;
    }
  }
}

/* ---- bars ---- */

/* How surely a column is what a chart of the rows is about, by its name; 0: not at all. */
static int chart_rank(const char *name, const struct column_layout *column, int index) {
  static const char *const plain[] = {"id", "rank", "number", "position", "pid", "tid", "line", "stream", "depth"};
  size_t length = strlen(name);
  if (!column->is_number) return 0;
  if (column->quantity != QUANTITY_NONE) return 4;
  if (length > 6 && strcmp(name + length - 6, "_ratio") == 0) return 3;
  if (strstr(name, "count")) return 3;
  if (length > 3 && strcmp(name + length - 3, "_id") == 0) return 0;
  if (length > 3 && strcmp(name + length - 3, "_ns") == 0) return 1; /* a point in time */
  for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
    if (strcmp(name, plain[i]) == 0) return 1;
  }
  return index > 0 ? 2 : 1;
}

/* Which column the bars are of, and their scale, by the kept rows. */
static void choose_charted(struct output *output) {
  struct box *box = output->box;
  int best = 0, count = output->column_count - 1;
  struct cell *header = &box->columns[count].header;
  for (int i = 0; i < count; i++) {
    int rank = chart_rank(box->columns[i].header.text, &box->columns[i], i);
    if (rank <= best) continue;
    best = rank;
    box->charted = i;
  }
  bool has_negative = false;
  for (size_t row = 0; row < box->kept && box->charted >= 0; row++) {
    double number = box->cells[row * (size_t)output->column_count + (size_t)box->charted].number;
    if (isfinite(number) && fabs(number) > box->largest) box->largest = fabs(number);
    has_negative |= number < 0;
  }
  if (box->charted < 0 || box->largest <= 0) return;
  char scale[SCALED_TEXT_BYTES], text[SCALED_TEXT_BYTES + 40];
  size_t length = quantity_text(box->columns[box->charted].quantity, box->largest, scale);
  if (!length) length = (size_t)snprintf(scale, sizeof scale, "%.6g", box->largest);
  snprintf(text, sizeof text, "%s%.*s", has_negative ? "░ below 0; 0 … " : "0 … ", (int)length, scale);
  free(header->text);
  if (!cell_make_text(text, strlen(text), header)) *header = (struct cell){.text = strdup("")};
}

/* The bar of a row, into its last cell. What is larger than all that decided the scale ends in an arrow. */
static void draw_bar(const struct output *output, struct cell *cells) {
  const struct box *box = output->box;
  int last = output->column_count - 1, width = box->columns[last].width;
  if (box->charted < 0 || box->largest <= 0) return;
  double number = cells[box->charted].number, share = fabs(number) / box->largest;
  if (isnan(number) || width < 1) return;
  char *text = malloc((size_t)width * BLOCK_TEXT_BYTES + 1);
  if (!text) return;
  size_t length = 0;
  if (number < 0) {
    int units = (int)ceil(fmin(share, 1) * width);
    for (int i = 0; i < units; i++) length += (size_t)(stpcpy(text + length, "░") - (text + length));
  } else {
    length = block_text_bar(share, (unsigned)width, text);
  }
  if (share > 1) strcpy(text + length - BLOCK_TEXT_BYTES, "▶");
  text[length] = '\0';
  free(cells[last].text);
  cells[last].text = text;
  cells[last].length = (uint32_t)length;
}

/* ---- layout ---- */

struct demand {
  int cells;  /* the widest cell */
  int header; /* the whole header */
  int word;   /* its longest word between underscores */
  int least;  /* below this the table becomes blocks */
};

static int widest_line(const struct cell *cell, bool is_wrapped) {
  if (!is_wrapped) return cell_width(cell->text, cell->length);
  int widest = 0;
  for (size_t at = 0; at <= cell->length;) {
    const char *feed = memchr(cell->text + at, '\n', cell->length - at);
    size_t line = feed ? (size_t)(feed - cell->text) - at : cell->length - at;
    int width = cell_width(cell->text + at, line);
    if (width > widest) widest = width;
    at += line + 1;
  }
  return widest;
}

static struct demand measure_box_column(const struct output *output, int index) {
  const struct box *box = output->box;
  const struct column_layout *column = &box->columns[index];
  struct demand demand = {0};
  for (size_t row = 0; row < box->kept; row++) {
    int width = widest_line(&box->cells[row * (size_t)output->column_count + (size_t)index], box->is_wrapped);
    if (width > demand.cells) demand.cells = width;
  }
  /* Rows that are still to come may be a little wider. */
  if (box->kept >= SAMPLE_ROWS) demand.cells += column->is_number ? 1 : 2 + demand.cells / 8;
  demand.header = cell_width(column->header.text, column->header.length);
  for (size_t at = 0; at < column->header.length;) {
    const char *mark = memchr(column->header.text + at, '_', column->header.length - at);
    size_t word = mark ? (size_t)(mark - column->header.text) + 1 - at : column->header.length - at;
    int width = cell_width(column->header.text + at, word);
    if (width > demand.word) demand.word = width;
    at += word;
  }
  if (demand.header <= SHORT_HEADER) demand.word = demand.header;
  bool is_narrow = column->is_number || demand.cells < NARROW_TEXT;
  demand.least = is_narrow ? demand.cells : NARROW_TEXT;
  if (demand.least < demand.word) demand.least = demand.word;
  return demand;
}

/* Gives each column its least width and then what is left, a column at a time to the narrowest that wants more:
** first for cells, then for headers. */
static bool narrow(struct output *output, const struct demand *demands) {
  struct box *box = output->box;
  int space = output->style.width - 3 * output->column_count - 1;
  for (int i = 0; i < output->column_count; i++) {
    box->columns[i].width = demands[i].least;
    space -= demands[i].least;
  }
  if (space < 0) return false;
  for (int pass = 0; pass < 2; pass++) {
    while (space > 0) {
      struct column_layout *chosen = NULL;
      for (int i = 0; i < output->column_count; i++) {
        struct column_layout *column = &box->columns[i];
        int wanted = pass == 0 ? demands[i].cells : demands[i].header;
        if (column->width < wanted && (!chosen || column->width < chosen->width)) chosen = column;
      }
      if (!chosen) break;
      chosen->width++;
      space--;
    }
  }
  return true;
}

static void judge_types(struct output *output, int index) {
  struct box *box = output->box;
  struct column_layout *column = &box->columns[index];
  column->is_number = box->kept > 0;
  for (size_t row = 0; row < box->kept; row++) {
    uint8_t type = box->cells[row * (size_t)output->column_count + (size_t)index].type;
    if (type == SQLITE_TEXT || type == SQLITE_BLOB) column->is_number = false;
  }
}

static bool lay_out(struct output *output) {
  struct box *box = output->box;
  int count = output->column_count, natural = 3 * count + 1, width = output->style.width;
  struct demand *demands = calloc((size_t)count, sizeof *demands);
  if (!demands) return false;
  box->is_laid_out = true;
  box->is_wrapped = box->kept <= WRAPPED_ROWS || output->style.is_prose;
  for (int i = 0; i < count; i++) judge_types(output, i);
  if (output->style.format == OUTPUT_CHART) {
    box->columns[count - 1].is_number = false;
    choose_charted(output);
  }
  for (int i = 0; i < count; i++) {
    demands[i] = measure_box_column(output, i);
    if (i == count - 1 && box->charted >= 0) {
      demands[i].cells = BAR_WIDTH;
      demands[i].least = demands[i].header > LEAST_BAR ? demands[i].header : LEAST_BAR;
    }
    box->columns[i].width = demands[i].cells > demands[i].header ? demands[i].cells : demands[i].header;
    natural += box->columns[i].width;
  }
  box->is_blocks = width > 0 && natural > width && !narrow(output, demands);
  for (int i = 0; i < count; i++) {
    if (demands[i].header > box->name_width) box->name_width = demands[i].header;
  }
  /* A block needs room for its names, too; where even that is missing, lines run over. */
  int needed = box->name_width + 3 + BLOCK_VALUE;
  if (box->is_blocks && width < needed) output->style.width = needed;
  free(demands);
  if (!box->is_blocks) print_header(output);
  return true;
}

static bool is_several_lines(const struct output *output, const struct cell *cells) {
  for (int i = 0; i < output->column_count; i++) {
    size_t rest;
    if (cells[i].length && cell_next_line(cells[i].text, cells[i].length, output->box->columns[i].width, &rest) &&
        rest < cells[i].length)
      return true;
  }
  return false;
}

/* Prints the kept rows and forgets them. Where many rows have several lines, rules keep them apart. */
static void print_kept(struct output *output, uint64_t first_number) {
  struct box *box = output->box;
  size_t count = (size_t)output->column_count, wrapped = 0;
  for (size_t row = 0; row < box->kept && box->is_wrapped && !box->is_blocks; row++) {
    wrapped += is_several_lines(output, &box->cells[row * count]);
  }
  bool is_ruled = wrapped * 4 > box->kept;
  for (size_t row = 0; row < box->kept; row++) {
    struct cell *cells = &box->cells[row * count];
    draw_bar(output, cells);
    if (box->is_blocks)
      print_block(output, cells, first_number + row);
    else
      print_row(output, cells);
    if (is_ruled && row + 1 < box->kept) rule(output, "├", "┼", "┤");
    for (size_t i = 0; i < count; i++) free(cells[i].text);
  }
  box->kept = 0;
}

/* ---- the format ---- */

static bool box_begin(struct output *output) {
  struct box *box = output->box = calloc(1, sizeof *box);
  if (!box) return false;
  box->charted = -1;
  output->column_count += output->style.format == OUTPUT_CHART;
  box->columns = calloc((size_t)output->column_count, sizeof *box->columns);
  if (!box->columns) return false;
  for (int i = 0; i < output->column_count; i++) {
    bool is_bar = i == sqlite3_column_count(output->statement);
    const char *name = is_bar ? "" : sqlite3_column_name(output->statement, i);
    if (!name || !cell_make_text(name, strlen(name), &box->columns[i].header)) return false;
    box->columns[i].quantity = output->style.is_raw ? QUANTITY_NONE : quantity_of_name(name);
    for (char *c = box->columns[i].header.text; *c; c++) {
      if (*c == '\n') *c = ' ';
    }
  }
  return true;
}

static bool box_row(struct output *output) {
  struct box *box = output->box;
  size_t count = (size_t)output->column_count;
  if (!array_reserve(box->cells, box->room, (box->kept + 1) * count)) return false;
  struct cell *cells = &box->cells[box->kept * count];
  memset(cells, 0, count * sizeof *cells);
  box->kept++; /* print_kept and box_end free whatever was made */
  for (size_t i = 0; i < count; i++) {
    bool is_bar = i == (size_t)sqlite3_column_count(output->statement);
    if (is_bar && cell_make_text("", 0, &cells[i])) continue;
    if (!is_bar && cell_make(output->statement, (int)i, box->columns[i].quantity, &cells[i])) continue;
    box->kept--;
    for (size_t made = 0; made <= i; made++) free(cells[made].text);
    return false;
  }
  if (!box->is_laid_out && box->kept < SAMPLE_ROWS) return true;
  uint64_t first_number = output->rows - box->kept + 1;
  if (!box->is_laid_out && !lay_out(output)) return false;
  print_kept(output, first_number);
  return true;
}

static void box_end(struct output *output) {
  struct box *box = output->box;
  if (!box) return;
  bool is_whole = box->columns && box->columns[output->column_count - 1].header.text;
  if (is_whole && !box->is_laid_out) {
    uint64_t first_number = output->rows - box->kept + 1;
    if (lay_out(output)) print_kept(output, first_number);
  }
  if (is_whole && box->is_laid_out && !box->is_blocks) rule(output, "└", "┴", "┘");
  for (int i = 0; box->columns && i < output->column_count; i++) free(box->columns[i].header.text);
  for (size_t i = 0; i < box->kept * (size_t)output->column_count; i++) free(box->cells[i].text);
  free(box->columns);
  free(box->cells);
  free(box);
}

const struct output_kind output_box = {box_begin, box_row, box_end};
