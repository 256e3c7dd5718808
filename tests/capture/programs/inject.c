/* inject.c: stands for CUDA's driver: loads the library that CUDA_INJECTION64_PATH names and calls it, as cuInit does,
** on so many threads at once, and ends as the first argument says.
**
**   inject return|exit|_exit|kill|fork|exec [THREADS]
*/
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int (*inject)(void);
static _Atomic int refused;

static void *initialise(void *argument) {
  if (!inject()) refused++;
  return argument;
}

int main(int argc, char **argv) {
  const char *path = getenv("CUDA_INJECTION64_PATH");
  int threads = argc > 2 ? atoi(argv[2]) : 1;
  pthread_t started[64];
  void *library = path ? dlopen(path, RTLD_NOW) : NULL;
  *(void **)&inject = library ? dlsym(library, "InitializeInjection") : NULL;
  if (!inject || argc < 2 || threads > 64) return 3;
  for (int i = 0; i < threads; i++)
    if (pthread_create(&started[i], NULL, initialise, NULL)) return 4;
  for (int i = 0; i < threads; i++) pthread_join(started[i], NULL);
  if (refused) return 5;
  if (!strcmp(argv[1], "exit")) exit(0);
  if (!strcmp(argv[1], "_exit") || !strcmp(argv[1], "kill")) usleep(1500000); /* a tick has passed */
  if (!strcmp(argv[1], "_exit")) _exit(0);
  if (!strcmp(argv[1], "kill")) kill(getpid(), SIGKILL);
  if (!strcmp(argv[1], "exec")) execl("/bin/true", "true", (char *)NULL);
  if (!strcmp(argv[1], "fork")) {
    pid_t quiet = fork();
    if (!quiet) exit(0); /* it records nothing: no file */
    waitpid(quiet, NULL, 0);
    pid_t child = fork();
    if (!child) exit(inject() ? 0 : 6);
    int status;
    if (waitpid(child, &status, 0) != child || status) return 7;
  }
  return 0;
}
