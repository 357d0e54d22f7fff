/* A program of CUDA's driver that knows nothing of any shim. It does what its standard input says,
 * a line each, and answers with what the driver answered.
 *
 *   program HOW
 *
 * HOW says how it finds the driver. needed: linked with libcuda.so.1. opened: dlopen and dlsym.
 * asked: by cuGetProcAddress for the default stream. asked_per_thread: for per-thread streams.
 *
 * Words: the name that a result is kept by, then what the function takes. Bytes may end in K, M, G.
 */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef unsigned long long word;
typedef int (*function)();

struct kept {
  char name[32];
  word value;
};
static struct kept kept[100000];
static int kept_count;
static const char* how;
static void* driver;
static function get_address;

static word* value_of(const char* name) {
  for (int i = kept_count; i-- > 0;) {
    if (strcmp(kept[i].name, name) == 0) return &kept[i].value;
  }
  snprintf(kept[kept_count].name, sizeof kept->name, "%s", name);
  return &kept[kept_count++].value;
}

static word number(const char* text) {
  char* unit;
  const word value = strtoull(text, &unit, 0);
  if (*unit == 'K') return value << 10;
  if (*unit == 'M') return value << 20;
  return *unit == 'G' ? value << 30 : value;
}

static void open_driver(void) {
  if (strcmp(how, "needed") == 0) {
    driver = RTLD_DEFAULT;
    return;
  }
  driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (driver == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    exit(3);
  }
  get_address = (function)dlsym(driver, "cuGetProcAddress_v2");
}

/* The function of that exported name. "asked" looks it up by its name without "_v2" and "_ptsz". */
static function find(const char* exported) {
  if (strncmp(how, "asked", 5) != 0) {
    function found = (function)dlsym(driver, exported);
    if (found == NULL) {
      fprintf(stderr, "no %s\n", exported);
      exit(4);
    }
    return found;
  }
  char base[64];
  void* found = NULL;
  int status;
  snprintf(base, sizeof base, "%s", exported);
  char* suffix = strstr(base, "_ptsz");
  if (suffix != NULL) *suffix = '\0';
  suffix = strstr(base, "_v2");
  const int version = suffix == NULL && strcmp(base, "cuMemAlloc") == 0 ? 2000 : 12040;
  if (suffix != NULL) *suffix = '\0';
  get_address(base, &found, version, (word)(strcmp(how, "asked_per_thread") == 0 ? 2 : 0), &status);
  return found != NULL ? (function)found : (function)dlsym(driver, exported);
}

/* CUmemAllocationProp and CUmemPoolProps: pinned, by file descriptor, on a device. */
static int* located(int device) {
  static int properties[64];
  memset(properties, 0, sizeof properties);
  properties[0] = 1;
  properties[1] = 1;
  properties[2] = device < 0 ? 2 : 1;
  properties[3] = device < 0 ? 0 : device;
  return properties;
}

struct node_parameters {
  int properties[22];
  void* access;
  size_t access_count, bytes;
  word result;
};

static int add_node(const char* by, word* result, word graph, int device, word bytes) {
  struct node_parameters wanted = {.bytes = bytes};
  memcpy(wanted.properties, located(device), sizeof wanted.properties);
  void* node;
  if (strcmp(by, "cuGraphAddNode") != 0) {
    const int code = find(by)(&node, (void*)graph, NULL, (size_t)0, &wanted);
    *result = wanted.result;
    return code;
  }
  struct {
    int type, reserved[3];
    struct node_parameters of;
  } any = {.type = 10, .of = wanted};
  const int code = find(by)(&node, (void*)graph, NULL, (size_t)0, &any);
  *result = any.of.result;
  return code;
}

struct array_3d {
  size_t width, height, depth;
  int format;
  unsigned channels, flags;
};

/* a[0]: the word that was said; a[1] …: what followed. */
static int act(char** a, char* more) {
  const char* what = a[0];
  word* result = a[1] != NULL ? value_of(a[1]) : NULL;
  more[0] = '\0';
  if (strcmp(what, "cuInit") == 0) return find(what)(0);
  if (strcmp(what, "use") == 0) { /* the primary context of a device */
    void* context;
    const int code = find("cuDevicePrimaryCtxRetain")(&context, atoi(a[1]));
    return code != 0 ? code : find("cuCtxSetCurrent")(context);
  }
  if (strcmp(what, "cuCtxSetCurrent") == 0) return find(what)((void*)*result);
  if (strncmp(what, "cuDevicePrimaryCtxRe", 20) == 0 || strcmp(what, "cuDeviceGraphMemTrim") == 0)
    return find(what)(atoi(a[1]));
  if (strcmp(what, "cuCtxCreate_v2") == 0) return find(what)(result, 0, atoi(a[2]));
  if (strcmp(what, "cuCtxCreate_v3") == 0) return find(what)(result, NULL, 0, 0, atoi(a[2]));
  if (strcmp(what, "cuGreenCtxCreate") == 0) return find(what)(result, NULL, atoi(a[2]), 1);
  if (strcmp(what, "cuMemAlloc_v2") == 0) return find(what)(result, (size_t)number(a[2]));
  if (strcmp(what, "cuMemAlloc") == 0) {
    unsigned address = 0;
    const int code = find(what)(&address, (unsigned)number(a[2]));
    *result = address;
    return code;
  }
  if (strcmp(what, "cuMemAllocManaged") == 0) return find(what)(result, (size_t)number(a[2]), 1);
  if (strcmp(what, "cuMemAllocPitch_v2") == 0) {
    size_t pitch;
    return find(what)(result, &pitch, (size_t)number(a[2]), (size_t)number(a[3]), 4);
  }
  if (strcmp(what, "cuMemAllocHost_v2") == 0) return find(what)(result, (size_t)number(a[2]));
  if (strcmp(what, "cuMemFree") == 0) return find(what)((unsigned)*result);
  if (strncmp(what, "cuMemFreeAsync", 14) == 0 || strncmp(what, "cuGraphLaunch", 13) == 0 ||
      strncmp(what, "cuGraphUpload", 13) == 0)
    return find(what)(*result, a[2] != NULL ? (void*)*value_of(a[2]) : NULL);
  if (strcmp(what, "cuMemFree_v2") == 0 || strcmp(what, "cuMemRelease") == 0 ||
      strcmp(what, "cuIpcCloseMemHandle") == 0 || strcmp(what, "cuMemFreeHost") == 0 ||
      strncmp(what, "cuCtxDestroy", 12) == 0 || strcmp(what, "cuGreenCtxDestroy") == 0 ||
      strcmp(what, "cuArrayDestroy") == 0 || strcmp(what, "cuMipmappedArrayDestroy") == 0 ||
      strcmp(what, "cuMemPoolDestroy") == 0 || strcmp(what, "cuGraphExecDestroy") == 0)
    return find(what)(*result);
  if (strncmp(what, "cuMemAllocAsync", 15) == 0)
    return find(what)(result, (size_t)number(a[2]), a[3] != NULL ? (void*)*value_of(a[3]) : NULL);
  if (strncmp(what, "cuMemAllocFromPoolAsync", 23) == 0)
    return find(what)(result, (size_t)number(a[3]), *value_of(a[2]), NULL);
  if (strcmp(what, "cuMemPoolCreate") == 0) return find(what)(result, located(atoi(a[2])));
  if (strcmp(what, "cuDeviceGetDefaultMemPool") == 0) return find(what)(result, atoi(a[2]));
  if (strcmp(what, "cuDeviceSetMemPool") == 0) return find(what)(atoi(a[2]), *result);
  if (strcmp(what, "cuMemPoolTrimTo") == 0) return find(what)(*result, (size_t)number(a[2]));
  if (strcmp(what, "threshold") == 0) {
    word bytes = number(a[2]);
    return find("cuMemPoolSetAttribute")(*result, 4, &bytes);
  }
  if (strncmp(what, "cuStreamSynchronize", 19) == 0) return find(what)(NULL);
  if (strcmp(what, "cuCtxSynchronize") == 0) return find(what)();
  if (strcmp(what, "cuStreamCreate") == 0 || strcmp(what, "cuGraphCreate") == 0)
    return find(what)(result, 0);
  if (strcmp(what, "cuStreamBeginCapture_v2") == 0) return find(what)(*result, 0);
  if (strcmp(what, "cuMemCreate") == 0)
    return find(what)(result, (size_t)number(a[3]), located(atoi(a[2])), (word)0);
  if (strcmp(what, "cuMemAddressReserve") == 0)
    return find(what)(result, (size_t)number(a[2]), (size_t)0, (word)0, (word)0);
  if (strcmp(what, "cuMemMap") == 0) /* VA OFFSET HANDLE BYTES */
    return find(what)(*result + number(a[2]), (size_t)number(a[4]), (size_t)0, *value_of(a[3]),
                      (word)0);
  if (strcmp(what, "cuMemUnmap") == 0)
    return find(what)(*result + number(a[2]), (size_t)number(a[3]));
  if (strcmp(what, "cuMemRetainAllocationHandle") == 0)
    return find(what)(result, (void*)(*value_of(a[2]) + number(a[3])));
  if (strcmp(what, "export_and_import") == 0) {
    int file = -1;
    const int code = find("cuMemExportToShareableHandle")(&file, *value_of(a[2]), 1, (word)0);
    return code != 0 ? code
                     : find("cuMemImportFromShareableHandle")(result, (void*)(intptr_t)file, 1);
  }
  if (strcmp(what, "cuMulticastCreate") == 0) { /* on one device */
    word wanted[4] = {1, number(a[2]), 0, 0};
    const int code = find(what)(result, wanted);
    return code != 0 ? code : find("cuMulticastAddDevice")(*result, 0);
  }
  if (strcmp(what, "cuMulticastBindMem") == 0)
    return find(what)(*result, (size_t)0, *value_of(a[2]), (size_t)0, (size_t)number(a[3]),
                      (word)0);
  if (strcmp(what, "cuMulticastUnbind") == 0)
    return find(what)(*result, 0, (size_t)0, (size_t)number(a[2]));
  if (strcmp(what, "ipc") == 0) { /* opens in this process what another may */
    struct ipc {
      char bytes[64];
    } handle;
    const int code = find("cuIpcGetMemHandle")(&handle, *value_of(a[2]));
    if (code != 0) return code;
    int (*open)(word*, struct ipc, unsigned) =
        (int (*)(word*, struct ipc, unsigned))find("cuIpcOpenMemHandle_v2");
    return open(result, handle, 1);
  }
  if (strcmp(what, "cuArrayCreate_v2") == 0) { /* of floats */
    struct {
      size_t width, height;
      int format;
      unsigned channels;
    } wanted = {number(a[2]), number(a[3]), 32, 1};
    return find(what)(result, &wanted);
  }
  if (strcmp(what, "cuArray3DCreate_v2") == 0 || strcmp(what, "cuMipmappedArrayCreate") == 0) {
    struct array_3d wanted = {number(a[2]),          number(a[3]), number(a[4]), 32, 1,
                              (unsigned)number(a[5])};
    return a[6] == NULL ? find(what)(result, &wanted) : find(what)(result, &wanted, atoi(a[6]));
  }
  if (strcmp(what, "cuGraphAddMemAllocNode") == 0 || strcmp(what, "cuGraphAddNode") == 0)
    return add_node(what, result, *value_of(a[2]), atoi(a[3]), number(a[4]));
  if (strcmp(what, "cuGraphAddMemFreeNode") == 0) {
    void* node;
    return find(what)(&node, (void*)*value_of(a[2]), NULL, (size_t)0, *result);
  }
  if (strcmp(what, "cuGraphInstantiateWithFlags") == 0)
    return find(what)(result, *value_of(a[2]), (word)(a[3] != NULL ? number(a[3]) : 0));
  if (strncmp(what, "cuGraphInstantiateWithParams", 28) == 0) {
    word parameters[8] = {0};
    return find(what)(result, *value_of(a[2]), parameters);
  }
  if (strcmp(what, "info") == 0) {
    size_t free = 0, total = 0;
    const int code = find("cuMemGetInfo_v2")(&free, &total);
    sprintf(more, " %zu %zu", free, total);
    return code;
  }
  if (strcmp(what, "old_info") == 0) {
    unsigned free = 0, total = 0;
    const int code = find("cuMemGetInfo")(&free, &total);
    sprintf(more, " %u %u", free, total);
    return code;
  }
  if (strcmp(what, "info_of_nothing") == 0) return find("cuMemGetInfo_v2")(NULL, NULL);
  if (strcmp(what, "total") == 0) {
    size_t total = 0;
    const int code = find("cuDeviceTotalMem_v2")(&total, atoi(a[1]));
    sprintf(more, " %zu", total);
    return code;
  }
  if (strcmp(what, "pointer") == 0) { /* its device */
    int device = -1;
    const int code = find("cuPointerGetAttribute")(&device, 9, *result);
    sprintf(more, " %d", device);
    return code;
  }
  if (strcmp(what, "set") == 0) {
    *result = number(a[2]);
    return 0;
  }
  if (strcmp(what, "environment") == 0) return setenv(a[1], a[2] != NULL ? a[2] : "", 1);
  if (strcmp(what, "mapped") == 0) { /* how often, with these rights, a file whose name has this */
    char line[4096];
    int count = 0;
    FILE* maps = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, maps) != NULL)
      count += strstr(line, a[1]) != NULL && strstr(line, a[2]) != NULL;
    fclose(maps);
    return count;
  }
  fprintf(stderr, "what is %s?\n", what);
  exit(2);
}

static void split(char* line, char** words) {
  int count = 0;
  for (char* part = strtok(line, " \n"); part != NULL && count < 15; part = strtok(NULL, " \n")) {
    words[count++] = part;
  }
  words[count] = NULL;
}

int main(int count, char** arguments) {
  char line[1024], more[128], *words[16], *rest[16];
  how = count > 1 ? arguments[1] : "opened";
  setlinebuf(stdout);
  open_driver();
  while (fgets(line, sizeof line, stdin) != NULL) {
    split(line, words);
    if (words[0] == NULL) continue;
    if (strcmp(words[0], "fork") ==
        0) { /* from here on the child answers; the parent waits for it */
      const pid_t child = fork();
      if (child > 0) {
        int status;
        waitpid(child, &status, 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) : 9;
      }
      printf("0\n");
    } else if (strcmp(words[0], "exec") == 0) {
      printf("0\n");
      execl("/proc/self/exe", "program", how, (char*)NULL);
    } else if (strcmp(words[0], "times") == 0) { /* times N WORDS…: a # in a name is the number */
      int code = 0, done = 0;
      char names[16][64];
      for (int i = 0; i < atoi(words[1]) && code == 0; ++i) {
        for (int w = 2; w < 16 && (rest[w - 2] = words[w]) != NULL; ++w) {
          char* hash = strchr(words[w], '#');
          if (hash == NULL) continue;
          snprintf(names[w], sizeof *names, "%.*s%d", (int)(hash - words[w]), words[w], i);
          rest[w - 2] = names[w];
        }
        code = act(rest, more);
        done += code == 0;
      }
      printf("%d %d\n", code, done);
    } else {
      const int code = act(words, more);
      printf("%d%s\n", code, more);
    }
  }
  return 0;
}
