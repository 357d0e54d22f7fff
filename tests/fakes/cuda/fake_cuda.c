/* A libcuda.so.1 for tests: answers what BERTH_FAKE_CUDA says. "UUID=name;UUID=name" is a list in
   CUDA's order (UUIDs as 32 hexadecimal digits), "error:999" what cuInit answers, "hang" and
   "crash" what it does instead. */

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char* wanted(void) {
  const char* text = getenv("BERTH_FAKE_CUDA");
  return text == NULL ? "" : text;
}

static const char* entry(int index) {
  const char* at = wanted();
  while (index-- > 0 && at != NULL) {
    at = strchr(at, ';');
    if (at != NULL) ++at;
  }
  return at != NULL && *at != '\0' ? at : NULL;
}

int cuInit(unsigned flags) {
  (void)flags;
  if (strcmp(wanted(), "hang") == 0) pause();
  if (strcmp(wanted(), "crash") == 0) abort();
  if (strncmp(wanted(), "error:", 6) == 0) return atoi(wanted() + 6);
  return 0;
}

int cuDeviceGetCount(int* count) {
  *count = 0;
  while (entry(*count) != NULL) ++*count;
  return 0;
}

int cuDeviceGet(int* device, int index) {
  *device = index;
  return 0;
}

int cuDeviceGetUuid_v2(unsigned char* uuid, int device) {
  const char* at = entry(device);
  if (at == NULL) return 101;
  for (int i = 0; i < 16; ++i) {
    const char digits[3] = {at[2 * i], at[2 * i + 1], '\0'};
    uuid[i] = (unsigned char)strtoul(digits, NULL, 16);
  }
  return 0;
}

int cuDeviceGetName(char* name, int length, int device) {
  const char* at = entry(device);
  at = at == NULL ? NULL : strchr(at, '=');
  if (at == NULL) return 101;
  int i = 0;
  for (++at; *at != '\0' && *at != ';' && i < length - 1; ++at) name[i++] = *at;
  name[i] = '\0';
  return 0;
}
