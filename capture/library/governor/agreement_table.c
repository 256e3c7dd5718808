/* agreement_table.c: see agreement_table.h. */
#include "agreement_table.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIRECTORY "/dev/shm"

void agreement_table_path(uint64_t seed, char *path, size_t size) {
  snprintf(path, size, DIRECTORY "/tfprof-%lu-%016llx", (unsigned long)geteuid(), (unsigned long long)seed);
}

bool agreement_table_lock(int descriptor, short type, off_t first, off_t length) {
  return fcntl(descriptor, F_OFD_SETLK, &(struct flock){.l_type = type, .l_start = first, .l_len = length}) == 0;
}

bool agreement_table_is_locked_by_others(int descriptor, off_t first, off_t length) {
  struct flock lock = {.l_type = F_WRLCK, .l_start = first, .l_len = length};
  return fcntl(descriptor, F_OFD_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

bool agreement_table_is_ours(int descriptor) {
  struct stat facts;
  return fstat(descriptor, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_uid == geteuid();
}

bool agreement_table_is_named(int descriptor, const char *path) {
  struct stat facts, named;
  return fstat(descriptor, &facts) == 0 && lstat(path, &named) == 0 && facts.st_ino == named.st_ino &&
         facts.st_dev == named.st_dev;
}

void agreement_table_remove_if_unused(int descriptor, const char *path) {
  if (agreement_table_lock(descriptor, F_WRLCK, 0, 0) && agreement_table_is_named(descriptor, path)) unlink(path);
}

void agreement_table_remove_unused(void) {
  char prefix[32];
  int length = snprintf(prefix, sizeof prefix, "tfprof-%lu-", (unsigned long)geteuid());
  DIR *directory = opendir(DIRECTORY);
  if (!directory) return;
  for (struct dirent *entry; (entry = readdir(directory));) {
    if (strncmp(entry->d_name, prefix, (size_t)length) != 0 || strlen(entry->d_name) != (size_t)length + 16) continue;
    char path[sizeof DIRECTORY + 1 + sizeof entry->d_name];
    snprintf(path, sizeof path, DIRECTORY "/%s", entry->d_name);
    int descriptor = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (descriptor < 0) continue;
    if (agreement_table_is_ours(descriptor)) agreement_table_remove_if_unused(descriptor, path);
    close(descriptor);
  }
  closedir(directory);
}
