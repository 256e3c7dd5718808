/* use_cuda.c: a program that loads libcuda.so.1, initialises it and goes on until so many readings of GPUs were made
** by the double of NVML, or nobody is there any more who would.
**
**   use_cuda READINGS [fork|none]   fork: initialises it in a forked child; none: loads it only
*/
#include <dirent.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int count_threads(void) {
  DIR *tasks = opendir("/proc/self/task");
  int count = 0;
  while (tasks && readdir(tasks)) count++;
  if (tasks) closedir(tasks);
  return count - 2; /* . and .. */
}

static int count_readings(void) {
  void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_NOLOAD);
  const _Atomic int *readings = library ? dlsym(library, "nvml_double_readings") : NULL;
  return readings ? *readings : 0;
}

int main(int argc, char **argv) {
  enum { MAIN_AND_WRITER = 2, PATIENCE = 60000 };
  void *library = dlopen("libcuda.so.1", RTLD_NOW);
  int (*initialise)(unsigned) = NULL;
  const char *how = argc > 2 ? argv[2] : "";
  if (library) *(void **)&initialise = dlsym(library, "cuInit");
  if (!initialise || argc < 2) return 3;
  pid_t child = strcmp(how, "fork") ? 0 : fork();
  if (child) {
    int status;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 4;
  }
  if (!strcmp(how, "none")) return 0;
  int result = initialise(0), wanted = atoi(argv[1]);
  for (int i = 0; !result && i < PATIENCE && count_readings() < wanted && count_threads() > MAIN_AND_WRITER; i++)
    usleep(1000);
  return result;
}
