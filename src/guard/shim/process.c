/* This process in the account: the mapped file, its slot, the limited devices. Also the slots of
 * ended processes. */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "guard/shim/guard.h"

struct process* _Atomic process_page;

/* A number in text; stops before what is no digit. */
static uint64_t number_in(const char* text) {
  uint64_t number = 0;
  for (; *text >= '0' && *text <= '9'; ++text) number = number * 10 + (uint64_t)(*text - '0');
  return number;
}

/* Appends `number`, and what follows, to a path. */
static char* append(char* end, const char* text) {
  while (*text != '\0') *end++ = *text++;
  *end = '\0';
  return end;
}
static char* append_number(char* end, uint64_t number) {
  char digits[24];
  char* first = digits + sizeof digits - 1;
  *first = '\0';
  do *--first = (char)('0' + number % 10);
  while ((number /= 10) > 0);
  return append(end, first);
}

/* Field 22 of a process's stat. 0: it cannot be read. `has_ended`: it is a zombie, and its last
 * thread has ended, so the driver has its memory back. */
static uint64_t start_time_in(const char* path, bool* has_ended) {
  char text[1024];
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  const ssize_t length = read(file, text, sizeof text - 1);
  close(file);
  text[length > 0 ? length : 0] = '\0';
  const char* field = strrchr(text, ')'); /* the name before it may have spaces */
  if (field == NULL || field[1] == '\0') return 0;
  const char state = field[2];
  uint64_t threads = 0;
  for (int number = 2; number < 22 && field != NULL; ++number) {
    field = strchr(field + 1, ' ');
    if (number == 19 && field != NULL) threads = number_in(field + 1);
  }
  *has_ended = (state == 'Z' || state == 'X') && threads <= 1;
  return field == NULL ? 0 : number_in(field + 1);
}

/* 0: unknown. */
static uint64_t own_pid_namespace(void) {
  char text[64];
  const ssize_t length = readlink("/proc/self/ns/pid", text, sizeof text - 1);
  if (length <= 0) return 0;
  text[length] = '\0';
  const char* number = strchr(text, '[');
  return number == NULL ? 0 : number_in(number + 1);
}

/* A /proc of another pid namespace has other processes under the numbers that are known here. */
static bool is_proc_of_this_namespace(void) {
  char text[32];
  const ssize_t length = readlink("/proc/self", text, sizeof text - 1);
  if (length <= 0) return false;
  text[length] = '\0';
  return number_in(text) == (uint64_t)getpid();
}

static bool is_dead(const struct berth_account_slot* slot, uint64_t pid) {
  const uint64_t start = __atomic_load_n(&slot->start_time, __ATOMIC_SEQ_CST);
  if (start == 0) return false; /* it is being taken */
  if (kill((pid_t)pid, 0) != 0 && errno == ESRCH) return true;
  if (!is_proc_of_this_namespace()) return false;
  char path[64];
  append(append_number(append(path, "/proc/"), pid), "/stat");
  bool has_ended = false;
  const uint64_t found = start_time_in(path, &has_ended);
  return found != 0 && (found != start || has_ended);
}

static void empty(struct berth_account_slot* slot) {
  for (int device = 0; device < BERTH_ACCOUNT_DEVICES; ++device) {
    __atomic_store_n(&slot->charged[device], 0, __ATOMIC_SEQ_CST);
  }
}

/* Gives back what ended processes had. A pid says nothing in another pid namespace. */
void reap(struct process* here) {
  const int kept_errno = errno;
  const uint64_t mine = here->pid_namespace;
  uint64_t used = __atomic_load_n(&here->account->slots_used, __ATOMIC_SEQ_CST);
  if (used > BERTH_ACCOUNT_SLOTS) used = BERTH_ACCOUNT_SLOTS;
  for (uint64_t i = 0; i < used && mine != 0; ++i) {
    struct berth_account_slot* slot = &here->account->slots[i];
    uint64_t pid = __atomic_load_n(&slot->pid, __ATOMIC_SEQ_CST);
    if (pid == 0 || pid == BERTH_ACCOUNT_EMPTYING || slot == here->slot) continue;
    if (slot->pid_namespace != mine || !is_dead(slot, pid)) continue;
    /* One of several that see it dead. */
    if (!__atomic_compare_exchange_n(&slot->pid, &pid, BERTH_ACCOUNT_EMPTYING, false,
                                     __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
      continue;
    }
    empty(slot);
    __atomic_store_n(&slot->start_time, 0, __ATOMIC_SEQ_CST);
    __atomic_store_n(&slot->pid, 0, __ATOMIC_SEQ_CST);
  }
  errno = kept_errno;
}

static bool take_slot(struct berth_account_slot* slot, uint64_t pid) {
  uint64_t nobody = 0;
  return __atomic_compare_exchange_n(&slot->pid, &nobody, pid, false, __ATOMIC_SEQ_CST,
                                     __ATOMIC_SEQ_CST);
}

/* Ours from before an exec, else a free one. NULL: there is none, or /proc cannot be read. */
static struct berth_account_slot* own_slot(struct process* here) {
  struct berth_account* account = here->account;
  bool has_ended = false;
  const uint64_t pid = (uint64_t)here->pid;
  const uint64_t start = start_time_in("/proc/self/stat", &has_ended);
  if (start == 0) return NULL;
  struct berth_account_slot* end = account->slots + BERTH_ACCOUNT_SLOTS;
  for (struct berth_account_slot* slot = account->slots; slot < end; ++slot) {
    if (slot->pid != pid || slot->start_time != start) continue;
    if (slot->pid_namespace != here->pid_namespace) continue;
    empty(slot); /* what it had went with the exec */
    return slot;
  }
  reap(here); /* so that slots stay few, as each charge reads all */
  for (struct berth_account_slot* slot = account->slots; slot < end; ++slot) {
    if (!take_slot(slot, pid)) continue;
    slot->pid_namespace = here->pid_namespace;
    __atomic_store_n(&slot->start_time, start, __ATOMIC_SEQ_CST);
    const uint64_t used = (uint64_t)(slot - account->slots) + 1;
    uint64_t known = __atomic_load_n(&account->slots_used, __ATOMIC_SEQ_CST);
    while (known < used && !__atomic_compare_exchange_n(&account->slots_used, &known, used, false,
                                                        __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
    }
    return slot;
  }
  return NULL;
}

static bool is_sound(const struct berth_account_header* header) {
  return header->magic == BERTH_ACCOUNT_MAGIC && header->version == BERTH_ACCOUNT_VERSION &&
         header->file_bytes == sizeof(struct berth_account) &&
         header->device_count <= BERTH_ACCOUNT_DEVICES;
}

/* The header cannot be written by the job: it is mapped over the first page once more. */
static bool map_account(struct process* here, const char* path) {
  const int file = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (file < 0) return false;
  void* memory = MAP_FAILED;
  if (lseek(file, 0, SEEK_END) == (off_t)sizeof(struct berth_account)) {
    memory = mmap(NULL, sizeof(struct berth_account), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  close(file);
  if (memory == MAP_FAILED) return false;
  here->account = memory;
  here->header = memory;
  return mprotect(memory, BERTH_ACCOUNT_PAGE, PROT_READ) == 0 && is_sound(here->header);
}

static bool open_account(struct process* here) {
  const char* path = getenv("BERTH_GUARD_ACCOUNT");
  const char* wish = getenv("BERTH_GUARD");
  if (path == NULL || (wish != NULL && strcmp(wish, "off") == 0)) return false;
  if (!map_account(here, path)) return false;
  here->pid_namespace = own_pid_namespace();
  here->slot = own_slot(here);
  return here->slot != NULL;
}

static struct process* page_of_process(void) {
  struct process* known = atomic_load_explicit(&process_page, memory_order_acquire);
  if (known != NULL) return known;
  struct process* made =
      mmap(NULL, sizeof *made, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (made == MAP_FAILED) return NULL;
  /* Before anybody knows it: a child that another thread makes meanwhile begins anew. */
  (void)madvise(made, sizeof *made, MADV_WIPEONFORK);
  made->pid = getpid();
  if (atomic_compare_exchange_strong(&process_page, &known, made)) return made;
  munmap(made, sizeof *made);
  return known;
}

/* Slow: the first call, a child's first call, and processes that are not charged. */
struct process* begin_process(void) {
  struct process* here = page_of_process();
  if (here == NULL) return NULL;
  int state = atomic_load_explicit(&here->state, memory_order_acquire);
  if (!here->is_wiped_on_fork && here->pid != 0 && here->pid != getpid()) {
    memset(here, 0, sizeof *here); /* made by fork, of a kernel before 4.14 */
    state = process_new;
  }
  if (state == process_new &&
      atomic_compare_exchange_strong(&here->state, &state, process_opening)) {
    const int kept_errno = errno;
    here->is_wiped_on_fork = madvise(here, sizeof *here, MADV_WIPEONFORK) == 0;
    here->pid = getpid();
    const bool is_charged = open_account(here);
    errno = kept_errno;
    atomic_store_explicit(&here->state, is_charged ? process_charged : process_passed,
                          memory_order_release);
  }
  while ((state = atomic_load_explicit(&here->state, memory_order_acquire)) == process_opening) {
    sched_yield();
  }
  return state == process_charged ? here : NULL;
}

static bool uuid_of(int ordinal, unsigned char* uuid) {
  return DRIVER(cuDeviceGetUuid_v2)(uuid, ordinal) == success ||
         DRIVER(cuDeviceGetUuid)(uuid, ordinal) == success;
}

static int number_in_account(const struct process* here, const unsigned char* uuid) {
  for (uint64_t i = 0; i < here->header->device_count; ++i) {
    if (memcmp(uuid, here->header->devices[i].uuid, 16) == 0) return (int)i;
  }
  return -1;
}

int account_device(int ordinal) {
  struct process* here = process();
  if (here == NULL || ordinal < 0) return -1;
  atomic_schar* place = ordinal < ordinal_count ? &here->account_devices[ordinal] : NULL;
  const int known = place == NULL ? 0 : atomic_load_explicit(place, memory_order_relaxed);
  if (known != 0) return known > 0 ? known - 1 : -1;
  unsigned char uuid[16];
  if (!uuid_of(ordinal, uuid)) return -1;
  const int number = number_in_account(here, uuid);
  if (place != NULL) atomic_store(place, number >= 0 ? (signed char)(number + 1) : -1);
  return number;
}

struct place current_place(void) {
  struct place here = {.device = -1};
  int ordinal;
  if (process() == NULL) return here;
  if (DRIVER(cuCtxGetDevice)(&ordinal) == success &&
      DRIVER(cuCtxGetCurrent)(&here.context) == success) {
    here.device = account_device(ordinal);
  }
  return here;
}
