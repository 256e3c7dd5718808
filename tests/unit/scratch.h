/* scratch.h: where the C tests' temporary files go: a directory of the program's own below $TMPDIR, which is gone at
** its end, also when a check fails. With TFPROF_KEEP_TEST_FILES in the environment it stays.
*/
#ifndef TFPROF_SCRATCH_H
#define TFPROF_SCRATCH_H

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char test_directory[256];
static long test_process; /* children of fork() leave it alone */

static inline int remove_test_file(const char *path, const struct stat *info, int kind, struct FTW *place) {
  (void)info;
  (void)kind;
  (void)place;
  return remove(path);
}

static inline void remove_test_directory(void) {
  if (getpid() != test_process || getenv("TFPROF_KEEP_TEST_FILES")) return;
  nftw(test_directory, remove_test_file, 16, FTW_DEPTH | FTW_PHYS);
}

/* Below $TMPDIR; gone at the end of the program. */
static inline void make_test_directory(void) {
  const char *temporary = getenv("TMPDIR");
  snprintf(test_directory, sizeof test_directory, "%s/tfprof-test-XXXXXX", temporary ? temporary : "/tmp");
  if (!mkdtemp(test_directory)) abort();
  test_process = getpid();
  atexit(remove_test_directory);
}

/* The path of a file in the test's own directory; valid until the eighth call after. */
static inline const char *test_path(const char *name) {
  static char paths[8][512];
  static unsigned next;
  char *path = paths[next++ % 8];
  snprintf(path, sizeof paths[0], "%s/%s", test_directory, name);
  return path;
}

#endif
