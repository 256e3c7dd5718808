/* kept_place.c: see kept_place.h. */
#include "kept_place.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEPT_MAGIC "tfkept1\n"

void kept_place(char *place, size_t size, uid_t user) {
  snprintf(place, size, "/dev/shm/tfprof-%lu", (unsigned long)user);
}

uint64_t kept_process_namespace(void) {
  struct stat facts;
  return stat("/proc/self/ns/pid", &facts) ? 0 : (uint64_t)facts.st_ino;
}

void kept_head_begin(struct kept_head *head) {
  memset(head, 0, sizeof *head);
  memcpy(head->magic, KEPT_MAGIC, sizeof head->magic);
}

bool kept_head_read(int file, struct kept_head *head) {
  if (pread(file, head, sizeof *head, 0) != (ssize_t)sizeof *head) return false;
  if (memcmp(head->magic, KEPT_MAGIC, sizeof head->magic) != 0) return false;
  if (head->span < KEPT_LEAST_SPAN || head->span > KEPT_MOST_SPAN) return false;
  return head->run_directory[0] == '/' && memchr(head->run_directory, 0, sizeof head->run_directory) &&
         head->name[0] && memchr(head->name, 0, sizeof head->name) && !strchr(head->name, '/');
}
