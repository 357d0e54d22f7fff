/* Threads that race for a device's memory, as any program of CUDA might.
 *
 *   racers THREADS ROUNDS BYTES
 *
 * Each holds BYTES at most, and frees them. Prints the refusals.
 *
 *   racers THREADS 0 BYTES
 *
 * Each allocates until it is refused. Prints how many it got, keeps them, and waits for its
 * standard input to end. */

#define _GNU_SOURCE
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

extern int cuInit(unsigned);
extern int cuDevicePrimaryCtxRetain(void**, int);
extern int cuCtxSetCurrent(void*);
extern int cuMemAlloc_v2(unsigned long long*, size_t);
extern int cuMemFree_v2(unsigned long long);

static long rounds;
static size_t bytes;
static void* context;
static atomic_long refused, granted, odd;

static void* race(void* unused) {
  (void)unused;
  unsigned long long address;
  cuCtxSetCurrent(context);
  const long last = rounds == 0 ? LONG_MAX : rounds < 0 ? 1 : rounds;
  for (long round = 0; round < last; ++round) {
    const int code = cuMemAlloc_v2(&address, bytes);
    if (code == 2) {
      ++refused;
      if (rounds == 0) break;
    } else if (code != 0) {
      ++odd;
      break;
    } else {
      ++granted;
      if (rounds > 0 && cuMemFree_v2(address) != 0) ++odd;
    }
  }
  return NULL;
}

int main(int count, char** arguments) {
  if (count < 4) return 2;
  pthread_t threads[64];
  const int wanted = atoi(arguments[1]);
  rounds = atol(arguments[2]);
  bytes = strtoull(arguments[3], NULL, 10);
  if (cuInit(0) != 0 || cuDevicePrimaryCtxRetain(&context, 0) != 0) return 3;
  char go;
  if (read(0, &go, 1) != 1) return 4; /* all begin at once */
  for (int i = 0; i < wanted; ++i) pthread_create(&threads[i], NULL, race, NULL);
  for (int i = 0; i < wanted; ++i) pthread_join(threads[i], NULL);
  printf("%ld %ld %ld\n", granted, refused, odd);
  fflush(stdout);
  while (rounds <= 0 && read(0, &go, 1) > 0) {
  }
  return 0;
}
