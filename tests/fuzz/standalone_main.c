/* standalone_main.c: runs a fuzz target over the files and directories given, without libFuzzer.
**
**   fuzz_dump_standalone FILE|DIRECTORY ...
**
** For compilers without libFuzzer, for regression corpora in the test suite, and to debug one input.
*/
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned long inputs;

static int run_file(const char *path) {
  FILE *file = fopen(path, "rb");
  struct stat status;
  if (!file || fstat(fileno(file), &status) != 0) {
    perror(path);
    if (file) fclose(file);
    return 1;
  }
  size_t size = (size_t)status.st_size;
  uint8_t *bytes = malloc(size ? size : 1); /* exactly as long as the input, for sanitizers */
  int failed = !bytes || fread(bytes, 1, size, file) != size;
  if (failed) perror(path);
  else LLVMFuzzerTestOneInput(bytes, size);
  inputs += !failed;
  free(bytes);
  fclose(file);
  return failed;
}

static int run_directory(const char *path) {
  DIR *directory = opendir(path);
  int failed = 0;
  if (!directory) {
    perror(path);
    return 1;
  }
  for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
    char name[4096];
    struct stat status;
    if (snprintf(name, sizeof name, "%s/%s", path, entry->d_name) >= (int)sizeof name) continue;
    if (stat(name, &status) == 0 && S_ISREG(status.st_mode)) failed |= run_file(name);
  }
  closedir(directory);
  return failed;
}

int main(int count, char **arguments) {
  int failed = 0;
  for (int i = 1; i < count; i++) {
    struct stat status;
    int is_directory = stat(arguments[i], &status) == 0 && S_ISDIR(status.st_mode);
    failed |= is_directory ? run_directory(arguments[i]) : run_file(arguments[i]);
  }
  printf("%lu inputs, %s\n", inputs, failed ? "not all could be read" : "ok");
  return failed;
}
