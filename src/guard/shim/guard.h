#pragma once
/* What the files of the shim share.
 *
 * The shim lies between a program and the CUDA driver, and refuses device memory beyond a limit.
 * guard.c asks the driver, charge.c keeps the account, pointers.c remembers what was charged for
 * what. The other files wrap the driver's functions, a subject each. Where anything is missing, a
 * call reaches the driver as it is: no account, an unknown device, no memory to remember in.
 *
 * It lives in programs that know nothing of it: no thread, signal handler, exit handler, descriptor
 * kept open, output, or memory of malloc; nothing runs before the program's first call of CUDA. */

#include <stdatomic.h>
#include <stdbool.h>

#include "guard/account.h"
#include "guard/shim/wrappers.h"

#define EXPORT __attribute__((visibility("default")))

/* guard.c: the driver's own functions. */

#define GUARD_DECLARE(name, parameters, charges) EXPORT int name parameters;
GUARD_WRAPPERS(GUARD_DECLARE)
#define GUARD_TYPE(name, parameters, ...) typedef int name##_type parameters;
GUARD_WRAPPERS(GUARD_TYPE)
GUARD_CALLED(GUARD_TYPE)
enum function {
#define GUARD_NUMBER(name, ...) number_of_##name,
  GUARD_WRAPPERS(GUARD_NUMBER) wrapper_count,
  before_called = wrapper_count - 1,
  GUARD_CALLED(GUARD_NUMBER) function_count
};
extern void* _Atomic driver_functions[function_count];
/* The driver's function; one that answers not_found (or no_device, where there is no driver). */
void* look_up(enum function number);
static inline void* driver_function(enum function number) {
  void* known = atomic_load_explicit(&driver_functions[number], memory_order_relaxed);
  return known != NULL ? known : look_up(number);
}
/* The driver's function of that name, not ours. */
#define DRIVER(name) ((name##_type*)driver_function(number_of_##name))

/* charge.c and process.c: the account. Devices are numbered as in the account; -1 is one that is
 * not in it. */

/* Before the driver is asked. false: it is above the limit, even after dead processes gave back. */
bool charge(int device, uint64_t bytes);
/* After the driver has taken what nobody could refuse. */
void charge_what_is_taken(int device, uint64_t bytes);
void refund(int device, uint64_t bytes);
/* Charged by all processes of the run, and what the driver has beside it. */
uint64_t total_charged(int device);
uint64_t limit_of(int device); /* 0: none */
uint64_t context_bytes_of(int device);

struct place {
  int device;
  void* context;
};
/* The calling thread's. Device -1: nothing is to be charged. */
struct place current_place(void);
/* The account's number of a device that the driver numbers. */
int account_device(int ordinal);

/* A lock of this process, held over queries of the driver. Where a primary context is made it is
 * held over the charge, too. A forked child finds it open. */
void lock(atomic_int* held);
void unlock(atomic_int* held);

/* pointers.c: what was charged for what. */

enum kind {
  of_nothing,
  of_memory,
  of_array,
  of_mipmaps,
  of_context,
  of_handle,
  of_block,
  of_map,
  of_graph
};
struct charged {
  uint64_t key; /* an address or a handle, as its kind says */
  uint64_t bytes;
  uint64_t other; /* the context of memory; the block of a handle and of a map */
  uint32_t count; /* of references to it */
  int8_t kind;
  int8_t device;
  int16_t pool; /* its number + 1; 0: it is of no pool, and its bytes are charged for it */
};
/* false: there is no memory to remember it in. */
bool keep(struct charged one);
/* Removes it. A free removes before it asks the driver: once the memory is free, another thread may
 * be given the same address. */
bool take(enum kind kind, uint64_t key, struct charged* one);
bool find(enum kind kind, uint64_t key, struct charged* one);
/* Changes its count, and removes it at 0: `one` says its count since. */
bool count(enum kind kind, uint64_t key, int change, struct charged* one);
/* Refunds and removes what was allocated in a context that has ended. */
void forget_context(const void* context);

/* Ends an allocation: refunds where the driver refused, else remembers. Returns `code`. */
int settle(int code, enum kind kind, uint64_t key, struct place where, uint64_t bytes);
/* Ends a free: refunds, or remembers again where the driver refused. Returns `code`. */
int settle_free(int code, bool was_charged, const struct charged* one);

/* A whole wrapper, of an allocation whose bytes are known before: charged, made, remembered. */
#define ALLOCATE(where, size, kind, name, result, ...)            \
  const struct place place = where;                               \
  const uint64_t charged_bytes = size;                            \
  if (!charge(place.device, charged_bytes)) return out_of_memory; \
  const int code = DRIVER(name)(result, __VA_ARGS__);             \
  return settle(code, kind, code == success ? (uintptr_t)*(result) : 0, place, charged_bytes)

/* A whole wrapper, of a free: an unknown key is the driver's business alone. */
#define FREE(kind, name, key, ...)                             \
  struct charged one;                                          \
  const bool was_charged = take(kind, (uintptr_t)(key), &one); \
  return settle_free(DRIVER(name)(key __VA_OPT__(, ) __VA_ARGS__), was_charged, &one)

/* pools.c and graphs.c: memory that the driver reserves and keeps. */

/* Charges and gives back what pools reserve now. */
void look_at_pools(void);
void look_at_graph_memory(int ordinal);
void end_pooled(const struct charged* one); /* an allocation of a pool has been freed */

/* What a child made by fork finds as zero: nothing in it is charged to the child. */
enum { pool_count = 256, shard_count = 64, ordinal_count = 64 };
struct pool {
  void* handle; /* NULL: the place is free */
  int device;
  bool destroyed;
  uint64_t live; /* allocations not yet freed */
  uint64_t charged;
  uint64_t pending; /* charged beside it by calls that are under way */
};
struct process {
  atomic_int state; /* process_new … */
  int pid;
  bool is_wiped_on_fork;
  uint64_t pid_namespace;              /* 0: unknown */
  struct berth_account_header* header; /* read-only */
  struct berth_account* account;       /* but for its header */
  struct berth_account_slot* slot;
  atomic_schar account_devices[ordinal_count]; /* number + 1; -1: not in the account */
  atomic_int context_lock;
  bool primary_charged[BERTH_ACCOUNT_DEVICES];
  void* primary[BERTH_ACCOUNT_DEVICES];
  atomic_int graph_lock;
  uint64_t graph_charged[BERTH_ACCOUNT_DEVICES];
  atomic_uint graph_trims;
  atomic_int pool_lock;
  atomic_int pools_used;
  struct pool pools[pool_count];
  struct shard {
    _Alignas(64) atomic_int held;
    uint32_t capacity; /* a power of two */
    uint32_t used;
    struct charged* entries;
  } shards[shard_count];
};
enum { process_new, process_opening, process_charged, process_passed };
extern struct process* _Atomic process_page;
void reap(struct process* here);
struct process* begin_process(void);
/* NULL: this process is not charged. */
static inline struct process* process(void) {
  struct process* here = atomic_load_explicit(&process_page, memory_order_acquire);
  if (here != NULL && here->is_wiped_on_fork &&
      atomic_load_explicit(&here->state, memory_order_acquire) == process_charged) {
    return here;
  }
  return begin_process();
}
