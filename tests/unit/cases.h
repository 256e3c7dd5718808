/* cases.h: how much of a long test each build goes through.
**
** Sanitizers are ten to thirty times as slow.  Random cases are compared with a slow reference by the build without
** them; the others take a part of the cases.  What is damaged is where AddressSanitizer finds most, so that it goes
** through all of it, and the build without sanitizers through every fourth case.
*/
#ifndef TFPROF_TEST_CASES_H
#define TFPROF_TEST_CASES_H

#ifdef __SANITIZE_THREAD__
enum { WATCHES_MEMORY = 0, WATCHES_THREADS = 1, RANDOM_SHARE = 20, DAMAGE_SHARE = 4 };
#elif defined __SANITIZE_ADDRESS__
enum { WATCHES_MEMORY = 1, WATCHES_THREADS = 0, RANDOM_SHARE = 4, DAMAGE_SHARE = 1 };
#else
enum { WATCHES_MEMORY = 0, WATCHES_THREADS = 0, RANDOM_SHARE = 1, DAMAGE_SHARE = 4 };
#endif

#endif
