/* test_capture_source_text.c: a line has a text only where its file is sure to be what it was when the interpreter
** began (source_text.h); on which line its statement begins (source_statement.h).
**
** When that was is told to it, so each case makes files now and says that the interpreter began before or after.
*/
#include "python/source_statement.h"
#include "python/source_text.h"
#include "scratch.h"
#include "stopping_check.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define CHECK(holds) check(holds, "%s:%d: %s", __FILE__, __LINE__, #holds)

static const int64_t second_ns = 1000000000;

static int64_t now_ns(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (int64_t)now.tv_sec * second_ns + now.tv_nsec;
}

/* Files are stamped a few milliseconds apart, or with one and the same time. */
static void let_time_pass(void) { nanosleep(&(struct timespec){0, 30000000}, NULL); }

static void begin_now(void) {
  let_time_pass();
  source_text_begin(now_ns(CLOCK_REALTIME_COARSE), now_ns(CLOCK_MONOTONIC));
  let_time_pass();
}

static void write_file(const char *name, const char *text) {
  FILE *file = fopen(test_path(name), "w");
  CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

/* Eight other files come in between: nothing is kept of those before. */
static void forget_files(void) {
  const char *text;
  for (int i = 0; i < 8; i++) {
    char name[64];
    snprintf(name, sizeof name, "/no/such/file_%d.py", i);
    CHECK(source_line(name, 1, &text) == 0);
  }
}

static bool has_text(const char *name, const char *expected) {
  const char *text = NULL, *file;
  uint64_t before = source_lines_left_out(&file);
  forget_files();
  size_t length = source_line(name[0] == '/' ? name : test_path(name), 2, &text);
  bool is_told = source_lines_left_out(&file) > before;
  CHECK(is_told == !expected);
  return expected ? length == strlen(expected) && memcmp(text, expected, length) == 0 : length == 0;
}

static void set_times(const char *name, time_t seconds) {
  const struct timespec times[2] = {{.tv_sec = seconds}, {.tv_sec = seconds}};
  CHECK(utimensat(AT_FDCWD, test_path(name), times, 0) == 0);
}

static void test_files(void) {
  static const char *const names[] = {"same.py",     "edited.py",   "edited_back.py",
                                      "replaced.py", "prepared.py", "kept.py"};
  const char *text;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) write_file(names[i], "one\n  x * 2\n");
  write_file("prepared.py", "one\nx * 3\n");
  set_times("prepared.py", 1000000000);
  CHECK(has_text("same.py", NULL)); /* nothing is known of when the interpreter began */
  begin_now();
  CHECK(source_line(test_path("kept.py"), 2, &text) == 5);
  write_file("kept.py", "one\nx * 4\n");
  CHECK(source_line(test_path("kept.py"), 2, &text) == 5 && memcmp(text, "x * 2", 5) == 0); /* as it was read */
  write_file("edited.py", "new\none\nx * 2\n");
  write_file("edited_back.py", "one\nx * 3\n");
  set_times("edited_back.py", 1000000000);
  CHECK(rename(test_path("prepared.py"), test_path("replaced.py")) == 0);
  write_file("new.py", "one\nx * 2\n");
  CHECK(has_text("same.py", "x * 2"));
  CHECK(has_text("edited.py", NULL));
  CHECK(has_text("edited_back.py", NULL)); /* an old mtime, but not ctime */
  CHECK(has_text("replaced.py", NULL));
  CHECK(has_text("kept.py", NULL));
  CHECK(has_text("new.py", NULL));
  CHECK(!source_typed(test_path("new.py"))); /* nor is Python asked, which would read it, too */
}

static void test_paths(void) {
  char former[4096];
  CHECK(getcwd(former, sizeof former) != NULL);
  CHECK(!mkdir(test_path("first"), 0700) && !mkdir(test_path("second"), 0700) && !mkdir(test_path("used"), 0700));
  write_file("first/m.py", "one\nx * 2\n");
  write_file("second/m.py", "one\nx * 3\n");
  write_file("used/m.py", "one\nx * 2\n");
  CHECK(!symlink("first", test_path("link")) && !symlink("first", test_path("current")));
  CHECK(chdir(test_path("first")) == 0);
  begin_now();
  write_file("used/output.txt", "the program works here\n");
  CHECK(has_text("first/m.py", "x * 2") && has_text("link/m.py", "x * 2"));
  CHECK(has_text("current/m.py", "x * 2"));
  CHECK(has_text("used/m.py", "x * 2"));
  const char *text;
  CHECK(source_line("m.py", 2, &text) == 5 && memcmp(text, "x * 2", 5) == 0);
  forget_files();
  CHECK(chdir(test_path("second")) == 0);
  CHECK(source_line("m.py", 2, &text) == 0); /* the one that is there now is another one */
  CHECK(!unlink(test_path("current")) && !symlink("second", test_path("current")));
  CHECK(has_text("current/m.py", NULL) && has_text("link/m.py", "x * 2"));
  CHECK(!rename(test_path("first"), test_path("former")) && !rename(test_path("second"), test_path("first")));
  CHECK(has_text("first/m.py", NULL));
  CHECK(chdir(former) == 0);
}

static void test_clocks(void) {
  write_file("clock.py", "one\nx * 2\n");
  begin_now();
  CHECK(has_text("clock.py", "x * 2"));
  int64_t monotonic_ns = now_ns(CLOCK_MONOTONIC), realtime_ns = now_ns(CLOCK_REALTIME);
  /* Suspended, or set forward: what was written before is as old as it was. */
  source_text_tick(realtime_ns + 3600 * second_ns, monotonic_ns);
  CHECK(has_text("clock.py", "x * 2"));
  /* Set back by an hour, and forward again: what was written within the hour before may have been edited meanwhile. */
  source_text_tick(realtime_ns - 3600 * second_ns, monotonic_ns);
  source_text_tick(realtime_ns, monotonic_ns);
  CHECK(has_text("clock.py", NULL));
}

static void test_wishes(void) {
  write_file("wish.py", "one\nx * 2\n");
  begin_now();
  const char *text, *file;
  forget_files();
  uint64_t before = source_lines_left_out(&file);
  source_text_want(false);
  CHECK(source_line(test_path("wish.py"), 2, &text) == 0 && !source_typed("<cell>"));
  CHECK(source_lines_left_out(&file) == before && file);
  source_text_want(true);
  CHECK(source_line(test_path("wish.py"), 2, &text) == 5);
}

/* Behind each line is the one on which its statement begins. */
static const struct {
  const char *text;
  int32_t begin;
} statements[] = {
    {"def f(n):\n", 1},
    {"    mask = (  # a ) and a \"\n", 2},
    {"        torch.arange(n)\n", 2},
    {"\n", 2},
    {"  # nothing of it (\n", 2},
    {"        .view(-1, 1))\n", 2},
    {"    x = 'it\\'s (' + \"[\" + y\n", 7},
    {"    z = x \\\r\n", 8},
    {"        + 1\r\n", 8},
    {"    \"\"\"a \"string\" [\n", 10},
    {"of lines\\\"\"\"\n", 10},
    {"'''\"\"\"; t = {1: [\n", 10},
    {"        2]}\n", 10},
    {"    u = 'a string without an end (\n", 14},
    {"    v = 1)\n", 15},
    {" # of none\n", 16},
    {"    return v", 17},
};

static struct statement found(const char *text, size_t size, int32_t function_line, int32_t line) {
  struct statement statement;
  statement_find(text, size, function_line, line, &statement);
  return statement;
}

static bool is_text(const struct statement *statement, const char *expected) {
  return statement->length == strlen(expected) && !memcmp(statement->text, expected, statement->length);
}

static void test_statements(void) {
  enum { COUNT = sizeof statements / sizeof *statements };
  char text[1024] = "";
  for (int i = 0; i < COUNT; i++) strcat(text, statements[i].text);
  size_t size = strlen(text);
  for (int32_t line = 1; line <= COUNT; line++) {
    struct statement statement = found(text, size, 1, line);
    CHECK(statement.first_line == statements[line - 1].begin && statement.last_line >= line);
    if (line >= 7) CHECK(found(text, size, 7, line).first_line == statement.first_line);
  }
  struct statement chain = found(text, size, 1, 3), string = found(text, size, 9, 11), none = found(text, size, 1, 16);
  CHECK(chain.last_line == 6 && is_text(&chain, "mask = ( torch.arange(n) .view(-1, 1))"));
  CHECK(string.last_line == 13 && is_text(&string, "\"\"\"a \"string\" [ of lines\\\"\"\" '''\"\"\"; t = {1: [ 2]}"));
  CHECK(none.last_line == 16 && !none.length);
  CHECK(found(text, size, 1, COUNT + 1).first_line == COUNT + 1 && found(NULL, 0, 1, 3).first_line == 3);
  CHECK(found(text, size, 9, 3).first_line == 3 && found(text, size, -1, 3).first_line == 2);
  CHECK(found(text, size, INT32_MAX, INT32_MAX).first_line == INT32_MAX && found(text, size, 1, -5).first_line == -5);
  char wide[512];
  memset(wide, 'x', sizeof wide);
  CHECK(found(wide, sizeof wide, 1, 1).length == STATEMENT_TEXT);
  for (size_t cut = 0; cut <= size; cut++) { /* in memory of its own, which sanitizers bound */
    char *part = malloc(cut ? cut : 1);
    if (!part) abort();
    memcpy(part, text, cut);
    for (int32_t line = 1; line <= COUNT; line++) {
      struct statement statement = found(part, cut, 1, line);
      CHECK(statement.first_line >= 1 && statement.first_line <= line && statement.last_line >= line);
    }
    free(part);
  }
}

int main(void) {
  make_test_directory();
  test_files();
  test_paths();
  test_clocks();
  test_wishes();
  test_statements();
  return 0;
}
